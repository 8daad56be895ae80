package history

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/bodytext"
)

// Body is an open body. Close it.
type Body struct {
	io.ReaderAt
	Size int64
	file *os.File // nil for one in memory
}

// Close closes the body's file, if it is in one.
func (b Body) Close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

// OpenBody opens a body, in memory or on disk.
func (h *History) OpenBody(b model.BodyRef) (Body, error) {
	if b.File == "" {
		return Body{ReaderAt: bytes.NewReader(b.Bytes), Size: int64(len(b.Bytes))}, nil
	}
	f, err := os.Open(b.File)
	if err != nil {
		return Body{}, fmt.Errorf("the body no longer exists: %w", err)
	}
	if filepath.Dir(b.File) != h.paths.BodiesDir() {
		err = unchanged(f, b)
	}
	info, serr := f.Stat()
	if err := cmp.Or(err, serr); err != nil {
		f.Close()
		return Body{}, fmt.Errorf("read the body: %w", err)
	}
	return Body{ReaderAt: f, Size: info.Size(), file: f}, nil
}

// maxText is the largest body that is turned into UTF-8 to be shown, in bytes.
const maxText = 32 << 20

// OpenText opens a body as text: one in another character set is turned into UTF-8, if it has at most maxText bytes.
func (h *History) OpenText(b model.BodyRef) (Body, error) {
	body, err := h.OpenBody(b)
	if err != nil || b.Charset == "" || body.Size > maxText {
		return body, err
	}
	text, err := io.ReadAll(bodytext.Named(b.Charset).Reader(io.NewSectionReader(body, 0, body.Size)))
	if err = errors.Join(err, body.Close()); err != nil {
		return Body{}, fmt.Errorf("read the body: %w", err)
	}
	return Body{ReaderAt: bytes.NewReader(text), Size: int64(len(text))}, nil
}

// unchanged checks the file that -o named: it is the operator's, who may have written
// something else to it.
func unchanged(f *os.File, b model.BodyRef) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != b.SHA256 {
		return fmt.Errorf("%s has changed since the body was received", b.File)
	}
	return nil
}

// BodyFile gives the file of a body, and makes one among the bodies of a body in memory.
func (h *History) BodyFile(b model.BodyRef) (string, error) {
	if b.File != "" {
		return b.File, nil
	}
	name := filepath.Join(h.paths.BodiesDir(), b.SHA256)
	if err := textfile.Write(name, b.Bytes); err != nil {
		return "", fmt.Errorf("keep the body: %w", err)
	}
	return name, nil
}

// KeepBody copies the body of a fetch to a file among the downloads and names it. A fetch
// that was kept before has its file already.
func (h *History) KeepBody(ctx context.Context, res model.FetchResult) (string, error) {
	dir := h.paths.DownloadsDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// A file that was changed since it was kept stays, and the body gets another.
	for n := 1; ; n++ {
		name := filepath.Join(dir, res.ID+Extension(res.ContentType))
		if n > 1 {
			name = filepath.Join(dir, fmt.Sprintf("%s-%d%s", res.ID, n, Extension(res.ContentType)))
		}
		kept, err := h.fileHolds(name, res.Body)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, textfile.WriteFunc(ctx, name, func(w io.Writer) error { return h.CopyBody(w, res.Body) })
		case err != nil || kept:
			return name, err
		}
	}
}

// fileHolds reports whether a file holds a body as it came.
func (h *History) fileHolds(name string, b model.BodyRef) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close() // it is only read
	file, body := sha256.New(), sha256.New()
	if _, err := io.Copy(file, f); err != nil {
		return false, err
	}
	err = h.CopyBody(body, b)
	return bytes.Equal(file.Sum(nil), body.Sum(nil)), err
}

// CopyBody writes a body to w.
func (h *History) CopyBody(w io.Writer, b model.BodyRef) error {
	src, err := h.OpenBody(b)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.NewSectionReader(src, 0, src.Size))
	_ = src.Close() // it was only read
	return err
}

// Extension tells the type of a body to an editor. It is one of a few fixed words,
// never remote text.
func Extension(contentType string) string {
	for word, ext := range map[string]string{"html": ".html", "json": ".json", "xml": ".xml", "csv": ".csv"} {
		if strings.Contains(contentType, word) {
			return ext
		}
	}
	return ".txt"
}
