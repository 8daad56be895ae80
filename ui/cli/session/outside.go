package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit/body"
)

// The views' access to the outside: bodies on disk, input files and the editor. All
// of it is called in commands.

// openBody opens a body, in memory or on disk, for the viewer.
func openBody(_ context.Context, b model.BodyRef) (body.Source, error) {
	if b.File == "" {
		return body.Source{Reader: bytes.NewReader(b.Bytes), Size: int64(len(b.Bytes))}, nil
	}
	f, err := os.Open(b.File)
	if err != nil {
		return body.Source{}, fmt.Errorf("the body no longer exists: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return body.Source{}, fmt.Errorf("read the body: %w", err)
	}
	return body.Source{Reader: f, Size: info.Size(), Close: f.Close}, nil
}

// openInputs opens a file of job inputs. A leading ~ is the home folder.
func openInputs(path string) (io.ReadCloser, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(home, rest)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	return os.Open(path)
}

// editor runs the operator's editor on a copy of a body and then removes the copy.
type editor struct {
	*exec.Cmd
	file string
}

func (e *editor) SetStdin(r io.Reader)  { e.Stdin = r }
func (e *editor) SetStdout(w io.Writer) { e.Stdout = w }
func (e *editor) SetStderr(w io.Writer) { e.Stderr = w }

func (e *editor) Run() error {
	return errors.Join(e.Cmd.Run(), os.Remove(e.file))
}

// editBody returns the function that prepares $VISUAL or $EDITOR for a body; nil if
// neither is set.
func editBody(getenv func(string) string) func(context.Context, model.BodyRef, string) (tea.ExecCommand, error) {
	words := strings.Fields(cmp.Or(getenv("VISUAL"), getenv("EDITOR")))
	if len(words) == 0 {
		return nil
	}
	return func(ctx context.Context, b model.BodyRef, contentType string) (tea.ExecCommand, error) {
		f, err := os.CreateTemp("", "zonedeck-*"+extension(contentType))
		if err != nil {
			return nil, fmt.Errorf("copy the body for the editor: %w", err)
		}
		if err := errors.Join(CopyBody(f, b), f.Close()); err != nil {
			return nil, errors.Join(fmt.Errorf("copy the body for the editor: %w", err), os.Remove(f.Name()))
		}
		cmd := exec.CommandContext(context.WithoutCancel(ctx), words[0], append(words[1:], f.Name())...)
		return &editor{Cmd: cmd, file: f.Name()}, nil
	}
}

// keepBody returns the function that copies the body of a fetch into dir. The file has the
// fetch's name; one that is there already is that body and stays.
func keepBody(dir string) func(model.FetchResult) (string, error) {
	return func(res model.FetchResult) (string, error) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		name := filepath.Join(dir, res.ID+extension(res.ContentType))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		if err := errors.Join(CopyBody(f, res.Body), f.Close()); err != nil {
			return "", errors.Join(err, os.Remove(name))
		}
		return name, nil
	}
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

// CopyBody writes a body, in memory or on disk, to w.
func CopyBody(w io.Writer, b model.BodyRef) error {
	if b.File == "" {
		_, err := w.Write(b.Bytes)
		return err
	}
	f, err := os.Open(b.File)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
