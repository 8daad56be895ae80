package journal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// A process that begins a job holds a lock on a file of its own, its sign of
// life. The operating system drops the lock when the process ends, however it
// ends. Unlike a process number, the file cannot pass to another process.

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

// releaseOwner gives up the sign of life. Jobs that are still in sending then have
// no owner, which is right: the process that waited for them ends.
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

// ownerAlive reports whether the process that owns a job is alive. In doubt it is:
// a job is never settled on a guess.
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
// are never used twice, so the file cannot belong to a living one.
func (j *Journal) forgetOwner(token string) {
	if token != "" && filepath.Base(token) == token {
		_ = os.Remove(filepath.Join(j.ownersDir(), token))
	}
}
