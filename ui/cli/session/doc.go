// Package session wires the program: it opens the configuration, the files and the
// service for a command (Open), joins the views into a console (OpenConsole), and
// runs this user's one embedded emulator or attaches to it. No other package
// knows the emulator. The commands of ui/cli call it; it knows neither flags
// nor exit codes.
//
// Sessions are safe for concurrent use; a Console belongs to the goroutine that runs it.
package session
