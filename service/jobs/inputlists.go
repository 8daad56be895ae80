package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/rows"
)

// InputLists keeps lists of inputs and the bad rows of sources as files.
type InputLists struct {
	Paths config.Paths
	Clock Clock
}

// Clock is where the time is read.
type Clock interface{ Now() time.Time }

// Now is the time of the clock.
func (l InputLists) Now() time.Time { return l.Clock.Now() }

// Open opens a saved list. The error of one that is not there names those that are, and wraps fs.ErrNotExist.
func (l InputLists) Open(name string) (*os.File, error) {
	path, err := l.Paths.ListFile(name)
	if err == nil {
		if f, err := textfile.Open(path); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		err = noListError(fmt.Sprintf("there is no saved list %q", name))
	}
	return nil, fmt.Errorf("%w; %s", err, l.names())
}

// noListError says that a saved list is not there.
type noListError string

func (e noListError) Error() string { return string(e) }
func (noListError) Unwrap() error   { return fs.ErrNotExist }

// names says which lists there are.
func (l InputLists) names() string {
	const most = 12
	files, _ := fs.Glob(os.DirFS(l.Paths.ListsDir()), "*.ndjson") // a folder that is not there has none
	if len(files) == 0 {
		return "none is saved in " + l.Paths.ListsDir()
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

// check is the error that keep would give because of the files that are there. It writes nothing.
func (l InputLists) check(r Report) error {
	if path := r.draft.Rejects; r.Rows.Bad > 0 && path != "" {
		if _, err := isKept(path, r.Rows.Rejected, path); err != nil {
			return &KeepError{Path: path, Err: err}
		}
	}
	if r.draft.SaveList == "" {
		return nil
	}
	path, err := l.Paths.ListFile(r.draft.SaveList)
	if err != nil {
		return model.BadField("save_list", "%w", err)
	}
	if _, err := isKept(path, listOf(r.Rows.Rows), "a saved list "+r.draft.SaveList); err != nil {
		return &KeepError{IsList: true, Path: path, Err: err}
	}
	return nil
}

// keep keeps the bad rows as they stood in their source, and the good ones as a list if that is wanted. A file that is
// there already is not touched; if it has other rows, that is an error that wraps fs.ErrExist.
func (l InputLists) keep(r Report, out *Launched) (bad model.JobRejected, err error) {
	if r.Rows.Bad > 0 {
		path, err := l.keepRejects(r.draft.Rejects, r.Rows)
		if err != nil {
			return bad, &KeepError{Path: path, Err: err}
		}
		out.Notes = append(out.Notes, ask.Note{About: "rejects", Text: model.Counted(r.Rows.Bad, "bad row") + " kept in " + path})
		if abs, err := filepath.Abs(path); err == nil { // the ledger is read from other folders
			path = abs
		}
		bad = model.JobRejected{Rows: r.Rows.Bad, File: path}
	}
	if r.draft.SaveList == "" {
		return bad, nil
	}
	path, err := l.Paths.ListFile(r.draft.SaveList)
	if err != nil {
		return bad, model.BadField("save_list", "%w", err)
	}
	if err = os.MkdirAll(l.Paths.ListsDir(), 0o700); err == nil {
		err = keepAs(path, listOf(r.Rows.Rows), "a saved list "+r.draft.SaveList)
	}
	if err != nil {
		return bad, &KeepError{IsList: true, Path: path, Err: err}
	}
	out.Notes = append(out.Notes, ask.Note{About: "save_list", Text: model.Counted(len(r.Rows.Rows), "input") + " saved in " + path})
	return bad, nil
}

// keepRejects keeps the bad rows in path or, for "", in a new file of the downloads folder, and names the file.
func (l InputLists) keepRejects(path string, in Inputs) (string, error) {
	if path != "" {
		return path, keepAs(path, in.Rejected, path)
	}
	dir := l.Paths.DownloadsDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	begin := "rejected-" + l.Now().UTC().Format("20060102-150405")
	for n := 1; ; n++ {
		name := begin + "." + in.RejectedKind
		if n > 1 {
			name = fmt.Sprintf("%s-%d.%s", begin, n, in.RejectedKind)
		}
		path := filepath.Join(dir, name)
		if err := keepNew(path, in.Rejected); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// keepNew writes a file that is not there yet.
func keepNew(path string, content []byte) error {
	return textfile.WriteNew(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// keepAs is keepNew, for a file that may have the same content already: a launch that sent nothing is repeated.
func keepAs(path string, content []byte, name string) error {
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

// listOf is what a saved list of inputs holds.
func listOf(inputs []model.JobInput) []byte {
	var b bytes.Buffer
	for _, in := range inputs {
		b.Write(rows.Input(in))
		b.WriteByte('\n')
	}
	return b.Bytes()
}
