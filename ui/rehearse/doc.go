// Package rehearse holds what the palette offers on the local emulator: adding faults,
// the list of faults with how often they hit, and moving the emulator's time forward. On
// other profiles the entries say why they cannot act.
//
// The wiring (ui/cli) hands it the emulator; everything runs on the program's own
// goroutine, the calls in commands.
package rehearse
