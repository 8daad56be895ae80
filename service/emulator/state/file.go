package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// halfWritten is what the name of a file begins with until it is whole.
const halfWritten = ".new-"

// File is a file that is being written: it has its name once [File.Replace] returns, and
// replaces the one that had it as one step, which survives a crash.
type File struct {
	*os.File
	path string
}

// Create begins a file (0600). It ends with Replace or Discard.
func Create(path string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), halfWritten+filepath.Base(path)+"-*")
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return &File{f, path}, nil
}

// Replace makes the file durable under its name. Where it cannot, nothing is left of it.
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

// Discard leaves the file that has the name as it is.
func (f *File) Discard() {
	f.Close()
	_ = os.Remove(f.Name()) // what stays goes at the next start
}

// WriteFile replaces a file by b.
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

// removeHalfWritten takes the files from a folder that a killed process had not written
// to their end.
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

// syncDir makes a rename durable. Windows has no such call and needs none.
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
