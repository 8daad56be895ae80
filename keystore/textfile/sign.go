package textfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Sign is a process's sign of life: a file that it keeps locked. The system drops the lock when
// the process ends, however it ends. Unlike a process number, the name is never used again.
type Sign struct{ lock *flock.Flock }

// NewSign makes a sign of life in a folder, which it creates if necessary. It removes the signs of
// dead processes.
func NewSign(dir string) (*Sign, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("giving a sign of life: %w", err)
	}
	signs, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("giving a sign of life: %w", err)
	}
	for _, s := range signs {
		Alive(dir, s.Name())
	}
	for {
		lock := flock.New(filepath.Join(dir, rand.Text()), flock.SetPermissions(0o600))
		held, err := lock.TryLock()
		if err == nil && held {
			_, err = os.Stat(lock.Path())
		}
		if held && err == nil {
			return &Sign{lock}, nil
		}
		_ = lock.Close()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("giving a sign of life: %w", err)
		}
		// Another process removed the file before it was locked: it looked like a dead one's.
	}
}

// Name is the sign's name in its folder.
func (s *Sign) Name() string { return filepath.Base(s.lock.Path()) }

// Release removes the sign.
func (s *Sign) Release() {
	_ = s.lock.Close() // first: some systems cannot remove an open file
	_ = os.Remove(s.lock.Path())
}

// Alive reports whether the process of a sign is alive; in doubt it says yes. It removes the sign
// of a dead process.
func Alive(dir, name string) bool {
	if filepath.Base(name) != name { // true for "", too: its base is "."
		return false
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false
	}
	lock := flock.New(path)
	defer func() { _ = lock.Close() }()
	held, err := lock.TryLock()
	if err != nil || !held {
		return true
	}
	_ = os.Remove(path)
	return false
}
