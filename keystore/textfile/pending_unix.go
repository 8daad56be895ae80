//go:build unix

package textfile

import (
	"errors"
	"os"
	"syscall"

	"github.com/google/renameio/v2"
)

// newPending makes the temporary file that becomes name. Its mode is 0600
// whatever the mode of a file of that name.
func newPending(root *os.Root, name string) (*renameio.PendingFile, error) {
	return renameio.NewPendingFile(name, renameio.WithRoot(root), renameio.WithStaticPermissions(0o600))
}

// syncFolder makes the new name durable. Some file systems cannot sync a folder:
// they answer EINVAL or ENOTSUP, and nothing more can be done there.
func syncFolder(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
