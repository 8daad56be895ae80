// Package kit holds the parts every screen is made of: the View contract with
// its bindings and messages, cancellable loads, theme, layout, the sanitiser for
// remote text, tables, the body viewer, forms, and the overlays (confirm,
// palette, help, menu).
//
// The root model (package ui) and the tabs (ui/sandbox, ui/jobs, …) use it.
// Everything but Slot's commands and the functions that say otherwise belongs
// to the program's own goroutine: call it from Init, Update and Render only.
package kit
