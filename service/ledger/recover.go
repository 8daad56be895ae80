package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/database"
)

// Recover settles the jobs of processes that died in the middle of a trigger: an
// intent was certainly not sent, a job with its identifier in the log was
// accepted, and any other job in sending may have started (it is never sent
// again). Recover leaves jobs of live processes alone. It returns the jobs it changed.
func (l *Ledger) Recover(ctx context.Context) ([]model.Job, error) {
	const doing = "settling what a dead process left behind"
	if l.Frozen() != nil {
		return nil, nil //nolint:nilerr // a ledger that cannot be written settles nothing, and the console has said so
	}
	var dead []int64 // jobs whose owners are
	err := database.Each(ctx, l.db, "SELECT n, owner, updated FROM jobs WHERE state IN ('intent', 'sending') ORDER BY n", nil, func(row database.Scanner) error {
		var n int64
		var owner string
		var updated time.Time
		err := row.Scan(&n, &owner, database.Time(&updated))
		if errors.Is(err, database.ErrCorrupt) {
			err = nil // of the time: it is long ago
		}
		if err == nil && !l.ownerAlive(owner, updated) {
			dead = append(dead, n)
		}
		return err
	})
	if err == nil && len(dead) == 0 {
		return nil, nil
	}
	var entries map[int64]logged
	if err == nil {
		entries, _, err = readLog(logPath(l.Path())) // dead processes write no more, so it is complete for them
	}
	if err != nil {
		return nil, l.db.Fault(doing, err)
	}
	var settled []model.Job
	for _, n := range dead {
		job, err := l.Change(ctx, jobID(n), func(job *model.Job) (string, error) {
			switch e := entries[n]; {
			case job.State == model.JobSending && e.names.Snapshot != "":
				accept(job, e)
				return acceptedText(e), nil
			case job.State == model.JobSending:
				job.State, job.Fault = model.JobMayHave, model.TriggerUnseen(l.now())
				job.Detail = "the console ended while the request was on its way; it is not sent again by itself"
			case job.State == model.JobIntent:
				job.State, job.Detail = model.JobNotSent, "the console ended before anything was sent"
			default: // another process was quicker
				return "", ErrSettled
			}
			return job.Detail, nil
		})
		if errors.Is(err, ErrSettled) {
			continue
		}
		if err != nil {
			return settled, err
		}
		settled = append(settled, job)
	}
	return settled, nil
}

// ownersDir has the signs of life: a process that begins a job gives one first.
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
	return path.Join(l.machine, l.owner.Name()), nil
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

// abroad is how long after its last change a job may be on its way from another machine: longer than any call lasts. Only
// that machine sees which of its processes are alive.
const abroad = 15 * time.Minute

// ownerAlive reports whether the process that owns a job, last changed at a time, is alive. In doubt it is: a job is never
// settled on a guess.
func (l *Ledger) ownerAlive(owner string, changed time.Time) bool {
	if !l.ofThisMachine(owner) {
		return l.now().Before(changed.Add(abroad))
	}
	return textfile.Alive(l.ownersDir(), owner[strings.LastIndexByte(owner, '/')+1:])
}

// ofThisMachine reports whether the owner of a job is a process of this machine, whose log has the job.
func (l *Ledger) ofThisMachine(owner string) bool {
	return owner[:max(0, strings.LastIndexByte(owner, '/'))] == l.machine
}

// anyAlive reports whether a process that may be adding a line to the log is alive.
func (l *Ledger) anyAlive() bool {
	signs, err := os.ReadDir(l.ownersDir())
	return err != nil && !errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(signs, func(s fs.DirEntry) bool { return textfile.Alive(l.ownersDir(), s.Name()) })
}
