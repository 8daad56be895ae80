package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"zonedeck/keystore/textfile"
)

// Unpack writes the bodies of the lines into the folder out, which it makes (0700) if necessary, each once, under its
// SHA-256 in hex. A file that has that content already stays; one that has another is replaced; a link or a folder of
// that name is an error. on, unless nil, hears how many lines are done. Unpack returns how many files it wrote. They
// are not synced: after a power cut run it again.
func Unpack(ctx context.Context, dir string, lines iter.Seq2[Line, error], out string, on func(done int64)) (written int64, err error) {
	if err := os.MkdirAll(out, 0o700); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(out)
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }() // each file was closed
	place := filepath.Join(out, "body")
	if err := textfile.SweepFor(place); err != nil {
		return 0, err
	}
	u := unpacking{dir: dir, root: root, temp: ".body.zonedeck-" + rand.Text()[:8]}
	done := int64(0)
	for line, err := range lines {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && line.BodyAt != nil {
			err = u.unpack(*line.BodyAt)
		}
		if err != nil {
			return u.written, fmt.Errorf("unpacking bodies into %s: %w", out, err)
		}
		if done++; on != nil {
			on(done)
		}
	}
	return u.written, nil
}

type unpacking struct {
	dir     string
	root    *os.Root
	temp    string // the name under which a file is written
	written int64
}

func (u *unpacking) unpack(at BodyAt) error {
	body, err := openBody(u.dir, at)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // nothing was written
	name := hex.EncodeToString(body.digest[:])
	if there, err := u.there(name, body); there || err != nil {
		return err
	}
	f, err := u.root.OpenFile(u.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Close()); err == nil {
		err = u.root.Rename(u.temp, name)
	}
	if err != nil {
		return errors.Join(err, u.root.Remove(u.temp))
	}
	u.written++
	return nil
}

// there reports whether a body has its file already.
func (u *unpacking) there(name string, body *stored) (bool, error) {
	info, err := u.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is there and is no file: move it away", filepath.Join(u.root.Name(), name))
	case info.Size() != body.at.Length:
		return false, nil
	}
	f, err := u.root.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return sameContent(f, body.digest)
}
