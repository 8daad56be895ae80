// Package kit is the contract between the program and its screens: View with its
// bindings and messages, cancellable loads (Slot), the session, and the theme.
//
// It is the bottom layer: the root model (package ui), the tabs (ui/sandbox,
// ui/jobs, …) and the parts they draw with (kit/widget, kit/body) import it, and
// it imports none of them. Everything but Slot's commands belongs to the
// program's own goroutine: call it from Init, Update and Render only.
package kit
