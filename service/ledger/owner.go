package ledger

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"zonedeck/service/database"
)

// A process that begins a job holds a lock on a file of its own, its sign of
// life. The operating system drops the lock when the process ends, however it
// ends. Unlike a process number, the file cannot pass to another process.

func (l *Ledger) ownersDir() string { return l.Path() + ".owners" }

// takeOwner is this ledger's name as an owner of jobs; the first call takes
// the lock.
func (l *Ledger) takeOwner() (string, error) {
	l.ownerMu.Lock()
	defer l.ownerMu.Unlock()
	if l.owner != nil {
		return l.token, nil
	}
	if err := os.MkdirAll(l.ownersDir(), 0o700); err != nil {
		return "", database.Classify(err)
	}
	token := rand.Text()
	lock := flock.New(filepath.Join(l.ownersDir(), token), flock.SetPermissions(0o600))
	if _, err := lock.TryLock(); err != nil { // the name is new, so nobody else holds it
		return "", database.Classify(err)
	}
	l.owner, l.token = lock, token
	return token, nil
}

// releaseOwner gives up the sign of life. Jobs that are still in sending then have
// no owner, which is right: the process that waited for them ends.
func (l *Ledger) releaseOwner() {
	l.ownerMu.Lock()
	defer l.ownerMu.Unlock()
	if l.owner == nil {
		return
	}
	_ = l.owner.Close() // first: an open file cannot be removed everywhere
	_ = os.Remove(l.owner.Path())
	l.owner = nil
}

// ownerAlive reports whether the process that owns a job is alive. In doubt it is:
// a job is never settled on a guess.
func (l *Ledger) ownerAlive(token string) bool {
	if filepath.Base(token) != token { // an empty one's is a dot
		return false
	}
	path := filepath.Join(l.ownersDir(), token)
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
func (l *Ledger) forgetOwner(token string) {
	if filepath.Base(token) == token {
		_ = os.Remove(filepath.Join(l.ownersDir(), token))
	}
}
