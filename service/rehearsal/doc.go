// Package rehearsal speaks to the control interface of an emulator: it moves the
// emulator's clock, sets and removes faults, and reads the requests that clients sent. The
// service itself has none of this; the console offers it on the emulator's profile only.
//
// A Client holds no state besides where the emulator is: it is safe for concurrent use.
package rehearsal
