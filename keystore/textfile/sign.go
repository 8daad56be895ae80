package textfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Sign is a process's sign of life: a file that it holds locked. The system drops the lock when
// the process ends, however it ends; unlike a process number, the name never passes to another
// one.
type Sign struct{ lock *flock.Flock }

// NewSign gives a sign of life in a folder, which it makes, and removes those of the dead.
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
		// Another process took it for a dead one's: it was not locked yet.
	}
}

// Name is the sign's name in its folder.
func (s *Sign) Name() string { return filepath.Base(s.lock.Path()) }

// Release gives the sign up.
func (s *Sign) Release() {
	_ = s.lock.Close() // first: an open file cannot be removed everywhere
	_ = os.Remove(s.lock.Path())
}

// Alive reports whether the process of a sign is alive. In doubt it is. A dead one's sign is
// removed.
func Alive(dir, name string) bool {
	if filepath.Base(name) != name { // an empty one's is a dot
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
