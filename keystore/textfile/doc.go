// Package textfile reads and writes the console's files. The configuration, the
// key inventory and saved requests are also edited by hand.
//
// Reading is strict: an unknown field, a wrong type or a broken line is an Error
// with file, line, column and what was expected there, and the file stays as it
// is. Every write of a whole file by the console goes through this package, so it
// is atomic (a reader sees the old file or the new one, also after a power cut)
// and private (0600). Sweep removes the temporary files of processes that were killed
// meanwhile. Lock serialises read-modify-write cycles between goroutines
// and between processes.
//
// keystore, service and ui/cli call it. Its functions keep no state and are safe
// for concurrent use.
package textfile
