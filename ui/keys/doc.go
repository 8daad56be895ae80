// Package keys is the Keys tab: every key with its two clocks, the calendar of
// what comes due, the permission matrix, lint findings, and guided rotations.
// It shows references, fingerprints and last four characters, never a value.
//
// The wiring (ui/cli) makes one Model and gives it to the root. A Model belongs
// to the program's own goroutine; everything that waits runs in commands.
package keys
