// Package ui is the root of the console: the Bubble Tea model that owns the
// screen's size, the tabs, the overlay stack, the toasts and the routing of
// every message, and nothing of what a tab does.
//
// ui/cli builds the tabs, hands them over in Deps and runs the program. App is
// the only tea.Model; everything runs on the program's own goroutine, and no
// method of it does I/O: what takes time is a command.
package ui
