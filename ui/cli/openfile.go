package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// read reads a file that the operator named, as open does, up to a bound in bytes. flag is the flag that named it, or "".
func (a *app) read(ctx context.Context, flag, name string, most int64) ([]byte, error) {
	if flag != "" {
		flag += ": "
	}
	in, err := a.open(ctx, name)
	if err != nil {
		return nil, usage("%s%w", flag, err)
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case ctx.Err() != nil:
		return nil, fail(ExitInterrupted, "interrupted; nothing was sent")
	case err != nil:
		return nil, usage("%s%w", flag, err)
	case int64(len(b)) > most:
		return nil, usage("%s%s: it has more than %d KiB", flag, name, most>>10)
	}
	return b, nil
}

// spool copies a pipe or standard input into a temporary file, for readers that need random access, and names it; done
// removes it. A plain file stays what it is.
func (a *app) spool(ctx context.Context, name string) (file string, done func(), err error) {
	info, err := os.Stat(name)
	if name != "-" && (err != nil || info.Mode().IsRegular() || info.IsDir()) {
		return name, func() {}, nil // whoever reads it says what is wrong with it
	}
	dir, err := os.MkdirTemp("", "zonedeck-input-")
	done = func() { _ = os.RemoveAll(dir) } // the system cleans up leftovers
	if err != nil {
		return "", done, err
	}
	in, err := a.open(ctx, name)
	if err != nil {
		return "", done, err
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(dir, "rows"))
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	return filepath.Join(dir, "rows"), done, err
}

// open opens a file that the operator named, or standard input for "-". A pipe may have no writer yet, and nobody may
// type at a terminal: reading anything but a plain file therefore ends with ctx, and its error. A goroutine that still
// waits for input ends with the program.
func (a *app) open(ctx context.Context, name string) (io.ReadCloser, error) {
	if name != "-" {
		if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() || info.IsDir() {
			return os.Open(name)
		}
	}
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		file, err := io.NopCloser(a.Stdin), error(nil)
		if name != "-" {
			file, err = os.Open(name)
		}
		if err == nil {
			_, err = io.Copy(in, file)
			_ = file.Close() // it was only read
		}
		in.CloseWithError(err)
	}()
	return out, nil
}
