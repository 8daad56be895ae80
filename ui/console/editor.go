package console

import (
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

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/files"
	"zonedeck/service/history"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/sandbox"
)

// The views' access to the outside: bodies on disk, input files and the editor. All
// of it is called in commands.

// bodies are those of the history, and $VISUAL or $EDITOR for them. It implements sandbox.Bodies.
type bodies struct {
	*history.History
	terminal
}

// Open opens a body as text for the viewer, which hands a context to all that it loads.
func (s bodies) Open(_ context.Context, b model.BodyRef) (body.Source, error) {
	opened, err := s.OpenText(b)
	if err != nil {
		return body.Source{}, err
	}
	head := make([]byte, body.HeadBytes)
	n, _ := opened.ReadAt(head, 0) // what cannot be read is told where it is shown
	return body.Source{Reader: opened, Size: opened.Size, Head: head[:n], Close: opened.Close}, nil
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

func (e *editor) SetStdout(w io.Writer) {
	if s, ok := w.(interface{ Unwrap() io.Writer }); ok {
		w = s.Unwrap()
	}
	e.Stdout = w
}

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

// editor is the command of $VISUAL or $EDITOR in its words; nil if neither is set.
func (t terminal) editor() []string {
	return strings.Fields(cmp.Or(t.Getenv("VISUAL"), t.Getenv("EDITOR")))
}

// editFile returns the function that prepares $VISUAL or $EDITOR for a file of the operator's; nil if
// neither is set.
func (t terminal) editFile() func(file string) tea.ExecCommand {
	words := t.editor()
	if len(words) == 0 {
		return nil
	}
	return func(file string) tea.ExecCommand {
		return &editor{Cmd: exec.CommandContext(context.Background(), words[0], append(words[1:], file)...)}
	}
}

// HasEditor reports whether an editor is set.
func (s bodies) HasEditor() bool { return len(s.editor()) > 0 }

// Edit prepares the editor for a copy of a body.
func (s bodies) Edit(ctx context.Context, b model.BodyRef, contentType string) (sandbox.Editor, error) {
	f, err := os.CreateTemp("", "zonedeck-*"+history.Extension(contentType))
	if err != nil {
		return nil, fmt.Errorf("copy the body for the editor: %w", err)
	}
	if err := errors.Join(s.CopyBody(f, b), f.Close()); err != nil {
		return nil, fmt.Errorf("copy the body for the editor: %w", errors.Join(err, os.Remove(f.Name())))
	}
	words := s.editor()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), words[0], append(words[1:], f.Name())...)
	return &editor{Cmd: cmd, copied: f.Name()}, nil
}

// writeCode writes a text to a file and names it. Without replace, a file that is there stays
// as it is, and the error wraps fs.ErrExist.
func writeCode(name, text string, replace bool) (string, error) {
	file, err := files.ExpandHome(name)
	if err != nil {
		return "", err
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", err
	}
	if _, err := os.Lstat(file); err == nil && !replace {
		return "", &fs.PathError{Op: "write", Path: name, Err: fs.ErrExist}
	}
	return file, textfile.WriteBeside(file, []byte(text))
}

// saveNew writes a file that is not there yet, and names it.
func saveNew(path string, fill func(io.Writer) error) (string, error) {
	path, err := files.ExpandHome(path)
	if err != nil {
		return "", err
	}
	err = textfile.WriteNew(path, fill)
	if errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("%s is there already: choose another name", path)
	}
	return path, err
}
