package service

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteWhole writes a file of the operator's that appears complete or not at
// all: a temporary one (0600) in the same folder, synced, renamed, and the folder
// synced. What is there and is no regular file (/dev/null, a pipe) is written
// into, never replaced; a folder is refused.
func WriteWhole(dest string, fill func(io.Writer) error) (err error) {
	info, err := os.Stat(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file", dest)
	case !info.Mode().IsRegular():
		return writeInto(dest, fill)
	default:
		// A link stays a link: what it leads to is replaced.
		if dest, err = filepath.EvalSymlinks(dest); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(dest), ".zonedeck-*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it may be closed already
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), dest); err != nil {
		return err
	}
	syncDir(filepath.Dir(dest))
	return nil
}

// writeInto writes to a device or a pipe.
func writeInto(dest string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(dest, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// syncDir makes a new name durable where folders can be synced; where they
// cannot, nothing more can be done, and the file itself is whole either way.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}
