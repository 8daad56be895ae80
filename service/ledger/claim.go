package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/database"
)

// ErrSettled says that what became of a job is known already.
var ErrSettled = errors.New("it is known what became of the job")

// TakenError says that another job of the ledger has the identifier.
type TakenError struct{ Snapshot, Job string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s is job %s of the ledger already", e.Snapshot, e.Job)
}

// Claim gives a job that may have started the identifier by which the service knows it, and the job
// becomes accepted. The identifier is in the log and in the ledger when Claim returns. If another job
// of the ledger has it, the error is a *TakenError; for a job in another state it is ErrSettled.
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
		// Within the transaction, because nobody else writes now; and a job that only the log knows is
		// accepted at the next Open.
		if err := l.log(record{At: at, Job: n, Event: accepted, Snapshot: snapshot}); err != nil {
			return "", fmt.Errorf("writing identifier %s of %s to %s: %w", snapshot, id, logPath(l.Path()), database.Classify(err))
		}
		accept(job, logged{snapshot: snapshot, at: at})
		return "snapshot " + snapshot + ", which the service answered for", nil
	})
}
