package ledger

import (
	"context"
	"errors"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// Recover settles the jobs of processes that died in the middle of a trigger: an
// intent was certainly not sent, a job with its identifier in the log was
// accepted, and any other job in sending may have started (it is never sent
// again). Recover leaves jobs of live processes alone. It returns the jobs it changed.
func (l *Ledger) Recover(ctx context.Context) ([]model.Job, error) {
	const doing = "settling what a dead process left behind"
	if frozen := l.Frozen(); frozen != nil {
		return nil, nil //nolint:nilerr // a ledger that cannot be written settles nothing, and the console has said so
	}
	var dead []int64 // jobs whose owners are
	err := database.Each(ctx, l.db, "SELECT n, owner FROM jobs WHERE state IN ('intent', 'sending') ORDER BY n", nil, func(row database.Scanner) error {
		var n int64
		var owner string
		err := row.Scan(&n, &owner)
		if !l.ownerAlive(owner) {
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
			if e := entries[n]; e.snapshot != "" && job.State == model.JobSending {
				accept(job, e)
				return acceptedText(e), nil
			}
			return settle(job, l.now())
		})
		if errors.Is(err, ErrSettled) {
			continue // another process was quicker
		}
		if err != nil {
			return settled, err
		}
		settled = append(settled, job)
	}
	return settled, nil
}

func settle(job *model.Job, now time.Time) (string, error) {
	switch job.State {
	case model.JobIntent:
		job.State = model.JobNotSent
		job.Detail = "the console ended before anything was sent"
	case model.JobSending:
		job.State = model.JobMayHave
		job.Detail = "the console ended while the request was on its way; it is not sent again by itself"
		job.Fault = model.TriggerUnseen(now)
	default:
		return "", ErrSettled
	}
	return job.Detail, nil
}
