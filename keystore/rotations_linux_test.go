package keystore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
)

// Reading one's own memory from its beginning fails.
func TestARecordThatBreaksOffWhileItIsReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	noerr.Must(t, os.Symlink("/proc/self/mem", filepath.Join(dir, "broken.json")))
	if _, err := OpenRotations(dir).Get("broken"); !errors.Is(err, ErrRotationFile) || !errors.Is(err, syscall.EIO) {
		t.Errorf("%v", err)
	}
}
