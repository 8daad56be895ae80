package ledger

import (
	"context"
	"database/sql"
	"hash/crc32"
	"math"
	"slices"
	"strconv"

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
	job, begun, logged := k.job, k.log.begun, k.log.snapshot
	return k.readable && k.log.known() && slices.Contains(model.JobStates(), job.State) &&
		(begun.Job == 0 || job.Dataset == begun.Dataset && k.digest == begun.Digest && job.KeyName == begun.Key &&
			(job.Profile == begun.Profile || begun.Profile == "") && (job.Inputs == begun.Inputs || begun.Inputs == 0)) &&
		(job.Snapshot == "" || job.Snapshot == logged || logged == "" && k.sealed == nil)
}

// lacking are the lines about a job that the log should have and lacks.
func (k *known) lacking(n int64) (lines []record) {
	if k.log.begun.Job == 0 {
		lines = append(lines, begunRecord(n, k.job, k.digest))
	}
	if snapshot := k.job.Snapshot; snapshot != "" && snapshot != k.log.snapshot {
		lines = append(lines, record{At: k.job.Accepted, Job: n, Event: accepted, Snapshot: snapshot})
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
		k := jobs.at(integer(columns[0]))
		var unreadable error
		k.job, unreadable = scanJob(row, &k.digest, &k.owner)
		k.row, k.readable = true, unreadable == nil
		buf = buf[:0]
		for _, v := range columns {
			switch v := v.(type) {
			case string:
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
