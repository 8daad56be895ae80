package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Partial is a file that is written over several runs, next to its final place, under a plain
// name. The next process continues what one process leaves. The file is locked as long as it is
// open. Call one of Keep, which moves it to its place, Discard, which removes it, and Leave,
// which leaves it as it is.
type Partial struct {
	*os.File
	// Exclusive says that nobody else has the file open as a Partial. It is false if that cannot be
	// known: on Windows, and on file systems without locks.
	Exclusive bool
	root      *os.Root
	name      string
	ended     bool
}

// OpenPartial opens the file at path for reading and writing, or creates it (0600). Its
// folder must exist. While another writer has it open, the error wraps ErrLocked.
func OpenPartial(path string) (*Partial, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	return inFolder(root, err, filepath.Base(path), openPartial)
}

func openPartial(root *os.Root, name string) (*Partial, error) {
	for {
		// Opening anything but a file, such as a pipe that nobody reads, could block.
		info, err := root.Lstat(name)
		if err == nil && !info.Mode().IsRegular() {
			return nil, &fs.PathError{Op: "open", Path: filepath.Join(root.Name(), name), Err: errors.New("it is not a file")}
		}
		f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		held := lock(f)
		if errors.Is(held, errHeld) {
			_ = f.Close()
			return nil, fmt.Errorf("%s: %w", filepath.Join(root.Name(), name), ErrLocked)
		}
		here, err := root.Lstat(name)
		mine, own := f.Stat()
		if err == nil && own == nil && os.SameFile(here, mine) {
			return &Partial{File: f, Exclusive: held == nil, root: root, name: name}, nil
		}
		_ = f.Close()
		if err = errors.Join(err, own); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		} // else its writer moved or removed it before this process had the lock
	}
}

// Name is the path of the file until Keep.
func (p *Partial) Name() string { return filepath.Join(p.root.Name(), p.name) }

// Sweep is SweepFor for a place whose temporary files only the process with this Partial makes.
// Then a file without a lock has no writer, however young it is.
func (p *Partial) Sweep(path string) error {
	if !p.Exclusive {
		return SweepFor(path)
	}
	return sweepFor(path, 0)
}

// Keep renames the file to name in its folder and replaces a file of that name. Both the file
// and its folder are then on disk. After an error the file may still have its first name.
func (p *Partial) Keep(name string) error {
	err := p.Sync()
	if err == nil {
		err = p.root.Rename(p.name, name) // under the lock
	}
	if err != nil {
		return err
	}
	p.ended = true
	return errors.Join(p.Close(), syncFolder(p.root), p.root.Close())
}

// Leave closes the file, unless it was kept or discarded, and leaves it where it is.
func (p *Partial) Leave() error {
	if p.ended {
		return nil
	}
	p.ended = true
	return errors.Join(p.Close(), p.root.Close())
}

// Discard removes the file, unless it was kept or left.
func (p *Partial) Discard() error {
	if p.ended {
		return nil
	}
	p.ended = true
	err := p.root.Remove(p.name) // under the lock
	return errors.Join(p.Close(), err, p.root.Close())
}
