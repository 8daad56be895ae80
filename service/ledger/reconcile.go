package ledger

import (
	"context"
	"database/sql"
	"errors"
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
	rows    map[int64]storedRow
	sums    map[int64]sums
	log     map[int64]logged
	damaged []span // lines of the log
	// number is the highest one that was given out, as the mark has it.
	number   int64
	unsealed bool // the jobs are yet to get their sums
}

// contents reads ledger and log, the log last: a row with an identifier has its line in the log by then.
func (l *Ledger) contents(ctx context.Context, q database.Queryer) (c contents, err error) {
	c.number = -1 // as without a mark
	err = database.Each(ctx, q, "SELECT number, logged FROM marks", nil, func(row database.Scanner) error {
		var number, logged any
		err := row.Scan(&number, &logged)
		c.number, c.unsealed = integer(number), integer(logged) == migrated
		return err
	})
	if err == nil {
		c.rows, err = storedRows(ctx, q)
	}
	if err == nil {
		c.sums, err = readSums(ctx, q)
	}
	if err == nil {
		c.log, c.damaged, err = readLog(logPath(l.Path()))
	}
	return c, err
}

// numbers are those of all jobs that ledger, sums or log know.
func (c contents) numbers() []int64 {
	all := map[int64]bool{}
	for n := range c.rows {
		all[n] = true
	}
	for n := range c.sums {
		all[n] = true
	}
	for n := range c.log {
		all[n] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// repair is what has to be done about one job.
type repair int

const (
	rowIntact   repair = iota
	rowRestored        // the row is lost or damaged; the log has the job
	rowLost            // the row is lost, and so are its lines in the log
	rowKept            // the row is damaged, and the log does not have the job
	rowResealed        // the row agrees with the log; only its sums are lost
	rowSteps           // its steps are damaged
	rowStray           // the row or the sums belong to no job: their number was damaged
)

// judge decides about a job's row.
func (c contents) judge(n int64) repair {
	row, has := c.rows[n]
	sum, summed := c.sums[n]
	e, inLog := c.log[n]
	switch {
	case !has && inLog:
		return rowRestored
	case !has && sum.row == lostJob, has && summed && sum == row.sums:
		return rowIntact
	case !has && n > 0 && n <= c.number:
		return rowLost
	case !has:
		return rowStray
	case summed && sum.row == row.row:
		return rowSteps
	case !summed && inLog && row.agrees(e), c.unsealed && !inLog:
		return rowResealed
	case inLog:
		return rowRestored
	case summed, len(c.sums) == 0 && n > 0:
		return rowKept
	default:
		return rowStray
	}
}

// plan is what has to be done about the ledger and its log.
type plan struct {
	repairs map[int64]repair
	named   []int64 // jobs that get their identifier from the log
	lines   []int64 // jobs with lines that the log lacks
	number  int64   // what the mark has to be
}

// plan compares ledger and log. What a living process is doing, it leaves alone.
func (l *Ledger) plan(c contents) plan {
	p := plan{repairs: map[int64]repair{}}
	for _, n := range c.numbers() {
		r := c.judge(n)
		if r != rowIntact {
			p.repairs[n] = r
		}
		if r != rowStray {
			p.number = max(p.number, n)
		}
		row, e := c.rows[n], c.log[n]
		switch snapshot := row.text(colSnapshot); {
		case r == rowLost || r == rowStray || r == rowIntact && row.columns[0] == nil:
		case r == rowRestored && e.begun.Job == 0:
			p.lines = append(p.lines, n)
		case r == rowRestored:
		case (e.begun.Job == 0 || snapshot != "" && snapshot != e.snapshot) && !l.ownerAlive(row.text(colOwner)):
			p.lines = append(p.lines, n)
		case e.snapshot != "" && snapshot == "" && !l.ownerAlive(row.text(colOwner)):
			p.named = append(p.named, n)
		}
	}
	if c.unsealed {
		p.number = max(p.number, c.number)
	}
	return p
}

// reconcile compares the ledger with its sums and its log, and repairs each by the others. It reads first, and only
// takes the ledger's lock, and reads again, if something is to be done: most differences are another process at work.
func (l *Ledger) reconcile(ctx context.Context) (notice string, err error) {
	c, err := l.contents(ctx, l.db)
	if err != nil {
		return "", l.db.Fault("reading it", err)
	}
	p := l.plan(c)
	if !p.needed(c) {
		return "", nil
	}
	if l.Frozen() != nil {
		return p.notice(l.Path(), c, false) + " Nothing was repaired, because the ledger cannot be written.", nil
	}
	cut := false
	err = l.db.Write(ctx, "repairing it", func(ctx context.Context, tx *sql.Tx) error {
		if c, err = l.contents(ctx, tx); err != nil {
			return err
		}
		p = l.plan(c)
		cut, err = l.carryOut(ctx, tx, c, p)
		return err
	})
	if err != nil {
		return "", err
	}
	return p.notice(l.Path(), c, cut), nil
}

func (p plan) needed(c contents) bool {
	return len(p.repairs)+len(p.named)+len(p.lines)+len(ended(c.damaged)) > 0 || p.number != c.number || c.unsealed
}

// carryOut does what a plan says, and reports whether the log lacked a line that it once had.
func (l *Ledger) carryOut(ctx context.Context, tx *sql.Tx, c contents, p plan) (cut bool, err error) {
	for _, n := range slices.Sorted(maps.Keys(p.repairs)) {
		if err := l.repair(ctx, tx, n, p.repairs[n], c.log[n]); err != nil {
			return false, err
		}
	}
	for _, n := range p.named {
		if err := l.name(ctx, tx, n, c.log[n]); err != nil {
			return false, err
		}
	}
	var lines []record
	for _, n := range p.lines {
		lacking, err := lacking(ctx, tx, n, c.log[n])
		if err != nil {
			return false, err
		}
		lines = append(lines, lacking...)
		// The intent of a job that was not sent may never have been there: the process may have been killed before it
		// wrote that line.
		state := model.JobState(c.rows[n].text(colState))
		cut = cut || p.repairs[n] != rowRestored && (lacking[0].Event != begun || state != model.JobIntent && state != model.JobNotSent)
	}
	damaged := c.damaged
	if len(lines) == 0 {
		damaged = ended(damaged)
	}
	if err = blank(logPath(l.Path()), damaged); err == nil && len(lines) > 0 {
		err = l.log(lines...)
	}
	if err != nil {
		return false, database.Classify(err)
	}
	set := "UPDATE marks SET number = $1, logged = 0"
	if c.number < 0 {
		set = "INSERT INTO marks (number, logged) VALUES ($1, 0)"
		_, err = tx.ExecContext(ctx, "DELETE FROM marks")
	}
	if err == nil && (p.number != c.number || c.unsealed) {
		_, err = tx.ExecContext(ctx, set, p.number)
	}
	return cut, err
}

// repair repairs a job's row.
func (l *Ledger) repair(ctx context.Context, tx *sql.Tx, n int64, r repair, e logged) error {
	var job model.Job
	switch r {
	case rowLost:
		return putSums(ctx, tx, n, sums{row: lostJob})
	case rowKept, rowResealed, rowSteps:
		return seal(ctx, tx, n)
	case rowRestored:
		job = l.fromLog(e)
		job.Steps, _ = readSteps(ctx, tx, n) // as far as they can be read
	}
	for _, statement := range []string{"DELETE FROM job_steps WHERE job = $1", "DELETE FROM jobs WHERE n = $1", "DELETE FROM job_sums WHERE job = $1"} {
		if _, err := tx.ExecContext(ctx, statement, n); err != nil {
			return err
		}
	}
	if r == rowStray {
		return nil
	}
	return insert(ctx, tx, n, job, e.begun.Digest, "", "restored from the ledger's log")
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

// name gives a job the identifier that only the log has.
func (l *Ledger) name(ctx context.Context, tx *sql.Tx, n int64, e logged) error {
	job, err := stored(ctx, tx, n)
	if err != nil {
		return err
	}
	accept(&job, e)
	job.Updated = l.after(job.Updated, e.at)
	if err := update(ctx, tx, n, job); err != nil {
		return err
	}
	if err := insertStep(ctx, tx, n, model.JobStep{At: job.Updated, State: job.State, Text: acceptedText(e)}); err != nil {
		return err
	}
	return seal(ctx, tx, n)
}

// lacking are the lines about a job that the log should have and lacks.
func lacking(ctx context.Context, tx *sql.Tx, n int64, e logged) (lines []record, err error) {
	var digest string
	job, err := stored(ctx, tx, n, &digest)
	if err != nil {
		return nil, err
	}
	if e.begun.Job == 0 {
		lines = append(lines, begunRecord(n, job, digest))
	}
	if job.Snapshot != "" && job.Snapshot != e.snapshot {
		lines = append(lines, record{At: job.Accepted, Job: n, Event: accepted, Snapshot: job.Snapshot})
	}
	return lines, nil
}

// stored reads a job's row, as far as it can be read.
func stored(ctx context.Context, tx *sql.Tx, n int64, digest ...any) (model.Job, error) {
	columns := jobColumns
	if len(digest) > 0 {
		columns += ", digest"
	}
	job, err := scanJob(tx.QueryRowContext(ctx, "SELECT "+columns+" FROM jobs WHERE n = $1", n), digest...)
	if errors.Is(err, database.ErrCorrupt) {
		err = nil
	}
	return job, err
}

// notice says what was found.
func (p plan) notice(path string, c contents, cut bool) string {
	found := map[repair][]string{}
	for _, n := range slices.Sorted(maps.Keys(p.repairs)) {
		found[p.repairs[n]] = append(found[p.repairs[n]], jobID(n))
	}
	var notes []string
	add := func(n int, one, many, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, path, counted(n, one, many)))
		}
	}
	add(len(found[rowRestored]), "job", "jobs", "Restored from the log of the ledger %s: %s. What happened since is unknown: ask the service with 'zonedeck jobs watch'.")
	add(len(p.named), "job identifier", "job identifiers", "Restored from the log of the ledger %s: %s.")
	if ids := found[rowLost]; len(ids) > 0 {
		add(len(ids), "job", "jobs", "Lost from the ledger %s and its log: %s ("+strings.Join(ids[:min(len(ids), 10)], ", ")+"). Their numbers are not used again.")
	}
	add(len(found[rowKept]), "job", "jobs", "Damaged in the ledger %s and missing in its log, so kept as far as it can be read: %s ("+strings.Join(found[rowKept][:min(len(found[rowKept]), 10)], ", ")+").")
	add(len(found[rowSteps]), "job", "jobs", "In the ledger %s, the steps of %s are damaged.")
	add(len(found[rowStray]), "row", "rows", "Removed from the ledger %s: %s of no job.")
	if !c.unsealed {
		add(len(found[rowResealed]), "job", "jobs", "In the ledger %s, the checksums of %s were lost; what the log says of them is right.")
	}
	if cut {
		notes = append(notes, fmt.Sprintf("The ledger's log %s was cut or deleted; its lines were rewritten.", logPath(path)))
	}
	if n := len(ended(c.damaged)); n > 0 {
		notes = append(notes, fmt.Sprintf("%s of the ledger's log %s could not be read.", counted(n, "line", "lines"), logPath(path)))
	}
	if len(notes) == 0 && p.number != c.number && !c.unsealed {
		notes = append(notes, fmt.Sprintf("In the ledger %s, the number of the next job was damaged; it was set anew.", path))
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
