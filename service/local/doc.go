// Package local runs this user's embedded emulator: it starts one, attaches to the one of another process, and
// takes over when that process ends. It also serves an emulator alone, for other programs. No other package
// imports the emulator, except the harness of the tests.
//
// An Emulator is safe for concurrent use.
package local
