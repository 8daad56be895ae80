package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// finding is something that was wrong, mostly with a job, and what is done about it.
type finding int

const (
	nothing    finding = iota
	restored           // its row is lost or damaged; the log has the job
	identified         // the log has its identifier
	vanished           // its row is lost, and so are its lines in the log
	kept               // its sums are missing or wrong, and nothing says better what it is
	stray              // the row or the sums belong to no job: their number was damaged
	rewritten          // a line of its own that the log once had
	unreadable         // a line of the log
	renumbered         // the mark
)

// sentences tell of findings: with the ledger, how many of what, and the jobs.
var sentences = [...]struct{ what, format string }{
	restored:   {"job", "Restored from the log of the ledger %s: %s. What happened since is unknown: ask the service with 'zonedeck jobs watch'."},
	identified: {"job identifier", "Restored from the log of the ledger %s: %s."},
	vanished:   {"job", "Lost from the ledger %s and its log: %s (%s). No number is used again."},
	kept:       {"job", "Damaged in the ledger %s, or written by an earlier version, and kept as far as it can be read: %s (%s)."},
	stray:      {"row", "Removed from the ledger %s: %s of no job."},
	rewritten:  {"line", "The ledger's log %s.log was cut or deleted. It lacked: %s."},
	unreadable: {"line", "Unreadable in the ledger's log %s.log: %s."},
	renumbered: {"", "In the ledger %s, the number of the next job was damaged; it was set anew."},
}

// comparison is what the ledger, its sums and its log hold, and what was found.
type comparison struct {
	jobs     knownJobs
	number   int64 // the highest that was given out, as the mark has it; negative without a mark
	unsealed bool  // the jobs are yet to get their sums: an earlier build wrote the ledger

	found   map[finding][]int64 // with the jobs' numbers
	highest int64               // what the mark has to be
	lines   []record            // that the log lacks
	damaged []span              // lines of the log
}

// compare reads ledger and log and compares them, the log last: a row with an identifier has its line in the log by
// then. What a living process is doing, it leaves alone.
func (l *Ledger) compare(ctx context.Context, q database.Queryer) (comparison, error) {
	c := comparison{jobs: knownJobs{}, number: -1, found: map[finding][]int64{}}
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
			c.jobs.at(integer(columns[0])).sealed = &sums{integer(columns[1]), integer(columns[2])}
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
	for _, s := range damaged {
		if !s.open || !l.waitsFor(l.anyAlive()) { // else its writer may not be through
			c.damaged = append(c.damaged, s)
			c.add(unreadable, 0)
		}
	}
	if c.unsealed {
		c.highest = max(0, c.number)
	}
	for _, n := range slices.Sorted(maps.Keys(c.jobs)) {
		l.judge(&c, n, c.jobs[n])
	}
	if len(c.found) == 0 && c.highest != c.number && !c.unsealed {
		c.add(renumbered, 0)
	}
	return c, err
}

// waitsFor remembers that something is left to a living process, so that the next Open looks at it again.
func (l *Ledger) waitsFor(alive bool) bool {
	l.waits = l.waits || alive
	return alive
}

func (c *comparison) add(f finding, n int64) { c.found[f] = append(c.found[f], n) }

// judge decides about a job and its lines.
func (l *Ledger) judge(c *comparison, n int64, k *known) {
	found := l.judgeRow(c, n, k)
	if found != stray {
		c.highest = max(c.highest, n)
	}
	if k.row && (found == nothing || found == kept) && l.ofThisMachine(k.owner) {
		lines := k.lacking(n)
		if waits := k.job.Snapshot == "" && k.log.names.Snapshot != ""; (waits || len(lines) > 0) && l.waitsFor(l.ownerAlive(k.owner, k.job.Updated)) {
			lines = nil
		} else if waits && k.readable {
			found = identified
		}
		c.lines = append(c.lines, lines...)
		for _, line := range lines {
			// The intent of a job that was not sent may never have been there: the process may have been killed before it
			// wrote that line.
			if len(lines) > 1 || line.Event != begun || k.job.State != model.JobIntent && k.job.State != model.JobNotSent {
				c.add(rewritten, n)
			}
		}
	}
	if found != nothing {
		c.add(found, n)
	}
}

func (l *Ledger) judgeRow(c *comparison, n int64, k *known) finding {
	given := n > 0 && (n <= c.number || c.unsealed)
	switch {
	case k.row && k.sealed != nil && *k.sealed == k.actual, !k.row && !k.log.known() && k.sealed.row == lostJob:
		return nothing
	case k.row && (k.agrees() || k.sealed != nil && k.sealed.row == k.actual.row):
		return kept // an earlier build that is still running writes rows without sums
	case k.row && (k.job.State == model.JobIntent || k.job.State == model.JobSending) && l.waitsFor(l.ownerAlive(k.owner, k.job.Updated)):
		return nothing // it is being written
	case k.log.known():
		return restored
	case k.row && (k.sealed != nil || given):
		return kept
	case given:
		return vanished
	default:
		return stray
	}
}

