//go:build unix

package records

import (
	"path/filepath"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
)

// Rows are read at any place, which a pipe has not; opening it would wait for a writer.
func TestAPipeIsRefusedAndNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	noerr.Must(t, syscall.Mkfifo(pipe, 0o600))
	if _, err := Open(pipe, Options{}); err == nil || err.Error() != "pipe: it is not a file of rows" {
		t.Errorf("%v", err)
	}
}
