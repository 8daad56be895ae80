//go:build unix

package servicetest

import (
	"os/signal"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
)

// LimitFiles lets no file of this process grow beyond n bytes until the test ends: a
// write fails there, as on a full disk.
func LimitFiles(t *testing.T, n uint64) {
	t.Helper()
	var before syscall.Rlimit
	noerr.Must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	signal.Ignore(syscall.SIGXFSZ)
	noerr.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: before.Max}))
	t.Cleanup(func() {
		noerr.Want(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
		signal.Reset(syscall.SIGXFSZ)
	})
}
