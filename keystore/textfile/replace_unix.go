//go:build unix

package textfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

func replace(path string, b []byte) error {
	dir := filepath.Dir(path)
	// Not renameio.WriteFile: that keeps the mode of a file that is there, and
	// these files are private whatever they were.
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.CloseAtomicallyReplace() // syncs first
	}
	if err != nil {
		return errors.Join(err, f.Cleanup())
	}
	return syncFolder(dir)
}

// syncFolder makes the new name durable. Some file systems know no fsync of a
// folder; they answer EINVAL or ENOTSUP, and nothing more can be done there.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
