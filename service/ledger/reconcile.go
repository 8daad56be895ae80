package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// contents is what the ledger and its log hold.
type contents struct {
	jobs     knownJobs
	number   int64 // the highest that was given out, as the mark has it; negative without a mark
	sealed   bool  // the jobs have sums
	unsealed bool  // they are yet to get them: an earlier build wrote the ledger
	damaged  []span
}

// contents reads ledger and log, the log last: a row with an identifier has its line in the log by then.
func (l *Ledger) contents(ctx context.Context, q database.Queryer) (contents, error) {
	c := contents{jobs: knownJobs{}, number: -1}
	err := database.Each(ctx, q, "SELECT number, logged FROM marks", nil, func(row database.Scanner) error {
		columns, err := values(row, 2)
		c.number, c.unsealed = integer(columns[0]), integer(columns[1]) == migrated
		return err
	})
	if err == nil {
		err = c.jobs.readRows(ctx, q)
	}
	if err == nil {
		err = database.Each(ctx, q, "SELECT job, job_row, steps FROM job_sums", nil, func(row database.Scanner) error {
			columns, err := values(row, 3)
			c.sealed, c.jobs.at(integer(columns[0])).sealed = true, &sums{integer(columns[1]), integer(columns[2])}
			return err
		})
	}
	if err != nil {
		return c, err
	}
	entries, damaged, err := readLog(logPath(l.Path()))
	for n, e := range entries {
		c.jobs.at(n).log = e
	}
	c.damaged = damaged
	return c, err
}

// repair is what has to be done about a job.
type repair int

const (
	nothing    repair = iota
	restored          // its row is lost or damaged; the log has the job
	identified        // the log has its identifier
	vanished          // its row is lost, and so are its lines in the log
	kept              // something is damaged that the log does not have
	stray             // the row or the sums belong to no job: their number was damaged
)

// judge decides about a job.
func (c contents) judge(n int64, k *known) repair {
	has, sum := k.columns != nil, k.sealed
	switch {
	case !has && k.log.known():
		return restored
	case !has && sum.row == lostJob, has && sum != nil && *sum == k.actual:
		return nothing
	case !has && n > 0 && n <= c.number:
		return vanished
	case !has:
		return stray
	case sum == nil && k.agrees(), sum != nil && sum.row == k.actual.row:
		return kept
	case k.log.known():
		return restored
	case sum != nil, n > 0 && (c.unsealed || !c.sealed):
		return kept
	default:
		return stray
	}
}

// findings are the jobs that something was wrong with, and what the log lacks.
type findings struct {
	jobs   map[repair][]int64
	lines  []record
	cut    bool  // the log lacks lines that it once had
	number int64 // what the mark has to be
}

// compare compares ledger and log. What a living process is doing, it leaves alone.
func (l *Ledger) compare(c contents) findings {
	f := findings{jobs: map[repair][]int64{}}
	for _, n := range slices.Sorted(maps.Keys(c.jobs)) {
		k := c.jobs[n]
		r := c.judge(n, k)
		if r != stray {
			f.number = max(f.number, n)
		}
		if (r == nothing || r == kept) && k.columns != nil {
			lines := k.lacking(n)
			if waits := k.snapshot() == "" && k.log.snapshot != ""; (waits || len(lines) > 0) && l.ownerAlive(k.owner()) {
				lines = nil
			} else if waits && r == nothing {
				r = identified
			}
			f.lines = append(f.lines, lines...)
			// The intent of a job that was not sent may never have been there: the process may have been killed before it
			// wrote that line.
			f.cut = f.cut || len(lines) > 1 || len(lines) == 1 && (lines[0].Event != begun || k.state() != model.JobIntent && k.state() != model.JobNotSent)
		}
		if r != nothing {
			f.jobs[r] = append(f.jobs[r], n)
		}
	}
	if c.unsealed {
		f.number = max(f.number, c.number)
	}
	return f
}

// reconcile compares the ledger with its sums and its log, and repairs each by the others. It reads first, and only
// takes the ledger's lock, and reads again, if something is to be done: most differences are another process at work.
func (l *Ledger) reconcile(ctx context.Context) (notice string, err error) {
	c, err := l.contents(ctx, l.db)
	if err != nil {
		return "", l.db.Fault("reading it", err)
	}
	f := l.compare(c)
	if len(f.jobs)+len(f.lines)+len(c.damaged) == 0 && f.number == c.number && !c.unsealed {
		return "", nil
	}
	if l.Frozen() != nil {
		if notice = l.notice(c, f); notice != "" {
			notice += " Nothing was repaired, because the ledger cannot be written."
		}
		return notice, nil
	}
	err = l.db.Write(ctx, "repairing it", func(ctx context.Context, tx *sql.Tx) error {
		if c, err = l.contents(ctx, tx); err != nil {
			return err
		}
		f = l.compare(c)
		return l.repair(ctx, tx, c, f)
	})
	if err != nil {
		return "", err
	}
	return l.notice(c, f), nil
}

// repair does what is to be done about the findings.
func (l *Ledger) repair(ctx context.Context, tx *sql.Tx, c contents, f findings) error {
	for r, numbers := range f.jobs {
		for _, n := range numbers {
			if err := l.repairJob(ctx, tx, n, r, c.jobs[n]); err != nil {
				return err
			}
		}
	}
	err := blank(logPath(l.Path()), c.damaged)
	if err == nil && len(f.lines) > 0 {
		err = l.log(f.lines...)
	}
	if err != nil {
		return database.Classify(err)
	}
	if c.number == -1 {
		_, err = tx.ExecContext(ctx, "INSERT INTO marks (number, logged) VALUES ($1, 0)", f.number)
	} else if f.number != c.number || c.unsealed {
		_, err = tx.ExecContext(ctx, "UPDATE marks SET number = $1, logged = 0", f.number)
	}
	return err
}

