package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
)

// maxSteps bounds a job's history: a service that changes its mind on every
// poll must not fill the disk.
const maxSteps = 200

// maxJobs bounds the list of jobs.
const maxJobs = 1000

const jobColumns = `n, snapshot, profile, dataset, key, state, wire, status, detail, inputs, done, records, bytes, file, created, accepted, updated`

// JobChange says what to write beside the changed job.
type JobChange struct {
	Step     string // text of a new step; a change of state makes a step anyway
	Activity string // text of a line in the timeline, or empty for none
}

// BeginJob writes the intent to start a job, owned by this process, and
// returns it with its ID. When BeginJob returns, the intent is on disk
// (synchronous FULL). digest identifies the inputs (see SameJobs).
func (j *Journal) BeginJob(ctx context.Context, job model.Job, digest string) (model.Job, error) {
	owner, err := j.takeOwner()
	if err != nil {
		return model.Job{}, fmt.Errorf("writing down the intent: %w", err)
	}
	job.State = model.JobIntent
	job.Created = j.now()
	job.Updated = job.Created
	step := model.JobStep{At: job.Created, State: job.State, Text: "written before sending"}
	err = j.write(ctx, full, "writing down the intent", func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO jobs (snapshot, profile, dataset, key, state, wire, status, detail, inputs, digest,
			done, records, bytes, file, created, accepted, updated, owner) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
			job.Snapshot, job.Profile, job.Dataset, job.KeyName, string(job.State), job.Wire, job.Status, job.Detail, job.Inputs, digest,
			job.Done, job.Records, job.Bytes, job.File, micros(job.Created), micros(job.Accepted), micros(job.Updated), owner)
		if err != nil {
			return err
		}
		n, err := res.LastInsertId()
		if err != nil {
			return err
		}
		job.ID = jobID(n)
		return insertStep(ctx, tx, n, step)
	})
	if err != nil {
		return model.Job{}, err
	}
	job.Steps = []model.JobStep{step}
	return job, nil
}

// ChangeJob reads a job, lets change alter it and writes it back, in one
// transaction that is on disk when ChangeJob returns. It adds a step when the
// state changed or a text was given. change sees the job as it is now, which
// may be further than the caller knows: another process may watch it too. An
// error of change is returned and nothing is written.
func (j *Journal) ChangeJob(ctx context.Context, id string, change func(*model.Job) (JobChange, error)) (model.Job, error) {
	n, err := parseJobID(id)
	if err != nil {
		return model.Job{}, err
	}
	var job model.Job
	err = j.write(ctx, full, "writing job "+id+" to the ledger", func(ctx context.Context, tx *sql.Tx) error {
		var err error
		job, err = scanJob(tx.QueryRowContext(ctx, "SELECT "+jobColumns+" FROM jobs WHERE n = ?", n))
		if err != nil {
			return err
		}
		before := job.State
		note, err := change(&job)
		if err != nil {
			return err
		}
		job.ID = id
		job.Updated = j.now()
		if err := updateJob(ctx, tx, n, job); err != nil {
			return err
		}
		if job.State != before || note.Step != "" {
			if err := insertStep(ctx, tx, n, model.JobStep{At: job.Updated, State: job.State, Text: note.Step}); err != nil {
				return err
			}
		}
		if note.Activity != "" {
			if err := insertActivity(ctx, tx, jobActivity(job, note.Activity)); err != nil {
				return err
			}
		}
		job.Steps, err = readSteps(ctx, tx, n)
		return err
	})
	if err != nil {
		return model.Job{}, err
	}
	return job, nil
}

func jobActivity(job model.Job, text string) model.Activity {
	return model.Activity{
		At: job.Updated, Kind: model.ActivityJob, Profile: job.Profile, Zone: "", Via: model.ViaAPI,
		Key: job.KeyName, Bytes: job.Bytes, Ref: job.ID, Text: text,
	}
}

