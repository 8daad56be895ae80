// Package textfile reads and writes the files that both a person and the
// console edit: the configuration and the key inventory.
//
// Reading is strict: a field nobody knows, a wrong type or a broken line is an
// Error with file, line, column and what was expected there, and the file stays
// as it is. Writing is atomic (a reader sees the old file or the new one, also
// after a power cut) and private (0600). Lock serialises read-modify-write
// cycles between goroutines and between processes.
//
// keystore and service/profile call it. Its functions keep no state and are safe
// for concurrent use.
package textfile
