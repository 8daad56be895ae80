package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path by b as WriteFunc does. A missing folder is
// made (0700).
func Write(path string, b []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = WriteFunc(path, copyOf(b))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// WriteFunc replaces the file at path by what fill writes. The file appears
// complete or not at all, with mode 0600, and it and its folder are on disk when
// WriteFunc returns. An error of fill is returned as it is, or joined with what
// went wrong while cleaning up.
//
// A symbolic link stays a link: the file it leads to is replaced. A device or a
// pipe is written into. A folder is refused.
func WriteFunc(path string, fill func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file", path)
	case !info.Mode().IsRegular():
		return writeInto(path, fill)
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	return inFolderOf(path, func(root *os.Root, name string) error { return replace(root, name, fill) })
}

// WriteIn replaces a file of root by b as WriteFunc does, except that a symbolic
// link of that name is replaced, too: nothing outside root is written.
func WriteIn(root *os.Root, name string, b []byte) error {
	return replace(root, name, copyOf(b))
}

// Probe reports why WriteFunc could not write a regular file at path, by making
// its temporary file and removing it.
func Probe(path string) error {
	return inFolderOf(path, func(root *os.Root, name string) error {
		f, err := newPending(root, name)
		if err != nil {
			return err
		}
		return f.Cleanup()
	})
}

func copyOf(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(b))
		return err
	}
}

func inFolderOf(path string, do func(root *os.Root, name string) error) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through the folder's handle
	return do(root, filepath.Base(path))
}

// replace is the one atomic write: a temporary file in the target's folder,
// synced, renamed, and the folder synced.
func replace(root *os.Root, name string, fill func(io.Writer) error) error {
	f, err := newPending(root, name)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil {
		err = f.CloseAtomicallyReplace()
	}
	if err != nil {
		return errors.Join(err, f.Cleanup())
	}
	return syncFolder(root)
}

// writeInto writes to a device or a pipe.
func writeInto(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}
