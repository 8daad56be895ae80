package ledger

import (
	"context"
	"database/sql"
	"hash/crc32"
	"math"
	"strconv"

	"zonedeck/service/database"
)

// sums are the checksums of a job's row and of its steps. A row that was damaged and can still be read has another.
type sums struct{ row, steps int64 }

// lostJob is the row's sum of a job that is neither in the ledger nor in its log, once that was reported. Its number is
// never used again.
const lostJob = -1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealColumns are what a row's sum covers.
const sealColumns = jobColumns + ", digest, owner"

// Some of the sealColumns, by their places.
const (
	colSnapshot = 1
	colDataset  = 3
	colState    = 5
	colDigest   = 24
	colOwner    = 25
)

// storedRow is a job as the ledger's file has it, with its sums as they are now.
type storedRow struct {
	sums
	columns [colOwner + 1]any
}

func (r storedRow) text(column int) string {
	s, _ := r.columns[column].(string)
	return s
}

// agrees reports whether the log tells of the same job, by what no later change of a job alters.
func (r storedRow) agrees(e logged) bool {
	snapshot := r.text(colSnapshot)
	return (e.begun.Job == 0 || r.text(colDataset) == e.begun.Dataset && r.text(colDigest) == e.begun.Digest) &&
		(e.snapshot == "" || snapshot == "" || snapshot == e.snapshot)
}

// eachRow reads rows of jobs as they are stored: a column with a value of another type is not what was written, even if
// it reads the same.
func eachRow(ctx context.Context, q database.Queryer, clauses string, args []any, take func(n int64, r storedRow) error) error {
	var buf []byte
	return database.Each(ctx, q, "SELECT "+sealColumns+" FROM jobs "+clauses, args, func(s database.Scanner) error {
		var r storedRow
		into := make([]any, len(r.columns))
		for i := range into {
			into[i] = &r.columns[i]
		}
		if err := s.Scan(into...); err != nil {
			return err
		}
		buf = buf[:0]
		for _, v := range r.columns {
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
		r.row = int64(crc32.Checksum(buf, castagnoli))
		return take(integer(r.columns[0]), r)
	})
}

// storedRows reads all jobs, or those of some numbers, with the sums of their steps. With an error it returns what could
// be read.
func storedRows(ctx context.Context, q database.Queryer, numbers ...any) (map[int64]storedRow, error) {
	ofRows, ofSteps := "", ""
	if len(numbers) > 0 {
		ofRows, ofSteps = "WHERE n = $1", "WHERE job = $1"
	}
	rows := map[int64]storedRow{}
	err := eachRow(ctx, q, ofRows, numbers, func(n int64, r storedRow) error {
		rows[n] = r
		return nil
	})
	if err != nil {
		return rows, err
	}
	err = database.Each(ctx, q, "SELECT job, concat_ws('|', job, seq, at, state, text) FROM job_steps "+ofSteps+" ORDER BY job, seq", numbers, func(s database.Scanner) error {
		var job any
		var text sql.RawBytes
		err := s.Scan(&job, &text)
		if r, ok := rows[integer(job)]; ok && err == nil {
			r.steps = int64(crc32.Update(uint32(r.steps), castagnoli, text)) //nolint:gosec // it is such a sum
			rows[integer(job)] = r
		}
		return err
	})
	return rows, err
}

// seal gives a job that was written its checksums.
func seal(ctx context.Context, tx *sql.Tx, n int64) error {
	rows, err := storedRows(ctx, tx, n)
	if err != nil {
		return err
	}
	return putSums(ctx, tx, n, rows[n].sums)
}

func putSums(ctx context.Context, tx *sql.Tx, n int64, s sums) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO job_sums (job, job_row, steps) VALUES ($1, $2, $3)
		ON CONFLICT (job) DO UPDATE SET job_row = excluded.job_row, steps = excluded.steps`, n, s.row, s.steps)
	return err
}

func readSums(ctx context.Context, q database.Queryer) (map[int64]sums, error) {
	all := map[int64]sums{}
	err := database.Each(ctx, q, "SELECT job, job_row, steps FROM job_sums", nil, func(row database.Scanner) error {
		var job, ofRow, ofSteps any
		err := row.Scan(&job, &ofRow, &ofSteps)
		all[integer(job)] = sums{integer(ofRow), integer(ofSteps)}
		return err
	})
	return all, err
}

// integer is the value of a column of numbers. Another value, which only damage leaves there, is one that nothing has.
func integer(v any) int64 {
	if n, ok := v.(int64); ok {
		return n
	}
	return math.MinInt64
}

// migrated is the mark of a ledger whose jobs are yet to get their checksums: an earlier build wrote it.
const migrated = -2
