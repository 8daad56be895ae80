// Package profiles holds what the palette offers about accounts: the form that adds and changes one,
// the question before one is removed, and the choice between the known profiles. The wiring
// (ui/console) hands it the functions that ask the service, write the files and switch;
// everything runs on the program's own goroutine, asking and writing in commands.
package profiles