// Job is one job with its steps, by the console's identifier or, when no job
// has that, by the service's.
func (j *Journal) Job(ctx context.Context, id string) (model.Job, error) {
	doing := "reading job " + id
	var row *sql.Row
	if n, err := parseJobID(id); err == nil {
		row = j.r.QueryRowContext(ctx, "SELECT "+jobColumns+" FROM jobs WHERE n = ?", n)
	} else if id != "" {
		row = j.r.QueryRowContext(ctx, "SELECT "+jobColumns+" FROM jobs WHERE snapshot = ? ORDER BY n DESC LIMIT 1", id)
	} else {
		return model.Job{}, fmt.Errorf("%s: %w", doing, ErrNotFound)
	}
	job, err := scanJob(row)
	if errors.Is(err, ErrNotFound) {
		return model.Job{}, fmt.Errorf("job %s: %w", id, err)
	}
	if err != nil {
		return model.Job{}, j.fault(doing, err)
	}
	n, err := parseJobID(job.ID)
	if err != nil {
		return model.Job{}, err
	}
	if job.Steps, err = readSteps(ctx, j.r, n); err != nil {
		return model.Job{}, j.fault(doing, err)
	}
	return job, nil
}

// Jobs is the ledger, newest first, at most 1,000 jobs, each with its steps.
func (j *Journal) Jobs(ctx context.Context) ([]model.Job, error) {
	return j.jobs(ctx, "", "reading the ledger")
}

// SameJobs are the jobs that were begun since then with inputs of the same
// digest and that may have cost something, newest first: the question "the same
// inputs again?" is asked about them.
func (j *Journal) SameJobs(ctx context.Context, digest string, since time.Time) ([]model.Job, error) {
	return j.jobs(ctx, " WHERE digest = ? AND created >= ? AND state NOT IN ('not_sent', 'refused')",
		"looking for the same inputs", digest, micros(since))
}

func (j *Journal) jobs(ctx context.Context, where, doing string, args ...any) ([]model.Job, error) {
	var list []model.Job
	err := each(ctx, j.r, "SELECT "+jobColumns+" FROM jobs"+where+" ORDER BY n DESC LIMIT ?", append(args, maxJobs), func(row scanner) error {
		job, err := scanJob(row)
		list = append(list, job)
		return err
	})
	if err == nil {
		err = j.addSteps(ctx, list)
	}
	if err != nil {
		return nil, j.fault(doing, err)
	}
	return list, nil
}

// addSteps reads the steps of a list that is sorted by number, newest first,
// with one query.
func (j *Journal) addSteps(ctx context.Context, list []model.Job) error {
	if len(list) == 0 {
		return nil
	}
	at := make(map[int64]int, len(list))
	var oldest int64
	for i, job := range list {
		n, err := parseJobID(job.ID)
		if err != nil {
			return err
		}
		at[n], oldest = i, n
	}
	return each(ctx, j.r, "SELECT job, at, state, text FROM job_steps WHERE job >= ? ORDER BY job, id", []any{oldest}, func(row scanner) error {
		var n, us int64
		var s model.JobStep
		err := row.Scan(&n, &us, &s.State, &s.Text)
		s.At = fromMicros(us)
		if i, ok := at[n]; ok {
			list[i].Steps = append(list[i].Steps, s)
		}
		return err
	})
}

