package keystore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Reading one's own memory from its beginning fails.
func TestARecordThatBreaksOffWhileItIsReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/proc/self/mem", filepath.Join(dir, "broken.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRotations(dir).Get("broken"); !errors.Is(err, ErrRotationFile) || !errors.Is(err, syscall.EIO) {
		t.Errorf("%v", err)
	}
}
