package journal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// A process that begins a job holds a lock on a file of its own for as long as
// it lives; the operating system drops the lock when the process ends, however
// it ends. That is its sign of life: unlike a process number it cannot be taken
// over by somebody else.

func (j *Journal) ownersDir() string { return j.path + ".owners" }

// takeOwner is this journal's name as an owner of jobs; the first call takes
// the lock.
func (j *Journal) takeOwner() (string, error) {
	j.ownerMu.Lock()
	defer j.ownerMu.Unlock()
	if j.owner != nil {
		return j.token, nil
	}
	if err := os.MkdirAll(j.ownersDir(), 0o700); err != nil {
		return "", classify(err)
	}
	token := rand.Text()
	lock := flock.New(filepath.Join(j.ownersDir(), token), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return "", classify(err)
	}
	if !held {
		return "", fmt.Errorf("%w: its sign of life is taken", ErrLocked)
	}
	j.owner, j.token = lock, token
	return token, nil
}

// releaseOwner gives the sign of life up. Jobs that are still in sending belong
// to nobody then, which is right: whoever waited for them has ended.
func (j *Journal) releaseOwner() {
	j.ownerMu.Lock()
	defer j.ownerMu.Unlock()
	if j.owner == nil {
		return
	}
	_ = os.Remove(j.owner.Path())
	_ = j.owner.Close()
	j.owner = nil
}

// ownerAlive reports whether the process that owns a job is alive. When that
// cannot be found out it is taken to be: a job is never settled on a guess.
func (j *Journal) ownerAlive(token string) bool {
	if token == "" || filepath.Base(token) != token {
		return false
	}
	path := filepath.Join(j.ownersDir(), token)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false
	}
	lock := flock.New(path)
	defer func() { _ = lock.Close() }()
	held, err := lock.TryLock()
	return err != nil || !held
}

// forgetOwner removes the file of a dead owner whose jobs are settled. Tokens
// are never used twice, so nobody else can have taken it.
func (j *Journal) forgetOwner(token string) {
	if token != "" && filepath.Base(token) == token {
		_ = os.Remove(filepath.Join(j.ownersDir(), token))
	}
}
