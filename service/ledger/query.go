package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// Job finds a job, with its steps, by the console's identifier or else by one of the
// service's. If that is one job's snapshot and another's job_id, the error is an *AmbiguousError.
func (l *Ledger) Job(ctx context.Context, id string) (model.Job, error) {
	if n, err := parseJobID(id); err == nil {
		return l.newest(ctx, id, "n = $1", n)
	}
	job, err := l.OfSnapshot(ctx, id)
	if other, oerr := l.newest(ctx, id, "job_id = $1", id); err == nil && oerr == nil && other.ID != job.ID {
		return model.Job{}, &AmbiguousError{Name: id, Snapshot: job.ID, JobID: other.ID}
	}
	return job, err
}

// Named asks the newest jobs for database.Names.
const Named = "SELECT 'job-' || n, dataset || ', ' || state FROM jobs ORDER BY n DESC LIMIT 200"

// hasName is the condition that a job has an identifier of the service.
const hasName = "(snapshot = $1 OR snapshot_id = $1 OR job_id = $1)"

// OfSnapshot finds the newest job with the service's identifier id, with its steps: of its snapshot or, where there is
// none, what it called job_id.
func (l *Ledger) OfSnapshot(ctx context.Context, id string) (model.Job, error) {
	job, err := l.newest(ctx, id, "(snapshot = $1 OR snapshot_id = $1) AND job_id <> $1", id)
	if errors.Is(err, database.ErrNotFound) {
		job, err = l.newest(ctx, id, "job_id = $1", id)
	}
	return job, err
}

// JobOfToken finds the newest job whose webhook goes to the address with that token. If there is none, the
// error wraps database.ErrNotFound.
func (l *Ledger) JobOfToken(ctx context.Context, token string) (model.Job, error) {
	return l.newest(ctx, "of a webhook", "hook = $1", token)
}

// newest finds the newest job for which a condition on a value holds, with its steps. id is what errors call it.
func (l *Ledger) newest(ctx context.Context, id, condition string, value any) (model.Job, error) {
	job, err := model.Job{}, database.ErrNotFound
	if value != "" {
		job, err = scanJob(l.db.QueryRowContext(ctx, "SELECT "+jobColumns+" FROM jobs WHERE "+condition+" ORDER BY n DESC LIMIT 1", value))
	}
	if errors.Is(err, database.ErrNotFound) {
		return model.Job{}, fmt.Errorf("job %s: %w", id, err)
	}
	if err == nil {
		job, err = withSteps(ctx, l.db, l.here(job))
	}
	if err != nil {
		return model.Job{}, l.db.Fault("reading job "+id, err)
	}
	return job, nil
}

// Request returns the request that Begin got with a job. If it is not kept, the error wraps
// database.ErrNotFound: for jobs that were adopted, restored, or begun before requests were kept,
// and beyond the newest 5,000 requests or 256 MiB of them.
func (l *Ledger) Request(ctx context.Context, id string) ([]byte, error) {
	n, err := parseJobID(id)
	if err != nil {
		return nil, err
	}
	var request []byte
	err = l.db.QueryRowContext(ctx, "SELECT request FROM job_requests WHERE job = $1", n).Scan(&request)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("what job %s asked for: %w", id, database.ErrNotFound)
	}
	return request, l.db.Fault("reading what job "+id+" asked for", err)
}

// EachRequest calls take with the request of each job that has one, newest first, until take returns an error.
func (l *Ledger) EachRequest(ctx context.Context, take func(id string, state model.JobState, request []byte) error) error {
	err := database.Each(ctx, l.db, "SELECT n, state, request FROM job_requests JOIN jobs ON n = job ORDER BY n DESC", nil, func(row database.Scanner) error {
		var n int64
		var state model.JobState
		var request []byte
		if err := row.Scan(&n, &state, &request); err != nil {
			return err
		}
		return take(jobID(n), state, request)
	})
	return l.db.Fault("reading what jobs asked for", err)
}

// EachBegun calls take with the jobs of a profile and a data set, begun since a time, that may have cost
// something, newest first and without their steps. digest identifies a job's inputs; request is nil if it
// is not kept. A damaged row is included as far as it can be read.
func (l *Ledger) EachBegun(ctx context.Context, profile, dataset string, since time.Time, take func(job model.Job, digest string, request []byte)) error {
	err := database.Each(ctx, l.db, "SELECT "+jobColumns+`, digest, request FROM jobs LEFT JOIN job_requests ON job = n
		WHERE profile = $1 AND dataset = $2 AND created >= $3 AND state NOT IN ('not_sent', 'refused') ORDER BY n DESC`,
		[]any{profile, dataset, database.Micros(since)}, func(row database.Scanner) error {
			var digest string
			var request []byte
			job, err := l.scanListed(row, &digest, &request)
			if err == nil {
				take(job, digest, request)
			}
			return err
		})
	return l.db.Fault("looking for inputs that were launched", err)
}

