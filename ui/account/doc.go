// Package account holds what the palette offers about accounts: the form that
// adds a real one, and the choice between the known profiles. The wiring
// (ui/cli) hands it the functions that write the files and switch; everything
// runs on the program's own goroutine, writing in commands.
package account
