// Package state is the folder that one emulator owns, and files that are replaced as a
// whole. The account, the certificate authority and the jobs keep what they know in it.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrInUse means that another process owns the state folder.
var ErrInUse = errors.New("the state folder is in use by another emulator")

// Dir is the folder that one emulator owns: lock, account.json, ca.pem, ca.key,
// jobs. With no folder given it is a temporary one that goes with the server.
type Dir struct {
	dir   string
	temp  *Temp // nil for a folder that was given
	lock  *flock.Flock
	now   func() time.Time
	notes []string
}

// Open makes or takes the folder, and clears it of files that a killed process had half
// written; empty is a temporary one. The error is [ErrInUse] when
// another process owns it.
func Open(dir string, now func() time.Time) (*Dir, error) {
	s := &Dir{dir: dir, now: now}
	if dir == "" {
		t, err := NewTemp("zonedeck-emulator-")
		if err != nil {
			return nil, err
		}
		s.dir, s.temp = t.Path, t
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w", err)
	}
	s.lock = flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	ok, err := s.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the state folder: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	if err := RemoveHalfWritten(dir); err != nil {
		return nil, errors.Join(err, s.lock.Unlock())
	}
	s.probe()
	return s, nil
}

// probe notes that nothing can be written, which would be seen at the first change only.
// What is there can still be read and served.
func (s *Dir) probe() {
	f, err := os.CreateTemp(s.dir, HalfWritten+"probe-*")
	if err != nil {
		s.Note(fmt.Sprintf("the state folder cannot be written, and what is changed is refused or lost: %v", err))
		return
	}
	_ = errors.Join(f.Close(), os.Remove(f.Name())) // it was possible, or goes at the next start
}

// Close gives the folder back; a temporary one is removed.
func (s *Dir) Close() error {
	if s.temp != nil {
		return s.temp.Remove()
	}
	return s.lock.Unlock()
}

// Note adds what the operator should know of what was found in the folder.
func (s *Dir) Note(text string) { s.notes = append(s.notes, text) }

// Notes are what was found broken and put aside.
func (s *Dir) Notes() []string { return s.notes }

// Path is where a file of the folder lies.
func (s *Dir) Path(name string) string { return filepath.Join(s.dir, name) }

// Read decodes a JSON file of the folder into what v points to. A missing file leaves it
// alone; one that does not decode is kept aside under a new name, a note says so, and
// nothing of it is left in v.
func (s *Dir) Read(name string, v any) error {
	b, err := os.ReadFile(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		if _, own := v.(json.Unmarshaler); !own {
			// After a field of the wrong kind json goes on with the others.
			reflect.ValueOf(v).Elem().SetZero()
		}
		return s.PutAside(name, err)
	}
	return nil
}

// PutAside keeps a file that could not be read under a new name, and notes why.
func (s *Dir) PutAside(name string, why error) error {
	aside := fmt.Sprintf("%s.corrupt-%s", name, s.now().UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(s.Path(name), s.Path(aside)); err != nil {
		return fmt.Errorf("putting %s aside: %w", name, err)
	}
	s.notes = append(s.notes, fmt.Sprintf("%s could not be read (%v); it is kept as %s and a new one begins", name, why, aside))
	return nil
}

// WriteJSON replaces a file of the folder by v, encoded.
func WriteJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", filepath.Base(path), err)
	}
	return WriteFile(path, append(b, '\n'))
}

// WriteFile replaces a file as one step that survives a crash: temporary file in the
// same folder, fsync, rename, fsync of the folder.
func WriteFile(path string, b []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, HalfWritten+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = os.Remove(f.Name()) // the error that counts is already on its way
			err = fmt.Errorf("writing %s: %w", filepath.Base(path), err)
		}
	}()
	if _, err = f.Write(b); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// HalfWritten is what the name of a file begins with until it is whole.
const HalfWritten = ".new-"

// RemoveHalfWritten takes the files from a folder that a killed process had not written
// to their end: nobody reads them, and they can hold secrets. The folder's owner calls it
// before its first write.
func RemoveHalfWritten(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking for half written files: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), HalfWritten) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("removing a half written file: %w", err)
		}
	}
	return nil
}

// SyncDir makes a rename durable. Windows has no such call and needs none.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