// Recover settles what a process left behind when it died in the middle of a
// trigger: an intent was certainly not sent, a job in sending may have started
// (it is never sent again). Jobs of processes that are alive are left alone. It
// returns the jobs it changed.
func (j *Journal) Recover(ctx context.Context) ([]model.Job, error) {
	const doing = "settling what a dead process left behind"
	type unsettled struct {
		n     int64
		owner string
	}
	var open []unsettled
	err := each(ctx, j.r, "SELECT n, owner FROM jobs WHERE state IN ('intent', 'sending') ORDER BY n", nil, func(row scanner) error {
		var o unsettled
		err := row.Scan(&o.n, &o.owner)
		open = append(open, o)
		return err
	})
	if err != nil {
		return nil, j.fault(doing, err)
	}
	alive := map[string]bool{}
	var settled []model.Job
	for _, o := range open {
		lives, known := alive[o.owner]
		if !known {
			lives = j.ownerAlive(o.owner)
			alive[o.owner] = lives
		}
		if lives {
			continue
		}
		job, err := j.ChangeJob(ctx, jobID(o.n), settle)
		if errors.Is(err, errSettled) {
			continue // another process was quicker
		}
		if err != nil {
			return settled, err
		}
		settled = append(settled, job)
	}
	for owner, lives := range alive {
		if !lives {
			j.forgetOwner(owner)
		}
	}
	return settled, nil
}

var errSettled = errors.New("settled already")

func settle(job *model.Job) (JobChange, error) {
	switch job.State {
	case model.JobIntent:
		job.State = model.JobNotSent
		job.Detail = "the console ended before anything was sent"
	case model.JobSending:
		job.State = model.JobMayHave
		job.Detail = "the console ended while the request was on its way; it is not sent again by itself"
	default:
		return JobChange{}, errSettled
	}
	return JobChange{Step: job.Detail, Activity: job.State.Label() + ": " + job.Detail}, nil
}

func updateJob(ctx context.Context, tx *sql.Tx, n int64, job model.Job) error {
	_, err := tx.ExecContext(ctx, `UPDATE jobs SET snapshot=?, profile=?, dataset=?, key=?, state=?, wire=?, status=?, detail=?, inputs=?,
		done=?, records=?, bytes=?, file=?, accepted=?, updated=? WHERE n=?`,
		job.Snapshot, job.Profile, job.Dataset, job.KeyName, string(job.State), job.Wire, job.Status, job.Detail, job.Inputs,
		job.Done, job.Records, job.Bytes, job.File, micros(job.Accepted), micros(job.Updated), n)
	return err
}

func insertStep(ctx context.Context, tx *sql.Tx, n int64, s model.JobStep) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO job_steps (job, at, state, text)
		SELECT ?, ?, ?, ? WHERE (SELECT count(*) FROM job_steps WHERE job = ?) < ?`,
		n, micros(s.At), string(s.State), s.Text, n, maxSteps)
	return err
}

func readSteps(ctx context.Context, q asker, n int64) ([]model.JobStep, error) {
	var steps []model.JobStep
	err := each(ctx, q, "SELECT at, state, text FROM job_steps WHERE job = ? ORDER BY id", []any{n}, func(row scanner) error {
		var s model.JobStep
		var us int64
		err := row.Scan(&us, &s.State, &s.Text)
		s.At = fromMicros(us)
		steps = append(steps, s)
		return err
	})
	return steps, err
}

func scanJob(row scanner) (model.Job, error) {
	var job model.Job
	var n, created, accepted, updated int64
	err := row.Scan(&n, &job.Snapshot, &job.Profile, &job.Dataset, &job.KeyName, &job.State, &job.Wire, &job.Status, &job.Detail,
		&job.Inputs, &job.Done, &job.Records, &job.Bytes, &job.File, &created, &accepted, &updated)
	if errors.Is(err, sql.ErrNoRows) {
		return model.Job{}, ErrNotFound
	}
	if err != nil {
		return model.Job{}, err
	}
	job.ID = jobID(n)
	job.Created, job.Accepted, job.Updated = fromMicros(created), fromMicros(accepted), fromMicros(updated)
	return job, nil
}

// jobID is the console's own identifier of a job: short enough to type.
func jobID(n int64) string { return "job-" + strconv.FormatInt(n, 10) }

func parseJobID(id string) (int64, error) {
	digits, ok := strings.CutPrefix(id, "job-")
	if ok {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n > 0 && jobID(n) == id {
			return n, nil
		}
	}
	return 0, fmt.Errorf("job %q: %w", id, ErrNotFound)
}
