package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/rows"
)

// ListPrefix marks the name of a saved list where a file can be named.
const ListPrefix = "list:"

// KeepRejects keeps the rows that cannot be used, as they stood in their source: in path or, for
// "", in a new file of the downloads folder. It gives the file's name. A file that is there
// already is not touched; if it holds other rows, that is an error that wraps fs.ErrExist.
func (s *Session) KeepRejects(path string, in rows.Inputs) (string, error) {
	if path != "" {
		return path, keep(path, in.Rejected, path)
	}
	dir := s.Paths.DownloadsDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	begin := "rejected-" + s.Now().UTC().Format("20060102-150405")
	for n := 1; ; n++ {
		name := begin + "." + in.RejectedKind
		if n > 1 {
			name = fmt.Sprintf("%s-%d.%s", begin, n, in.RejectedKind)
		}
		path := filepath.Join(dir, name)
		if err := keepNew(path, in.Rejected); !os.IsExist(err) {
			return path, err
		}
	}
}

// keepNew writes a file that is not there yet.
func keepNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return textfile.Write(path, content)
}

// keep is keepNew, for a file that may have the same content already: a command that sent
// nothing is repeated.
func keep(path string, content []byte, name string) error {
	if kept, err := isKept(path, content, name); kept || err != nil {
		return err
	}
	return keepNew(path, content)
}

// isKept reports whether a file has the content already. One with another is an error that wraps fs.ErrExist.
func isKept(path string, content []byte, name string) (bool, error) {
	there, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(there, content):
		return true, nil
	case err == nil:
		return false, fmt.Errorf("%s is there with other rows: %w", name, fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	return false, nil
}

// CheckRejects is the error that KeepRejects would give because of what is there. It writes nothing.
func (s *Session) CheckRejects(path string, in rows.Inputs) error {
	if path == "" {
		return nil
	}
	_, err := isKept(path, in.Rejected, path)
	return err
}

// CheckList is the error that SaveList would give because of what is there. It writes nothing.
func (s *Session) CheckList(name string, inputs []model.JobInput) error {
	path, err := s.Paths.ListFile(name)
	if err == nil {
		_, err = isKept(path, listOf(inputs), listName(name))
	}
	return err
}

func listName(name string) string { return "a saved list " + name }

// listOf is what a saved list of inputs holds.
func listOf(inputs []model.JobInput) []byte {
	var b bytes.Buffer
	for _, in := range inputs {
		b.Write(rows.Input(in))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// SaveList keeps inputs as a saved list. One of that name is not touched; if it holds other
// inputs, that is an error that wraps fs.ErrExist.
func (s *Session) SaveList(name string, inputs []model.JobInput) error {
	path, err := s.Paths.ListFile(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Paths.ListsDir(), 0o700); err != nil {
		return err
	}
	return keep(path, listOf(inputs), listName(name))
}

// OpenList opens a saved list. The error of one that is not there names those that are, and wraps fs.ErrNotExist.
func (s *Session) OpenList(name string) (*os.File, error) {
	path, err := s.Paths.ListFile(name)
	if err == nil {
		if f, err := textfile.Open(path); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		err = noListError(fmt.Sprintf("there is no saved list %q", name))
	}
	return nil, fmt.Errorf("%w; %s", err, s.savedLists())
}

// noListError says that a saved list is not there.
type noListError string

func (e noListError) Error() string { return string(e) }
func (noListError) Unwrap() error   { return fs.ErrNotExist }

// savedLists says which lists there are.
func (s *Session) savedLists() string {
	const most = 12
	files, _ := fs.Glob(os.DirFS(s.Paths.ListsDir()), "*.ndjson") // a folder that is not there has none
	if len(files) == 0 {
		return "none is saved in " + s.Paths.ListsDir()
	}
	names := make([]string, 0, most+1)
	for _, file := range files[:min(len(files), most)] {
		names = append(names, strings.TrimSuffix(file, ".ndjson"))
	}
	if more := len(files) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "saved are " + strings.Join(names, ", ")
}
