// Package textfile reads and writes the console's files. The configuration, the
// key inventory and saved requests are also edited by hand.
//
// Reading is strict: an unknown field, a wrong type or a broken line is an Error
// with file, line, column and what was expected there. The console writes whole
// files only through this package. Such a write is private (0600) and atomic: a
// reader sees the old file or the new one, even after a power cut. Sweep removes
// the temporary files of killed processes. Lock serialises read-modify-write cycles
// between goroutines and between processes.
//
// keystore, service and ui/cli call it. Its functions keep no state and are safe
// for concurrent use.
package textfile
