package textfile

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
)

// /proc cannot be synced: fsync answers EINVAL.
func TestAFolderThatCannotBeSyncedIsNoError(t *testing.T) {
	root, err := os.OpenRoot("/proc/self")
	noerr.Must(t, err)
	defer root.Close()
	d, err := root.Open(".")
	noerr.Must(t, err)
	defer d.Close()
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Fatalf("it can be synced: %v", err)
	}
	noerr.Want(t, syncFolder(root))
}

func TestLinesThatAreNotOnDiskAreAnError(t *testing.T) {
	for path, want := range map[string]error{"/dev/null": syscall.EINVAL, "/dev/full": syscall.ENOSPC} { // not synced, not written
		if err := Append(path, []byte("x\n")); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