// reconcile compares the ledger with its sums and its log, and repairs each by the others. It reads first, and only
// takes the ledger's lock, and reads again, if something is to be done: most differences are another process at work.
func (l *Ledger) reconcile(ctx context.Context) (notice string, err error) {
	c, err := l.compare(ctx, l.db)
	if err != nil {
		return "", l.db.Fault("reading it", err)
	}
	if len(c.found)+len(c.lines) == 0 && !c.unsealed {
		return "", nil
	}
	if l.Frozen() != nil {
		if notice = l.notice(c); notice != "" {
			notice += " Nothing was repaired, because the ledger cannot be written."
		}
		return notice, nil
	}
	err = l.db.Write(ctx, "repairing it", func(ctx context.Context, tx *sql.Tx) error {
		if c, err = l.compare(ctx, tx); err != nil {
			return err
		}
		return l.repair(ctx, tx, c)
	})
	if err != nil {
		return "", err
	}
	return l.notice(c), nil
}

// repair does what is to be done about the findings.
func (l *Ledger) repair(ctx context.Context, tx *sql.Tx, c comparison) error {
	for found, jobs := range c.found {
		for _, n := range jobs {
			if err := l.repairJob(ctx, tx, n, found, c.jobs[n]); err != nil {
				return err
			}
		}
	}
	err := blank(logPath(l.Path()), c.damaged)
	if err == nil && len(c.lines) > 0 {
		err = l.log(c.lines...)
	}
	if err != nil {
		return database.Classify(err)
	}
	if c.number == -1 {
		_, err = tx.ExecContext(ctx, "INSERT INTO marks (number, logged) VALUES ($1, 0)", c.highest)
	} else if c.highest != c.number || c.unsealed {
		_, err = tx.ExecContext(ctx, "UPDATE marks SET number = $1, logged = 0", c.highest)
	}
	return err
}

func (l *Ledger) repairJob(ctx context.Context, tx *sql.Tx, n int64, found finding, k *known) error {
	switch found {
	case kept:
		return seal(ctx, tx, n)
	case vanished:
		return putSums(ctx, tx, n, sums{row: lostJob})
	case identified:
		accept(&k.job, k.log)
		k.job.Updated = l.after(k.job.Updated, k.log.at)
		return put(ctx, tx, changeJob, n, k.job, "", "", acceptedText(k.log))
	case restored:
		statement := insertJob
		if k.row {
			statement = restoreJob
		}
		return put(ctx, tx, statement, n, l.fromLog(k.log), k.log.begun.Digest, "", "restored from the ledger's log")
	case stray:
		for _, rows := range []string{"job_steps WHERE job", "job_requests WHERE job", "jobs WHERE n", "job_sums WHERE job"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+rows+" = $1", n); err != nil {
				return err
			}
		}
	}
	return nil
}

// fromLog is a job as far as the log knows it.
func (l *Ledger) fromLog(e logged) model.Job {
	job := model.Job{
		Profile: e.begun.Profile, Dataset: e.begun.Dataset, KeyName: e.begun.Key, Inputs: e.begun.Inputs,
		Done: -1, Records: -1, Created: e.begun.At, Updated: l.after(e.begun.At, e.at), State: model.JobMayHave,
		Detail: "the ledger lost this job; whether it was sent is not known", Request: e.begun.Asked,
	}
	if e.names.Snapshot != "" {
		accept(&job, e)
		if job.Created.IsZero() {
			job.Created = e.at
		}
	}
	return job
}

// notice says what was found.
func (l *Ledger) notice(c comparison) string {
	var notes []string
	for f, says := range sentences {
		jobs := c.found[finding(f)]
		if len(jobs) == 0 || finding(f) == kept && c.unsealed {
			continue
		}
		var ids []string
		for _, n := range jobs[:min(len(jobs), 10)] {
			ids = append(ids, jobID(n))
		}
		args := []any{l.Path(), model.Counted(len(jobs), says.what), strings.Join(ids, ", ")}
		notes = append(notes, fmt.Sprintf(says.format, args[:strings.Count(says.format, "%")]...))
	}
	return strings.Join(notes, " ")
}

// after is the time of a step that follows the given times: now, or the latest of them. A command
// without an emulator uses the machine's clock, and an emulator's may be ahead of it.
func (l *Ledger) after(times ...time.Time) time.Time {
	return slices.MaxFunc(append(times, l.now()), time.Time.Compare)
}

// accept gives a job its identifier from the log.
func accept(job *model.Job, e logged) {
	job.Name(e.names)
	job.State, job.Accepted, job.Detail = model.JobAccepted, e.at, ""
	job.Fault = model.JobFault{}
}

func acceptedText(e logged) string { return e.names.Words() + ", from the ledger's log" }

// sums are the checksums of a job's row and of its steps. A row that was damaged and can still be read has another.
type sums struct{ row, steps int64 }

