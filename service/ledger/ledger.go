// Package ledger accounts for every dataset job that this console started or
// may have started. A trigger bills on acceptance and cannot be repeated safely
// (service.md 4.2), so everything is written before it matters: when Begin or
// Change returns, the row survives a power cut.
//
// The ledger is a SQLite file, separate from the history. Next to it is its log,
// a text file with one line for each job about to be sent and one for each
// identifier that came back. If one of the two loses something, the next Open
// restores it from the other. Each job has a checksum, and so has each line of the
// log: what is damaged is found by the next Open even if it can still be read.
//
// A Ledger is safe for concurrent use by any number of goroutines, and several
// processes may have the same ledger open. It never gets a secret.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/database"
)

// maxSteps bounds a job's history: a service that changes its mind on every
// poll must not fill the disk.
const maxSteps = 200

// requests bounds the requests that are kept: how many, newest first, and how many bytes. The newest is
// always kept.
type requests struct {
	jobs  int
	bytes int64
}

// maxNumber is the highest job number in a line of the log. A column has 32 bits,
// which leaves twenty times as many numbers for later jobs.
const maxNumber = 100_000_000

const (
	// changeColumns are what a change writes, jobColumns what scanJob reads, and sealColumns what a row's sum covers.
	changeColumns = `snapshot, profile, dataset, key, state, wire, status, detail, inputs, done, records, bytes, file, created, accepted, updated, fault, sha256, account, repeats, hook, hook_due, ` + laterColumns
	jobColumns    = "n, " + changeColumns + ", asked"
	sealColumns   = jobColumns + ", digest, owner"
	// laterColumns are not part of a row's sum while they are empty, so that the sums of earlier builds hold.
	laterColumns = "job_id, snapshot_id"
)

// ErrSettled says that a job's outcome is already known.
var ErrSettled = errors.New("the outcome of the job is already known")

// TakenError says that another job of the ledger has the identifier.
type TakenError struct{ Snapshot, Job string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s is already job %s of the ledger", e.Snapshot, e.Job)
}

// AmbiguousError says that an identifier of the service is one job's snapshot and another's job_id.
type AmbiguousError struct{ Name, Snapshot, JobID string }

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s is the snapshot of %s and the job_id of %s: name the one that you mean", e.Name, e.Snapshot, e.JobID)
}

// Ledger is an open ledger.
type Ledger struct {
	*files
	now func() time.Time
}

// files holds what a ledger keeps open. Ledgers with different clocks share it.
type files struct {
	db   *database.DB
	keep requests
	// machine names this machine where the ledger is on a server, which others have open, too.
	machine string

	waits bool // since Open, for what a living process was writing

	ownerMu sync.Mutex
	owner   *textfile.Sign // of this process, since its first job
}

// By returns the same ledger with the clock of the service whose jobs are written. An emulator's clock
// may be days ahead of the machine's. Closing l closes it too.
func (l *Ledger) By(now func() time.Time) *Ledger { return &Ledger{l.files, now} }

// Path is the ledger's file; its log is next to it.
func (l *Ledger) Path() string { return l.db.Path() }

// Frozen is the reason why the ledger can be read but not written, or nil.
func (l *Ledger) Frozen() error { return l.db.Frozen() }

// Close closes the file and gives up the sign of life.
func (l *Ledger) Close() error {
	l.releaseOwner()
	return l.db.Close()
}

// Begin writes the intent to start a job, owned by this process, and returns it
// with its ID, which is never used again. When Begin returns, the intent is on
// disk, in the ledger and in its log. digest identifies the inputs (see SameRequest).
// request is what Request returns later; nil keeps nothing. If the guard or the job's name refuses the job because of one in
// the ledger, nothing is written and the error is a *SameError; a nil guard refuses none.
func (l *Ledger) Begin(ctx context.Context, job model.Job, digest string, request []byte, guard *model.LaunchGuard) (model.Job, error) {
	const doing = "writing down the intent"
	owner, err := l.takeOwner()
	if err != nil {
		return model.Job{}, fmt.Errorf("%s: %w", doing, err)
	}
	job.State = model.JobIntent
	job.Created = l.now()
	job.Updated = job.Created
	step := model.JobStep{At: job.Created, State: job.State, Text: "written before sending"}
	var n int64
	err = l.db.Write(ctx, doing, func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, nextNumber).Scan(&n); err != nil {
			return err
		}
		if err := refuseSame(ctx, tx, job, digest, guard); err != nil {
			return err
		}
		if err := put(ctx, tx, insertJob, n, job, digest, owner, step.Text); err != nil {
			return err
		}
		return l.insertRequest(ctx, tx, n, request)
	})
	if same := (*SameError)(nil); errors.As(err, &same) {
		return model.Job{}, same // nothing failed
	}
	if err != nil {
		return model.Job{}, err
	}
	job.ID, job.Steps = jobID(n), []model.JobStep{step}
	if err := l.log(begunRecord(n, job, digest)); err != nil {
		err = fmt.Errorf("%s in %s: %w", doing, logPath(l.Path()), database.Classify(err))
		_, settled := l.Change(context.WithoutCancel(ctx), job.ID, func(job *model.Job) (string, error) {
			job.State, job.Detail = model.JobNotSent, "the ledger's log could not be written"
			return job.Detail, nil
		})
		return model.Job{}, errors.Join(err, settled)
	}
	return job, nil
}

