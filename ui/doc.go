// Package ui is the root of the console: the Bubble Tea model that owns the
// screen's size, the tabs, the overlay stack, the toasts and the routing of
// every message. It knows nothing about what a tab does.
//
// ui/cli builds the tabs, hands them over in Deps and runs the program. App is
// the only tea.Model; everything runs on the program's own goroutine, and no
// method does I/O: anything slow is a command.
package ui
