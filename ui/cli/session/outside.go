package session

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
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/sandbox"
)

// The views' access to the outside: bodies on disk, input files and the editor. All
// of it is called in commands.

// openBody opens a body for the viewer, which hands a context to all that it loads.
func (s *Session) openBody(_ context.Context, b model.BodyRef) (body.Source, error) {
	return s.bodySource(b)
}

// bodySource opens a body, in memory or on disk.
func (s *Session) bodySource(b model.BodyRef) (body.Source, error) {
	if b.File == "" {
		return body.Source{Reader: bytes.NewReader(b.Bytes), Size: int64(len(b.Bytes)), Head: b.Bytes[:min(len(b.Bytes), body.HeadBytes)]}, nil
	}
	f, err := os.Open(b.File)
	if err != nil {
		return body.Source{}, fmt.Errorf("the body no longer exists: %w", err)
	}
	if filepath.Dir(b.File) != s.Paths.BodiesDir() {
		err = unchanged(f, b)
	}
	info, serr := f.Stat()
	if err := cmp.Or(err, serr); err != nil {
		f.Close()
		return body.Source{}, fmt.Errorf("read the body: %w", err)
	}
	head := make([]byte, body.HeadBytes)
	n, _ := f.ReadAt(head, 0) // what cannot be read is told where it is shown
	return body.Source{Reader: f, Size: info.Size(), Head: head[:n], Close: f.Close}, nil
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

// openInputs opens a file of job inputs: list:NAME is a saved list, and a leading ~ the home
// folder.
func (s *Session) openInputs(path string) (io.ReadCloser, error) {
	if name, saved := strings.CutPrefix(path, ListPrefix); saved {
		return s.OpenList(name)
	}
	path, err := expandHome(path)
	if err != nil {
		return nil, err
	}
	return textfile.Open(path)
}

// expandHome puts the home folder in place of a leading ~.
func expandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, rest), err
}

// editor runs the operator's editor. Run and Close remove the copy that it is run on, if it is one.
type editor struct {
	*exec.Cmd
	copied string // the copy
}

func (e *editor) SetStdin(r io.Reader) {
	if k, ok := r.(*keyboard); ok {
		r = k.terminalFile
	}
	e.Stdin = r
}

func (e *editor) SetStdout(w io.Writer) { e.Stdout = w }
func (e *editor) SetStderr(w io.Writer) { e.Stderr = w }

func (e *editor) Run() error {
	return errors.Join(e.Cmd.Run(), e.Close())
}

func (e *editor) Close() error {
	if e.copied == "" {
		return nil
	}
	return os.Remove(e.copied)
}

// editFile returns the function that prepares $VISUAL or $EDITOR for a file of the operator's; nil if
// neither is set.
func (s *Session) editFile() func(file string) tea.ExecCommand {
	words := strings.Fields(cmp.Or(s.o.Getenv("VISUAL"), s.o.Getenv("EDITOR")))
	if len(words) == 0 {
		return nil
	}
	return func(file string) tea.ExecCommand {
		return &editor{Cmd: exec.CommandContext(context.Background(), words[0], append(words[1:], file)...)}
	}
}

// editBody returns the function that prepares $VISUAL or $EDITOR for a body; nil if
// neither is set.
func (s *Session) editBody() func(context.Context, model.BodyRef, string) (sandbox.Editor, error) {
	words := strings.Fields(cmp.Or(s.o.Getenv("VISUAL"), s.o.Getenv("EDITOR")))
	if len(words) == 0 {
		return nil
	}
	return func(ctx context.Context, b model.BodyRef, contentType string) (sandbox.Editor, error) {
		f, err := os.CreateTemp("", "zonedeck-*"+extension(contentType))
		if err != nil {
			return nil, fmt.Errorf("copy the body for the editor: %w", err)
		}
		if err := errors.Join(s.copyBody(ctx, f, b), f.Close()); err != nil {
			return nil, fmt.Errorf("copy the body for the editor: %w", errors.Join(err, os.Remove(f.Name())))
		}
		cmd := exec.CommandContext(context.WithoutCancel(ctx), words[0], append(words[1:], f.Name())...)
		return &editor{Cmd: cmd, copied: f.Name()}, nil
	}
}

// keepBody copies the body of a fetch to a file among the downloads and names it. A fetch
// that was kept before has its file already.
func (s *Session) keepBody(ctx context.Context, res model.FetchResult) (string, error) {
	dir := s.Paths.DownloadsDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// A file that was changed since it was kept stays, and the body gets another.
	for n := 1; ; n++ {
		name := filepath.Join(dir, res.ID+extension(res.ContentType))
		if n > 1 {
			name = filepath.Join(dir, fmt.Sprintf("%s-%d%s", res.ID, n, extension(res.ContentType)))
		}
		kept, err := s.holds(ctx, name, res.Body)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, textfile.WriteFunc(ctx, name, func(w io.Writer) error { return s.copyBody(ctx, w, res.Body) })
		case err != nil || kept:
			return name, err
		}
	}
}

// holds reports whether a file holds a body as it came.
func (s *Session) holds(ctx context.Context, name string, b model.BodyRef) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close() // it is only read
	file, body := sha256.New(), sha256.New()
	if _, err := io.Copy(file, f); err != nil {
		return false, err
	}
	err = s.copyBody(ctx, body, b)
	return bytes.Equal(file.Sum(nil), body.Sum(nil)), err
}

// writeCode writes a text to a file and names it. Without replace, a file that is there stays
// as it is, and the error wraps fs.ErrExist.
func writeCode(name, text string, replace bool) (string, error) {
	file, err := expandHome(name)
	if err != nil {
		return "", err
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", err
	}
	if _, err := os.Lstat(file); err == nil && !replace {
		return "", &fs.PathError{Op: "write", Path: name, Err: fs.ErrExist}
	}
	return file, textfile.Write(file, []byte(text))
}

// copyBody writes a body to w.
func (s *Session) copyBody(_ context.Context, w io.Writer, b model.BodyRef) error {
	src, err := s.bodySource(b)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.NewSectionReader(src.Reader, 0, src.Size))
	if src.Close != nil {
		_ = src.Close() // it was only read
	}
	return err
}

// extension tells the editor the type of a body. It is one of a few fixed words,
// never remote text.
func extension(contentType string) string {
	for word, ext := range map[string]string{"html": ".html", "json": ".json", "xml": ".xml", "csv": ".csv"} {
		if strings.Contains(contentType, word) {
			return ext
		}
	}
	return ".txt"
}
