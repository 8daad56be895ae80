// Package rehearse holds the palette's entries for the local emulator: adding faults, the
// list of faults with their hits, and moving the emulator's time forward. On other
// profiles the entries say why they are disabled.
//
// The wiring (ui/cli) hands it the emulator; everything runs on the program's own
// goroutine, the calls in commands.
package rehearse