func (l *Ledger) repairJob(ctx context.Context, tx *sql.Tx, n int64, r repair, k *known) error {
	switch r {
	case vanished:
		return putSums(ctx, tx, n, sums{row: lostJob})
	case kept:
		return seal(ctx, tx, n)
	case identified:
		updated := l.after(k.time(16), k.log.at)
		_, err := tx.ExecContext(ctx, "UPDATE jobs SET state = $1, snapshot = $2, accepted = $3, updated = $4, detail = '', fault = '' WHERE n = $5",
			string(model.JobAccepted), k.log.snapshot, database.Micros(k.log.at), database.Micros(updated), n)
		if err == nil {
			err = insertStep(ctx, tx, n, model.JobStep{At: updated, State: model.JobAccepted, Text: acceptedText(k.log)})
		}
		if err != nil {
			return err
		}
		return seal(ctx, tx, n)
	}
	job := l.fromLog(k.log)
	job.Steps, _ = readSteps(ctx, tx, n) // as far as they can be read
	var asked []byte
	_ = tx.QueryRowContext(ctx, "SELECT request FROM job_requests WHERE job = $1", n).Scan(&asked) // no error may end a repair
	for _, statement := range []string{
		"DELETE FROM job_steps WHERE job = $1", "DELETE FROM job_requests WHERE job = $1", "DELETE FROM jobs WHERE n = $1", "DELETE FROM job_sums WHERE job = $1",
	} {
		if _, err := tx.ExecContext(ctx, statement, n); err != nil {
			return err
		}
	}
	if r == stray {
		return nil
	}
	err := insert(ctx, tx, n, job, k.log.begun.Digest, "", "restored from the ledger's log")
	if err == nil && len(asked) > 0 {
		_, err = tx.ExecContext(ctx, "INSERT INTO job_requests (job, request) VALUES ($1, $2)", n, asked)
	}
	return err
}

// fromLog is a job as far as the log knows it.
func (l *Ledger) fromLog(e logged) model.Job {
	job := model.Job{
		Profile: e.begun.Profile, Dataset: e.begun.Dataset, KeyName: e.begun.Key, Inputs: e.begun.Inputs,
		Done: -1, Records: -1, Created: e.begun.At, Updated: l.after(e.begun.At, e.at), State: model.JobMayHave,
		Detail: "the ledger lost this job; whether it was sent is not known", Request: e.begun.Asked,
	}
	if e.snapshot != "" {
		accept(&job, e)
		if job.Created.IsZero() {
			job.Created = e.at
		}
	}
	return job
}

// notice says what was found.
func (l *Ledger) notice(c contents, f findings) string {
	var notes []string
	for _, found := range []struct {
		repair repair
		one    string
		format string // with the ledger, how many, and which
	}{
		{restored, "job", "Restored from the log of the ledger %s: %s. What happened since is unknown: ask the service with 'zonedeck jobs watch'."},
		{identified, "job identifier", "Restored from the log of the ledger %s: %s."},
		{vanished, "job", "Lost from the ledger %s and its log: %s (%s). No number is used again."},
		{kept, "job", "Damaged in the ledger %s and kept as far as it can be read: %s (%s)."},
		{stray, "row", "Removed from the ledger %s: %s of no job."},
	} {
		if n := len(f.jobs[found.repair]); n > 0 && (found.repair != kept || !c.unsealed) {
			ids := make([]string, 0, 10)
			for _, n := range f.jobs[found.repair][:min(n, cap(ids))] {
				ids = append(ids, jobID(n))
			}
			args := []any{l.Path(), counted(n, found.one, found.one+"s"), strings.Join(ids, ", ")}
			notes = append(notes, fmt.Sprintf(found.format, args[:strings.Count(found.format, "%s")]...))
		}
	}
	if f.cut {
		notes = append(notes, fmt.Sprintf("The ledger's log %s was cut or deleted; its lines were rewritten.", logPath(l.Path())))
	}
	if n := len(c.damaged); n > 0 {
		notes = append(notes, fmt.Sprintf("%s of the ledger's log %s could not be read.", counted(n, "line", "lines"), logPath(l.Path())))
	}
	if len(notes) == 0 && f.number != c.number && !c.unsealed {
		notes = append(notes, fmt.Sprintf("In the ledger %s, the number of the next job was damaged; it was set anew.", l.Path()))
	}
	return strings.Join(notes, " ")
}

// after is the time of a step that follows the given times: now, or the latest of them. A command
// without an emulator uses the machine's clock, and an emulator's may be ahead of it.
func (l *Ledger) after(times ...time.Time) time.Time {
	at := l.now()
	for _, t := range times {
		if at.Before(t) {
			at = t
		}
	}
	return at
}

// accept gives a job its identifier from the log.
func accept(job *model.Job, e logged) {
	job.State, job.Snapshot, job.Accepted, job.Detail = model.JobAccepted, e.snapshot, e.at, ""
	job.Fault = model.JobFault{}
}

func acceptedText(e logged) string { return "snapshot " + e.snapshot + ", from the ledger's log" }