// nextNumber takes the number of the next job.
const nextNumber = "UPDATE marks SET number = number + 1 RETURNING number"

// SkipNumbers makes new jobs get numbers after those of ids, and returns the last of these; empty if the ledger gave it
// out already, or if none of ids is a job's.
func (l *Ledger) SkipNumbers(ctx context.Context, ids []string) (last string, err error) {
	highest := int64(0)
	for _, id := range ids {
		if n, err := parseJobID(id); err == nil && n <= maxNumber {
			highest = max(highest, n)
		}
	}
	err = l.db.Write(ctx, "skipping the numbers of lost jobs", func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "UPDATE marks SET number = $1 WHERE number < $1", highest)
		if err != nil {
			return err
		}
		if n, _ := done.RowsAffected(); n == 0 { // every driver here knows it
			return nil
		}
		last = jobID(highest)
		return putSums(ctx, tx, highest, sums{row: lostJob})
	})
	return last, err
}

// Accepted writes the identifiers that the service gave a job to the log. When
// Accepted returns, they are on disk, whatever state the ledger itself is in.
func (l *Ledger) Accepted(id string, names model.JobNames) error {
	n, err := parseJobID(id)
	if err == nil {
		err = l.logAccepted(n, names, l.now())
	}
	return err
}

func (l *Ledger) logAccepted(n int64, names model.JobNames, at time.Time) error {
	if err := l.log(acceptedRecord(n, names, at)); err != nil {
		return fmt.Errorf("writing identifier %s of %s to %s: %w", names.Snapshot, jobID(n), logPath(l.Path()), database.Classify(err))
	}
	return nil
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
		switch err := tx.QueryRowContext(ctx, "SELECT n FROM jobs WHERE "+hasName+" ORDER BY n DESC LIMIT 1", snapshot).Scan(&other); {
		case err == nil:
			return "", &TakenError{Snapshot: snapshot, Job: jobID(other)}
		case !errors.Is(err, sql.ErrNoRows):
			return "", err
		}
		// Within the transaction nobody else writes. If it then fails, the next Open accepts the job
		// from the log.
		if err := l.logAccepted(n, model.JobNames{Snapshot: snapshot}, at); err != nil {
			return "", err
		}
		accept(job, logged{names: model.JobNames{Snapshot: snapshot}, at: at})
		return "snapshot " + snapshot + ", which the service answered for", nil
	})
}

func acceptedRecord(n int64, names model.JobNames, at time.Time) record {
	return record{At: at, Job: n, Event: accepted, Snapshot: names.Snapshot, JobID: names.JobID, SnapshotID: names.SnapshotID}
}

func (l *Ledger) log(records ...record) error { return appendLog(logPath(l.Path()), records...) }

func begunRecord(n int64, job model.Job, digest string) record {
	r := record{
		At: job.Created, Job: n, Event: begun, Profile: job.Profile, Dataset: job.Dataset, Key: job.KeyName,
		Inputs: job.Inputs, Digest: digest,
	}
	if job.Request != nil && job.Request.Once != "" {
		r.Asked = job.Request
	}
	return r
}

// Adopt adds a job that only the service knows, as accepted, with the service's
// identifier. If a job of the ledger has the identifier, Adopt returns that job
// unchanged.
func (l *Ledger) Adopt(ctx context.Context, job model.Job) (model.Job, error) {
	doing := "adopting " + job.Snapshot
	owner, err := l.takeOwner() // whose lines in the log another process does not write
	if err != nil {
		return model.Job{}, fmt.Errorf("%s: %w", doing, err)
	}
	job.State = model.JobAccepted
	job.Created = l.now()
	job.Updated = job.Created
	var n int64
	fresh := false
	err = l.db.Write(ctx, doing, func(ctx context.Context, tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT n FROM jobs WHERE "+hasName+" ORDER BY n DESC LIMIT 1", job.Snapshot).Scan(&n)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := tx.QueryRowContext(ctx, nextNumber).Scan(&n); err != nil {
			return err
		}
		fresh = true
		return put(ctx, tx, insertJob, n, job, "", owner, "adopted by its identifier; this ledger did not start it")
	})
	if err != nil {
		return model.Job{}, err
	}
	adopted, err := l.Job(context.WithoutCancel(ctx), jobID(n))
	if err == nil && fresh {
		err = l.log(begunRecord(n, job, ""), acceptedRecord(n, job.Names(), job.Created))
	}
	return adopted, err
}

// Change reads a job, lets change alter it and writes it back, in one
// transaction that is on disk when Change returns. It adds a step if the state
// changed or change returns a text for one. change sees the job as it is now,
// which may be news to the caller: another process may watch it too.
// If change returns an error, nothing is written and Change returns it.
func (l *Ledger) Change(ctx context.Context, id string, change func(*model.Job) (step string, err error)) (model.Job, error) {
	return l.changeIn(ctx, id, func(_ context.Context, _ *sql.Tx, _ int64, job *model.Job) (string, error) { return change(job) })
}

