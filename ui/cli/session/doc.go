// Package session wires the program: it opens the configuration, the files and the
// service for a command (Open), and joins the views into a console (OpenConsole). The
// commands of ui/cli call it; it knows neither flags nor exit codes.
//
// Sessions are safe for concurrent use; a Console belongs to the goroutine that runs it.
package session
