package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"zonedeck/model"
	"zonedeck/service/database"
)

// SameError says that a job was not begun because another job makes the same request.
type SameError struct {
	Job   string
	State model.JobState
}

func (e *SameError) Error() string {
	return fmt.Sprintf("the same was launched as %s (%s) in the meantime", e.Job, e.State.Label())
}

// refuseSame returns a *SameError if the guard of a new job refuses it because of a job in the ledger.
func refuseSame(ctx context.Context, tx *sql.Tx, job model.Job, digest string, guard *model.LaunchGuard) error {
	if guard == nil {
		return nil
	}
	var same *SameError
	err := database.Each(ctx, tx, "SELECT n, state FROM jobs WHERE "+sameJobs+" ORDER BY n",
		[]any{digest, database.Micros(job.Created.Add(-guard.Within)), job.Repeats}, func(row database.Scanner) error {
			var n int64
			var state model.JobState
			if err := row.Scan(&n, &state); err != nil {
				return err
			}
			if id := jobID(n); !slices.Contains(guard.Known, id) {
				same = &SameError{Job: id, State: state}
			}
			return nil
		})
	if err == nil && same != nil {
		return same
	}
	return err
}
