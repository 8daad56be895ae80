package textfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Append adds whole lines to the file at path. A missing file is created with mode
// 0600. The lines are on disk when Append returns. If the last line was cut short,
// Append ends it first. Several processes may append to one file.
func Append(path string, lines []byte) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	before, err := f.Stat()
	if err != nil {
		return err
	}
	if last := make([]byte, 1); before.Size() > 0 {
		if _, err := f.ReadAt(last, before.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			lines = append([]byte{'\n'}, lines...)
		}
	}
	if _, err := f.Write(lines); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if before.Size() == 0 {
		return SyncFolder(filepath.Dir(path))
	}
	return nil
}

// SyncFolder puts on disk which names are in a folder. Where a folder cannot be synced it does nothing.
func SyncFolder(path string) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through the folder's handle
	return syncFolder(root)
}
