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
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }() // nothing is written through the folder's handle
		if err := syncFolder(root); err != nil {
			return err
		}
	}
	return nil
}
