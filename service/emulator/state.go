package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// ErrStateInUse means that another process owns the state folder.
var ErrStateInUse = errors.New("the state folder is in use by another emulator")

// state is the folder that one emulator owns: lock, account.json, ca.pem, ca.key,
// jobs. With no folder given it is a temporary one that goes with the server.
type state struct {
	dir   string
	temp  bool
	lock  *flock.Flock
	now   func() time.Time
	notes []string
}

func openState(dir string, now func() time.Time) (*state, error) {
	s := &state{dir: dir, now: now}
	if dir == "" {
		t, err := os.MkdirTemp("", "zonedeck-emulator-")
		if err != nil {
			return nil, fmt.Errorf("making a temporary state folder: %w", err)
		}
		s.dir, s.temp = t, true
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
		return nil, fmt.Errorf("%w: %s", ErrStateInUse, dir)
	}
	return s, nil
}

func (s *state) close() error {
	if s.temp {
		return os.RemoveAll(s.dir)
	}
	return s.lock.Unlock()
}

func (s *state) path(name string) string { return filepath.Join(s.dir, name) }

// read decodes a JSON file of the folder. A missing file leaves v alone; one that
// does not decode is kept aside under a new name, and a note says so.
func (s *state) read(name string, v any) error {
	b, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return s.putAside(name, err)
	}
	return nil
}

func (s *state) putAside(name string, why error) error {
	aside := fmt.Sprintf("%s.corrupt-%s", name, s.now().UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(s.path(name), s.path(aside)); err != nil {
		return fmt.Errorf("putting %s aside: %w", name, err)
	}
	s.notes = append(s.notes, fmt.Sprintf("%s could not be read (%v); it is kept as %s and a new one begins", name, why, aside))
	return nil
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", filepath.Base(path), err)
	}
	return writeFile(path, append(b, '\n'))
}

// writeFile replaces a file as one step that survives a crash: temporary file in the
// same folder, fsync, rename, fsync of the folder.
func writeFile(path string, b []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600
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
	return syncDir(dir)
}

// syncDir makes a rename durable. Windows has no such call and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
