package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"zonedeck/model"
	"zonedeck/service/database"
)

// SameError says that a job was not begun because another job makes the same request or, if Once is set, has that name.
type SameError struct {
	Job   string
	State model.JobState
	Once  string
}

func (e *SameError) Error() string {
	if e.Once != "" {
		return fmt.Sprintf("%s (%s) was launched under the same name", e.Job, e.State.Label())
	}
	return fmt.Sprintf("the same was launched as %s (%s) in the meantime", e.Job, e.State.Label())
}

// Once finds the job of a profile that was launched under a name, with its steps. If there is none, or it was not sent or was
// refused, so that the name is free, the error wraps database.ErrNotFound.
func (l *Ledger) Once(ctx context.Context, profile, name string) (model.Job, error) {
	job, err := named(ctx, l.db, profile, name)
	if err != nil {
		return model.Job{}, l.db.Fault("looking for the job of a name", err)
	}
	return l.Job(ctx, job.ID)
}

// named is the newest job that has a name.
func named(ctx context.Context, q database.Queryer, profile, name string) (out model.Job, err error) {
	err = database.Each(ctx, q, "SELECT "+jobColumns+` FROM jobs WHERE profile = $1 AND asked LIKE '%"once":%' AND state NOT IN ('not_sent', 'refused') ORDER BY n`,
		[]any{profile}, func(row database.Scanner) error {
			job, err := scanJob(row) // a damaged one may have the name
			if err == nil && job.Request != nil && job.Request.Once == name {
				out = job
			}
			return err
		})
	if err == nil && out.ID == "" {
		err = fmt.Errorf("a job named %s: %w", name, database.ErrNotFound)
	}
	return out, err
}

// refuseSame returns a *SameError if the guard of a new job, or its name, refuses it because of a job in the ledger.
func refuseSame(ctx context.Context, tx *sql.Tx, job model.Job, digest string, guard *model.LaunchGuard) error {
	if job.Request != nil && job.Request.Once != "" {
		named, err := named(ctx, tx, job.Profile, job.Request.Once)
		if err == nil {
			return &SameError{named.ID, named.State, job.Request.Once}
		}
		if !errors.Is(err, database.ErrNotFound) {
			return err
		}
	}
	if guard == nil {
		return nil
	}
	return database.Each(ctx, tx, "SELECT n, state FROM jobs WHERE "+sameJobs+" ORDER BY n DESC",
		[]any{digest, database.Micros(job.Created.Add(-guard.Within)), job.Repeats}, func(row database.Scanner) error {
			var n int64
			var state model.JobState
			if err := row.Scan(&n, &state); err != nil {
				return err
			}
			if id := jobID(n); !slices.Contains(guard.Known, id) {
				return &SameError{Job: id, State: state}
			}
			return nil
		})
}
