package ledger

import (
	"context"
	"database/sql"
	"hash/crc32"
	"math"
	"strconv"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// sums are the checksums of a job's row and of its steps. A row that was damaged and can still be read has another.
type sums struct{ row, steps int64 }

const (
	// lostJob is the row's sum of a job that no file has any more, once that was reported.
	lostJob = -1
	// migrated is the mark of a ledger that an earlier build wrote: its jobs are yet to get their sums.
	migrated = -2
	// sealColumns are what a row's sum covers.
	sealColumns = jobColumns + ", digest, owner"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// known is what the ledger, its sums and its log know about one job.
type known struct {
	columns []any // the sealColumns of its row; nil if there is none
	actual  sums  // of its row and steps as they are now
	sealed  *sums // as they were when the job was last written, or nil
	log     logged
}

func (k *known) text(column int) string {
	s, _ := k.columns[column].(string)
	return s
}

func (k *known) time(column int) (t time.Time) {
	_ = database.Time(&t).Scan(k.columns[column]) // zero if it cannot be read
	return t
}

func (k *known) dataset() string  { return k.text(3) }
func (k *known) digest() string   { return k.text(24) }
func (k *known) owner() string    { return k.text(25) }
func (k *known) snapshot() string { return k.text(1) }
func (k *known) state() model.JobState {
	return model.JobState(k.text(5))
}

// agrees reports whether row and log are about the same job, by what no later change of a job alters.
func (k *known) agrees() bool {
	b, e := k.log.begun, k.log
	return e.known() && (b.Job == 0 || k.dataset() == b.Dataset && k.digest() == b.Digest) && (e.snapshot == "" || k.snapshot() == "" || k.snapshot() == e.snapshot)
}

// lacking are the lines about a job that the log should have and lacks.
func (k *known) lacking(n int64) (lines []record) {
	if k.log.begun.Job == 0 {
		job := model.Job{Created: k.time(14), Profile: k.text(2), Dataset: k.dataset(), KeyName: k.text(4), Inputs: int(integer(k.columns[9]))}
		_ = askedText(&job.Request).Scan(k.columns[23]) // nil if it cannot be read
		lines = append(lines, begunRecord(n, job, k.digest()))
	}
	if snapshot := k.snapshot(); snapshot != "" && snapshot != k.log.snapshot {
		lines = append(lines, record{At: k.time(15), Job: n, Event: accepted, Snapshot: snapshot})
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

// readRows reads the rows and steps of all jobs, or of one. A column with a value of another type is not what was
// written, even if it reads the same.
func (jobs knownJobs) readRows(ctx context.Context, q database.Queryer, one ...any) error {
	ofRows, ofSteps := "", ""
	if len(one) > 0 {
		ofRows, ofSteps = "WHERE n = $1", "WHERE job = $1"
	}
	var buf []byte
	err := database.Each(ctx, q, "SELECT "+sealColumns+" FROM jobs "+ofRows, one, func(row database.Scanner) error {
		columns, err := values(row, 26)
		buf = buf[:0]
		for _, v := range columns {
			switch v := v.(type) {
			case string:
				buf = append(append(buf, 't'), v...)
			case int64:
				buf = strconv.AppendInt(append(buf, 'i'), v, 10)
			default:
				buf = append(buf, 'x') // no column of a job has such a value
			}
			buf = append(buf, 0)
		}
		k := jobs.at(integer(columns[0]))
		k.columns, k.actual.row = columns, int64(crc32.Checksum(buf, castagnoli))
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