const (
	// lostJob is the row's sum of a job that no file has any more, once that was reported.
	lostJob = -1
	// migrated is the mark of a ledger that an earlier build wrote: its jobs are yet to get their sums.
	migrated = -2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// known is what the ledger, its sums and its log know about one job.
type known struct {
	row           bool      // there is one
	readable      bool      // in full
	job           model.Job // as far as it can be read, without steps
	digest, owner string
	actual        sums  // of row and steps as they are now
	sealed        *sums // as they were when the job was last written, or nil
	log           logged
}

// agrees reports whether the row can be read and is about the job of the log, by what no later change alters. An
// identifier that the log lacks is believed only of a row without a sum, because damage may have made it.
func (k *known) agrees() bool {
	job, begun, logged := k.job, k.log.begun, k.log.names
	return k.readable && k.log.known() && slices.Contains(model.JobStates(), job.State) &&
		(begun.Job == 0 || job.Dataset == begun.Dataset && k.digest == begun.Digest && job.KeyName == begun.Key &&
			(job.Profile == begun.Profile || begun.Profile == "") && (job.Inputs == begun.Inputs || begun.Inputs == 0)) &&
		(job.Snapshot == "" || logged.Has(job.Snapshot) || logged.Snapshot == "" && k.sealed == nil)
}

// lacking are the lines about a job that the log should have and lacks.
func (k *known) lacking(n int64) (lines []record) {
	if k.log.begun.Job == 0 {
		lines = append(lines, begunRecord(n, k.job, k.digest))
	}
	if names := k.job.Names(); names.Snapshot != "" && !k.log.names.Has(names.Snapshot) {
		lines = append(lines, acceptedRecord(n, names, k.job.Accepted))
	}
	return lines
}

// knownJobs are jobs by their numbers.
type knownJobs map[int64]*known

func (jobs knownJobs) at(n int64) *known {
	if jobs[n] == nil {
		jobs[n] = &known{}
	}
	return jobs[n]
}

// firstLater is where the laterColumns begin among the sealColumns.
var firstLater = strings.Count(strings.Split("n, "+changeColumns, laterColumns)[0], ",")

// readRows reads the rows and steps of all jobs, or of one. A column with a value of another type is not what was
// written, even if it reads the same.
func (jobs knownJobs) readRows(ctx context.Context, q database.Queryer, one ...any) error {
	ofRows, ofSteps := "", ""
	if len(one) > 0 {
		ofRows, ofSteps = "WHERE n = $1", "WHERE job = $1"
	}
	var buf []byte
	err := database.Each(ctx, q, "SELECT "+sealColumns+" FROM jobs "+ofRows, one, func(row database.Scanner) error {
		columns, err := values(row, 28)
		k := jobs.at(integer(columns[0]))
		var unreadable error
		k.job, unreadable = scanJob(row, &k.digest, &k.owner)
		k.row, k.readable = true, unreadable == nil
		buf = buf[:0]
		for i, v := range columns {
			later := i >= firstLater && i < firstLater+2
			switch v := v.(type) {
			case string:
				if later && v == "" {
					continue
				}
				if later {
					buf = append(buf, byte(i))
				}
				buf = append(append(buf, 't'), v...)
			case int64:
				buf = strconv.AppendInt(append(buf, 'i'), v, 10)
			default: // no column of a job has such a value
				buf, k.readable = append(buf, 'x'), false
			}
			buf = append(buf, 0)
		}
		k.actual.row = int64(crc32.Checksum(buf, castagnoli))
		return err
	})
	if err != nil {
		return err
	}
	return database.Each(ctx, q, "SELECT job, concat_ws('|', job, seq, at, state, text) FROM job_steps "+ofSteps+" ORDER BY job, seq", one, func(row database.Scanner) error {
		var job any
		var text sql.RawBytes
		err := row.Scan(&job, &text)
		if k := jobs[integer(job)]; k != nil && err == nil {
			k.actual.steps = int64(crc32.Update(uint32(k.actual.steps), castagnoli, text)) //nolint:gosec // it is such a sum
		}
		return err
	})
}

// values reads the columns of a row as they are stored.
func values(row database.Scanner, n int) ([]any, error) {
	columns, into := make([]any, n), make([]any, n)
	for i := range into {
		into[i] = &columns[i]
	}
	return columns, row.Scan(into...)
}

// integer is the value of a column of numbers. Another value, which only damage leaves there, is one that nothing has.
func integer(v any) int64 {
	if n, ok := v.(int64); ok {
		return n
	}
	return math.MinInt64
}

// seal gives a job that was written its sums.
func seal(ctx context.Context, tx *sql.Tx, n int64) error {
	jobs := knownJobs{}
	if err := jobs.readRows(ctx, tx, n); err != nil {
		return err
	}
	return putSums(ctx, tx, n, jobs.at(n).actual)
}

func putSums(ctx context.Context, tx *sql.Tx, n int64, s sums) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO job_sums (job, job_row, steps) VALUES ($1, $2, $3)
		ON CONFLICT (job) DO UPDATE SET job_row = excluded.job_row, steps = excluded.steps`, n, s.row, s.steps)
	return err
}
