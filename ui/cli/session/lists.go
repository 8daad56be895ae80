package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/rows"
)

// ListPrefix marks the name of a saved list where a file can be named.
const ListPrefix = "list:"

// KeepRejects keeps the rows that cannot be used, as they stood in their source: in path or, for
// "", in a new file of the downloads folder. It gives the file's name. A file that is there
// already is not touched.
func (s *Session) KeepRejects(path string, in rows.Inputs) (string, error) {
	if path != "" {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "", err
		}
		if err := f.Close(); err != nil {
			return "", err
		}
		return path, textfile.Write(path, in.Rejected)
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
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := f.Close(); err != nil {
			return "", err
		}
		return path, textfile.Write(path, in.Rejected)
	}
}

// SaveList keeps inputs as a saved list, in place of one of that name.
func (s *Session) SaveList(name string, inputs []model.JobInput) error {
	path, err := s.Paths.ListFile(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Paths.ListsDir(), 0o700); err != nil {
		return err
	}
	var b bytes.Buffer
	for _, in := range inputs {
		b.Write(rows.Input(in))
		b.WriteByte('\n')
	}
	return textfile.Write(path, b.Bytes())
}
