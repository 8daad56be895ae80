package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"zonedeck/model"
)

// ErrSettled says that a job's outcome is already known.
var ErrSettled = errors.New("the outcome of the job is already known")

// TakenError says that another job of the ledger has the identifier.
type TakenError struct{ Snapshot, Job string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s is already job %s of the ledger", e.Snapshot, e.Job)
}

// Claim gives a job that may have started its identifier at the service, and makes the job accepted.
// When Claim returns, the identifier is in the log and in the ledger. If another job of the ledger has
// it, the error is a *TakenError; for a job in another state it is ErrSettled.
func (l *Ledger) Claim(ctx context.Context, id, snapshot string) (model.Job, error) {
	at := l.now()
	return l.changeIn(ctx, id, func(ctx context.Context, tx *sql.Tx, n int64, job *model.Job) (string, error) {
		if job.State != model.JobMayHave || job.Snapshot != "" {
			return "", ErrSettled
		}
		var other int64
		switch err := tx.QueryRowContext(ctx, "SELECT n FROM jobs WHERE snapshot = $1 ORDER BY n DESC LIMIT 1", snapshot).Scan(&other); {
		case err == nil:
			return "", &TakenError{Snapshot: snapshot, Job: jobID(other)}
		case !errors.Is(err, sql.ErrNoRows):
			return "", err
		}
		// Within the transaction nobody else writes. If it then fails, the next Open accepts the job
		// from the log.
		if err := l.logAccepted(n, snapshot, at); err != nil {
			return "", err
		}
		accept(job, logged{snapshot: snapshot, at: at})
		return "snapshot " + snapshot + ", which the service answered for", nil
	})
}