// Jobs returns the newest jobs of the ledger, newest first, each with its steps, and
// how many jobs the ledger has. limit 0 means all. A damaged row must not hide the
// others: its job is included as far as it can be read, and its Detail says so.
func (l *Ledger) Jobs(ctx context.Context, limit int) (list []model.Job, total int, err error) {
	const doing = "reading the ledger"
	if err := l.db.QueryRowContext(ctx, "SELECT count(*) FROM jobs").Scan(&total); err != nil {
		return nil, 0, l.db.Fault(doing, err)
	}
	if limit <= 0 {
		limit = total
	}
	list, err = l.jobs(ctx, "ORDER BY n DESC LIMIT $1", doing, limit)
	return list, total, err
}

// Matching returns the newest jobs that match, newest first, each with its steps, how many match, and how many
// jobs the ledger has. matches gets jobs without their steps. limit 0 means all. For damaged rows see Jobs.
func (l *Ledger) Matching(ctx context.Context, matches func(model.Job) bool, limit int) (list []model.Job, match, total int, err error) {
	const doing = "reading the ledger"
	err = database.Each(ctx, l.db, "SELECT "+jobColumns+" FROM jobs ORDER BY n DESC", nil, func(row database.Scanner) error {
		job, err := l.scanListed(row)
		if total++; err != nil || !matches(job) {
			return err
		}
		if match++; limit == 0 || match <= limit {
			list = append(list, job)
		}
		return nil
	})
	if err == nil {
		err = addSteps(ctx, l.db, list)
	}
	if err != nil {
		return nil, 0, 0, l.db.Fault(doing, err)
	}
	return list, match, total, nil
}

// WebhookJobs returns the jobs of webhooks by their identifiers, without those that the ledger does not have.
func (l *Ledger) WebhookJobs(ctx context.Context, ids []string) (map[string]model.WebhookJob, error) {
	out := make(map[string]model.WebhookJob, len(ids))
	for some := range slices.Chunk(ids, jobsAtOnce) {
		numbers := make([]int64, len(some))
		for i, id := range some {
			var err error
			if numbers[i], err = parseJobID(id); err != nil {
				return nil, err
			}
		}
		in, args := database.In(numbers)
		err := database.Each(ctx, l.db, "SELECT n, dataset, state FROM jobs WHERE n "+in, args, func(row database.Scanner) error {
			var n int64
			var job model.WebhookJob
			err := row.Scan(&n, &job.Dataset, &job.State)
			out[jobID(n)] = job
			return err
		})
		if err != nil {
			return nil, l.db.Fault("reading the jobs of webhooks", err)
		}
	}
	return out, nil
}

// jobsAtOnce is the most jobs in one statement, which may have only so many parameters.
const jobsAtOnce = 500

// InFlight returns the jobs that the service works on or that are on their way to
// it, newest first.
func (l *Ledger) InFlight(ctx context.Context) ([]model.Job, error) {
	return l.jobs(ctx, "WHERE state IN ('intent', 'sending', 'accepted', 'running') ORDER BY n DESC", "looking for jobs in flight")
}

// AtService returns the jobs of a profile that its service works on, newest first.
func (l *Ledger) AtService(ctx context.Context, profile string) ([]model.Job, error) {
	return l.jobs(ctx, "WHERE state IN ('accepted', 'running') AND profile = $1 AND snapshot <> '' ORDER BY n DESC", "looking for jobs in flight", profile)
}

// WebhooksDue returns the jobs of a profile that may have started and whose webhook is due, newest first.
func (l *Ledger) WebhooksDue(ctx context.Context, profile string, now time.Time) ([]model.Job, error) {
	return l.jobs(ctx, "WHERE state = 'may_have' AND profile = $1 AND hook_due > 0 AND hook_due <= $2 ORDER BY n DESC", "looking for webhooks that are due", profile, database.Micros(now))
}

// Owing returns the profiles with jobs to follow, sorted by name: jobs that the service works on, and jobs
// that may have started and whose webhook is due.
func (l *Ledger) Owing(ctx context.Context, now time.Time) ([]string, error) {
	var out []string
	err := database.Each(ctx, l.db, `SELECT DISTINCT profile FROM jobs WHERE state IN ('accepted', 'running', 'may_have')
		AND (state <> 'may_have' OR hook_due > 0 AND hook_due <= $1)`,
		[]any{database.Micros(now)}, func(row database.Scanner) error {
			var profile string
			err := row.Scan(&profile)
			out = append(out, profile)
			return err
		})
	slices.Sort(out) // a database server sorts by its locale
	return out, l.db.Fault("looking for profiles with jobs in flight", err)
}

// FieldsDue returns the jobs of a profile with results on this machine whose fields are yet to be examined, newest first.
func (l *Ledger) FieldsDue(ctx context.Context, profile string) ([]model.Job, error) {
	list, err := l.jobs(ctx, `WHERE profile = $1 AND account LIKE '%"FieldsDue":true%' ORDER BY n DESC`, "looking for results whose fields are due", profile)
	return slices.DeleteFunc(list, func(j model.Job) bool { return !j.Rows.FieldsDue || j.Rows.Machine != "" }), err
}

