//go:build unix

package database

import (
	"errors"
	"syscall"
)

// readOnlyFS reports whether the file system itself cannot be written.
func readOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }
