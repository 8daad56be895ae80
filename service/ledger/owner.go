package ledger

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"zonedeck/keystore/textfile"
	"zonedeck/service/database"
)

// A process that begins a job gives a sign of life first.

func (l *Ledger) ownersDir() string { return l.Path() + ".owners" }

// takeOwner returns this ledger's name as an owner of jobs, after giving a sign of life.
func (l *Ledger) takeOwner() (string, error) {
	l.ownerMu.Lock()
	defer l.ownerMu.Unlock()
	if l.owner == nil {
		sign, err := textfile.NewSign(l.ownersDir())
		if err != nil {
			return "", database.Classify(err)
		}
		l.owner = sign
	}
	return l.owner.Name(), nil
}

// releaseOwner gives up the sign of life. Jobs still in sending then have no live
// owner, which is right: the process that waited for them ends.
func (l *Ledger) releaseOwner() {
	l.ownerMu.Lock()
	defer l.ownerMu.Unlock()
	if l.owner != nil {
		l.owner.Release()
		l.owner = nil
	}
}

// ownerAlive reports whether the process that owns a job is alive. In doubt it is: a job is never
// settled on a guess.
func (l *Ledger) ownerAlive(token string) bool { return textfile.Alive(l.ownersDir(), token) }

// anyAlive reports whether a process that may be adding a line to the log is alive.
func (l *Ledger) anyAlive() bool {
	signs, err := os.ReadDir(l.ownersDir())
	return err != nil && !errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(signs, func(s fs.DirEntry) bool { return l.ownerAlive(s.Name()) })
}