// changeIn is Change for a change that also reads other rows.
func (l *Ledger) changeIn(ctx context.Context, id string, change func(ctx context.Context, tx *sql.Tx, n int64, job *model.Job) (step string, err error)) (model.Job, error) {
	n, err := parseJobID(id)
	if err != nil {
		return model.Job{}, err
	}
	var job model.Job
	err = l.db.Write(ctx, "writing job "+id+" to the ledger", func(ctx context.Context, tx *sql.Tx) error {
		var err error
		job, err = scanJob(tx.QueryRowContext(ctx, "SELECT "+jobColumns+" FROM jobs WHERE n = $1", n))
		if err != nil {
			return err
		}
		before := job.State
		job = l.here(job)
		step, err := change(ctx, tx, n, &job)
		if err != nil {
			return err
		}
		job.ID = id
		job.Updated = l.after(job.Updated)
		var steps []string
		if job.State != before || step != "" {
			steps = []string{step}
		}
		if job.ResultHere() {
			job.Rows.Machine = l.machine
		}
		if err := put(ctx, tx, changeJob, n, job, "", "", steps...); err != nil {
			return err
		}
		job, err = withSteps(ctx, tx, l.here(job))
		return err
	})
	if err != nil {
		return model.Job{}, err
	}
	return job, nil
}

const (
	insertJob  = "INSERT INTO jobs (" + sealColumns + ") VALUES "
	changeJob  = "UPDATE jobs SET (" + changeColumns + ") = "
	restoreJob = "UPDATE jobs SET (" + changeColumns + ", asked, digest, owner) = "
)

// put writes a job's row by one of the statements, and steps that it takes now, and seals both. A change leaves digest,
// owner and what the job asked for as they are, because a later build may have written more there.
func put(ctx context.Context, tx *sql.Tx, statement string, n int64, job model.Job, digest, owner string, steps ...string) error {
	values := []any{
		n, job.Snapshot, job.Profile, job.Dataset, job.KeyName, string(job.State), job.Wire, job.Status, job.Detail, job.Inputs,
		job.Done, job.Records, job.Bytes, job.File, database.Micros(job.Created), database.Micros(job.Accepted),
		database.Micros(job.Updated), asJSON(&job.Fault), job.SHA256, asJSON(&job.Rows), job.Repeats,
		job.WebhookToken, database.Micros(job.WebhookDue), job.JobID, job.SnapshotID, asJSON(&job.Request), digest, owner,
	}
	switch statement {
	case insertJob:
		statement += database.Places(1, len(values))
	case changeJob:
		values = values[:strings.Count(changeColumns, ",")+2]
		fallthrough
	default:
		statement += database.Places(2, len(values)) + " WHERE n = $1"
	}
	if _, err := tx.ExecContext(ctx, statement, values...); err != nil {
		return err
	}
	for _, text := range steps {
		if err := insertStep(ctx, tx, n, model.JobStep{At: job.Updated, State: job.State, Text: text}); err != nil {
			return err
		}
	}
	return seal(ctx, tx, n)
}

func (l *Ledger) insertRequest(ctx context.Context, tx *sql.Tx, n int64, request []byte) error {
	if len(request) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO job_requests (job, request) VALUES ($1, $2)", n, request); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM job_requests WHERE job < $1 AND job IN (SELECT job FROM (
		SELECT job, SUM(length(request)) OVER newest AS bytes, ROW_NUMBER() OVER newest AS jobs FROM job_requests WINDOW newest AS (ORDER BY job DESC)
	) AS kept WHERE bytes > $2 OR jobs > $3)`, n, l.keep.bytes, l.keep.jobs)
	return err
}

// ReplaceRequest changes the request of a job from was to now. If it is no longer was, it stays.
func (l *Ledger) ReplaceRequest(ctx context.Context, id string, was, now []byte) error {
	n, err := parseJobID(id)
	if err != nil {
		return err
	}
	return l.db.Write(ctx, "changing what job "+id+" asked for", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE job_requests SET request = $1 WHERE job = $2 AND request = $3", now, n, was)
		return err
	})
}

func insertStep(ctx context.Context, tx *sql.Tx, n int64, s model.JobStep) error {
	var seq int
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM job_steps WHERE job = $1", n).Scan(&seq); err != nil {
		return err
	}
	if seq >= maxSteps {
		return nil
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO job_steps (job, seq, at, state, text) VALUES ($1, $2, $3, $4, $5)",
		n, seq+1, database.Micros(s.At), string(s.State), s.Text)
	return err
}

// jobID is the console's identifier of a job, short enough to type.
func jobID(n int64) string { return "job-" + strconv.FormatInt(n, 10) }

func parseJobID(id string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(id, "job-"), 10, 32) // the column has 32 bits
	if err != nil || n <= 0 || jobID(n) != id {
		return 0, fmt.Errorf("job %q: %w", id, database.ErrNotFound)
	}
	return n, nil
}
