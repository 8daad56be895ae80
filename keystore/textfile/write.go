package textfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Write replaces one of the program's own files by b, as WriteFunc does. It creates a
// missing folder (0700). A symbolic link stays a link: the file that it leads to is
// replaced.
func Write(path string, b []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		at := path
		if target, err := filepath.EvalSymlinks(path); err == nil {
			at = target
		}
		err = WriteBeside(at, b)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// WriteBeside is Write for a folder that exists and need not be the program's own, and so refuses a link.
func WriteBeside(path string, b []byte) error {
	return WriteFunc(context.Background(), path, copyOf(b)) // a pipe could block here: path is a file
}

// WriteFunc replaces the file at path by what fill writes, if Output accepts it. The
// file appears complete or not at all, with mode 0600. It and its folder are on disk
// when WriteFunc returns. An error of fill is returned wrapped, together with errors of
// the cleanup.
//
// What Output names no file for is written to. If ctx ends while a pipe has no reader, the
// error is the cause of ctx.
func WriteFunc(ctx context.Context, path string, fill func(io.Writer) error) error {
	file, err := Output(path)
	switch {
	case err != nil:
		return err
	case file == "":
		return writeInto(ctx, path, fill)
	}
	t, err := NewTemp(file)
	if err != nil {
		return err
	}
	return replace(t, fill)
}

// Output says what it is to write to a place: file is the absolute name of a file that is
// there or not yet, or empty for what is written to as it is: a device, a pipe, and what is
// open already, such as /dev/fd/3. A folder is refused. So is a link, because whoever may
// write to its folder decides where it leads, but for the system's own to a device or a
// pipe. The errors are *fs.PathErrors.
func Output(path string) (file string, err error) {
	if file, err = filepath.Abs(path); err != nil {
		return "", err
	}
	refuse := func(text string) (string, error) {
		return "", &fs.PathError{Op: "write", Path: path, Err: errors.New(text)}
	}
	at, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	info, missing := os.Stat(file)
	_, open := descriptor(file)
	switch {
	case err != nil:
		return "", err
	case missing == nil && info.IsDir():
		return refuse("this is a folder: name a file in it")
	case missing == nil && open:
		return "", nil
	case at.Mode()&fs.ModeSymlink != 0 && (missing != nil || info.Mode().IsRegular() || !strings.HasPrefix(file, "/dev/") && !strings.HasPrefix(file, "/proc/")):
		return refuse("this is a link, and nothing is written through a link: name the file itself, or another one")
	case missing == nil && !info.Mode().IsRegular():
		return "", nil
	}
	return file, missing
}

// descriptor is the number under which this process has open what a path names, as by the shell's 3>FILE.
func descriptor(path string) (fd int, open bool) {
	path, _ = filepath.Abs(path)
	if path == "/dev/stdout" || path == "/dev/stderr" {
		path, _ = os.Readlink(path)
	}
	fd, err := strconv.Atoi(filepath.Base(path))
	folder := filepath.Dir(path)
	return fd, err == nil && (folder == "/dev/fd" || folder == "/proc/self/fd")
}

// OpenAppend opens what Output accepts, to add to its end.
func OpenAppend(path string) (*os.File, error) {
	switch file, err := Output(path); {
	case err != nil:
		return nil, err
	case file == "":
		return openAsItIs(path)
	default:
		return os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY|noFollow, 0o600)
	}
}

// openAsItIs opens a device or a pipe. What is open already is used from where it stands.
func openAsItIs(path string) (*os.File, error) {
	fd, open := descriptor(path)
	if info, err := os.Stat(path); open && err == nil && info.Mode().IsRegular() {
		return another(fd, path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Mode().IsRegular() { // it was replaced meanwhile
		return nil, errors.Join(&fs.PathError{Op: "write", Path: path, Err: errors.New("it is no device or pipe any more")}, err, f.Close())
	}
	return f, nil
}

// WriteNew is WriteFunc for a new file. If something has that name, before or after fill, it stays as it is and the
// error wraps fs.ErrExist. The file appears complete or not at all.
func WriteNew(path string, fill func(io.Writer) error) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, error(&fs.PathError{Op: "write", Path: path, Err: fs.ErrExist}))
	}
	t, err := NewTemp(path)
	if err != nil {
		return err
	}
	if err = fill(t); err == nil {
		err = t.KeepNew()
	}
	return errors.Join(err, t.Discard())
}

// WriteIn replaces a file in root by b, as WriteFunc does. But a symbolic link of that
// name is replaced itself: nothing outside root is written.
func WriteIn(root *os.Root, name string, b []byte) error {
	dir, err := root.OpenRoot(".")
	t, err := inFolder(dir, err, name, newTemp)
	if err != nil {
		return err
	}
	return replace(t, copyOf(b))
}

// Probe returns an error if WriteFunc could not write a regular file at path. It makes
// its temporary file and removes it.
func Probe(path string) error {
	t, err := NewTemp(path)
	if err != nil {
		return err
	}
	return t.Discard()
}

func copyOf(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(b))
		return err
	}
}

func replace(t *Temp, fill func(io.Writer) error) error {
	err := fill(t)
	if err == nil {
		err = t.Keep()
	}
	return errors.Join(err, t.Discard())
}

// writeInto writes to what is no file of its own.
func writeInto(ctx context.Context, path string, fill func(io.Writer) error) error {
	f, err := openInto(ctx, path)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) }) // a file without deadlines does not block
	defer stop()
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// openInto opens a device or a pipe. It waits until a pipe has a reader, or until ctx ends: then the goroutine keeps
// waiting for a reader, until the program ends.
func openInto(ctx context.Context, path string) (*os.File, error) {
	opened, failed := make(chan *os.File), make(chan error, 1)
	go func() {
		f, err := openAsItIs(path)
		if err != nil {
			failed <- err
			return
		}
		select {
		case opened <- f:
		case <-ctx.Done():
			_ = f.Close() // nothing was written
		}
	}()
	select {
	case f := <-opened:
		return f, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
