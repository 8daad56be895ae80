//go:build !unix

package database

// readOnlyFS reports whether the file system itself cannot be written; where
// there is no such error, the refusal is one of permission.
func readOnlyFS(error) bool { return false }
