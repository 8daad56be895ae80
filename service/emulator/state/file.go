package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// halfWritten is the prefix of a file that is still being written.
const halfWritten = ".new-"

// File is a file that is being written. [File.Replace] gives it its name in one step, which
// survives a crash.
type File struct {
	*os.File
	path string
}

// Create begins a file (0600). Call Replace or Discard at the end.
func Create(path string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), halfWritten+filepath.Base(path)+"-*")
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return &File{f, path}, nil
}

// Replace makes the file durable under its name. If it fails, it removes the file.
func (f *File) Replace() error {
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		f.Discard()
		return fmt.Errorf("writing %s: %w", filepath.Base(f.path), err)
	}
	return syncDir(filepath.Dir(f.path))
}

// Discard removes the file, and leaves an older one of its name unchanged.
func (f *File) Discard() {
	f.Close()
	_ = os.Remove(f.Name()) // a leftover file goes at the next start
}

// WriteFile replaces the contents of a file.
func WriteFile(path string, b []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		f.Discard()
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return f.Replace()
}

// removeHalfWritten removes the half-written files of a killed process from a folder.
func removeHalfWritten(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking for half written files: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), halfWritten) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("removing a half written file: %w", err)
		}
	}
	return nil
}

// syncDir makes a rename durable. Windows needs no call for that.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
