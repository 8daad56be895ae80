//go:build !unix

package database

// readOnlyFS reports whether the file system itself cannot be written. Here that
// is an error of permission instead.
func readOnlyFS(error) bool { return false }