// SameRequest returns the jobs with the same request that may have cost something, newest first, for the
// question "the same inputs again?". These are the jobs with the same digest that were begun since a time,
// and those of any age that run or may have started; also those that repeat the job repeats, if it is not
// empty.
func (l *Ledger) SameRequest(ctx context.Context, digest, repeats string, since time.Time) ([]model.Job, error) {
	return l.jobs(ctx, "WHERE "+sameJobs+" ORDER BY n DESC LIMIT $4",
		"looking for the same inputs", digest, database.Micros(since), repeats, maxSame)
}

// sameJobs is the condition of SameRequest. For an accepted job only its age counts: it stays accepted
// forever if the dialect has no way to ask about it.
const sameJobs = `state NOT IN ('not_sent', 'refused') AND (repeats <> '' AND repeats = $3
	OR digest = $1 AND (created >= $2 OR state IN ('intent', 'sending', 'may_have', 'running')))`

// maxSame bounds the answer of SameRequest.
const maxSame = 1000

const damagedRow = "its row in the ledger is damaged and could not be read in full"

func (l *Ledger) jobs(ctx context.Context, clauses, doing string, args ...any) ([]model.Job, error) {
	var list []model.Job
	err := database.Each(ctx, l.db, "SELECT "+jobColumns+" FROM jobs "+clauses, args, func(row database.Scanner) error {
		job, err := l.scanListed(row)
		list = append(list, job)
		return err
	})
	if err == nil {
		err = addSteps(ctx, l.db, list)
	}
	if err != nil {
		return nil, l.db.Fault(doing, err)
	}
	return list, nil
}

// addSteps reads the steps of jobs by their numbers: repeating the condition could find other jobs, because
// another process may write.
func addSteps(ctx context.Context, q database.Queryer, list []model.Job) error {
	for some := range slices.Chunk(list, jobsAtOnce) {
		at, numbers := make(map[int64]int, len(some)), make([]int64, len(some))
		for i, job := range some {
			n, err := parseJobID(job.ID)
			if err != nil {
				return err
			}
			at[n], numbers[i] = i, n
		}
		in, args := database.In(numbers)
		err := database.Each(ctx, q, "SELECT job, state, text, at FROM job_steps WHERE job "+in+" ORDER BY job, seq", args, func(row database.Scanner) error {
			var n int64
			var s model.JobStep
			err := row.Scan(&n, &s.State, &s.Text, database.Time(&s.At))
			if errors.Is(err, database.ErrCorrupt) {
				err = nil // a step without its time is better than none
			}
			if i, ok := at[n]; ok {
				some[i].Steps = append(some[i].Steps, s)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func withSteps(ctx context.Context, q database.Queryer, job model.Job) (model.Job, error) {
	list := []model.Job{job}
	err := addSteps(ctx, q, list)
	return list[0], err
}

// scanListed is scanJob for a list, which a damaged row does not end.
func (l *Ledger) scanListed(row database.Scanner, more ...any) (model.Job, error) {
	job, err := scanJob(row, more...)
	job = l.here(job)
	if errors.Is(err, database.ErrCorrupt) {
		job.Detail, err = damagedRow, nil
	}
	return job, err
}

// here gives a job of the ledger as this machine sees it: what has its file is named only if that is another one.
func (l *Ledger) here(job model.Job) model.Job {
	if job.Rows.Machine == l.machine {
		job.Rows.Machine = ""
	}
	return job
}

// scanJob reads the jobColumns, and the columns after them into more. With an
// ErrCorrupt it also returns the job, with its ID, as far as it could be read.
func scanJob(row database.Scanner, more ...any) (model.Job, error) {
	var job model.Job
	var n int64
	err := row.Scan(append([]any{
		&n, &job.Snapshot, &job.Profile, &job.Dataset, &job.KeyName, &job.State, &job.Wire, &job.Status, &job.Detail,
		&job.Inputs, &job.Done, &job.Records, &job.Bytes, &job.File,
		database.Time(&job.Created), database.Time(&job.Accepted), database.Time(&job.Updated),
		asJSON(&job.Fault), &job.SHA256, asJSON(&job.Rows),
		&job.Repeats, &job.WebhookToken, database.Time(&job.WebhookDue), &job.JobID, &job.SnapshotID, asJSON(&job.Request),
	}, more...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return model.Job{}, database.ErrNotFound
	}
	job.ID = jobID(n)
	if err != nil {
		return job, fmt.Errorf("%s: %w", job.ID, err)
	}
	return job, nil
}

// jsonText reads and writes a value as a column of JSON, "" for its zero value.
type jsonText[T any] struct{ value *T }

func asJSON[T any](value *T) jsonText[T] { return jsonText[T]{value} }

// Value implements driver.Valuer.
func (j jsonText[T]) Value() (driver.Value, error) {
	if reflect.ValueOf(*j.value).IsZero() {
		return "", nil
	}
	text, err := json.Marshal(*j.value)
	return string(text), err
}

// Scan implements sql.Scanner.
func (j jsonText[T]) Scan(from any) error {
	var value T
	text, ok := from.(string)
	if !ok || text != "" && json.Unmarshal([]byte(text), &value) != nil {
		return fmt.Errorf("%w: %T cannot be read", database.ErrCorrupt, value)
	}
	*j.value = value
	return nil
}
