package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/service/database"
)

// Open opens the ledger at path, or creates it with mode 0600, and compares it with
// its checksums and its log: each gets back from the others the jobs and identifiers
// that it lost. A damaged schema is written anew; any other damaged file is put aside,
// and everything still readable in it is carried over. notice says what was wrong, or
// is empty.
//
// A ledger that cannot be written is opened for reading (see Frozen). The errors
// are those of database.Open.
func Open(ctx context.Context, path string, now func() time.Time) (l *Ledger, notice string, err error) {
	files := fingerprint(path)
	verified, err := os.ReadFile(verifiedPath(path))
	unchanged := err == nil && files != "" && string(verified) == files
	l, notice, err = attach(ctx, path, now, unchanged, files == "")
	if errors.Is(err, database.ErrCorrupt) {
		l, notice, err = attach(ctx, path, now, false, false) // which reads the whole file now
	}
	if err == nil && notice == "" && !unchanged && files != "" && l.Frozen() == nil {
		_ = textfile.Write(verifiedPath(path), []byte(files)) // without it the next Open takes longer
	}
	return l, notice, err
}

// attach opens the ledger. Of files that are unchanged since nothing was wrong with them nothing is compared.
func attach(ctx context.Context, path string, now func() time.Time, unchanged, large bool) (l *Ledger, notice string, err error) {
	carried := 0
	o := database.Options{
		Name: "ledger", Migrations: migrations[:], Oldest: oldestSchema, Tables: []string{"jobs", "job_steps", "marks", "job_sums", "job_requests"}, Now: now, Busy: database.Busy, Synced: true, Readable: true,
		Replaced: func(ctx context.Context, fresh *database.DB, kept string) {
			carried = newLedger(fresh, now).salvage(ctx, kept)
		},
	}
	if !unchanged {
		o.Checked = o.Tables
		if large {
			o.Checked = o.Checked[:4] // not what jobs asked for
		}
	}
	db, damage, err := database.Open(ctx, path, o)
	if err != nil {
		return nil, "", err
	}
	l = newLedger(db, now)
	var notes []string
	switch {
	case damage == nil:
	case l.Frozen() != nil:
		notes = append(notes, fmt.Sprintf("The ledger %s is damaged (%v). It was not repaired, because it cannot be written.", db.Path(), damage.Err))
	case damage.SavedAs == "":
		notes = append(notes, fmt.Sprintf("The schema of the ledger %s was damaged (%v). It was written anew, and no job is lost.", db.Path(), damage.Err))
	default:
		notes = append(notes, fmt.Sprintf("The ledger %s was damaged (%v). It is kept as %s. Carried over from it: %s.",
			db.Path(), damage.Err, damage.SavedAs, counted(carried, "job", "jobs")))
	}
	if !unchanged || damage != nil {
		note, err := l.reconcile(ctx)
		if err != nil {
			return nil, "", errors.Join(fmt.Errorf("comparing the ledger %s with its log: %w", path, err), l.Close())
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return l, strings.Join(notes, " "), nil
}

func newLedger(db *database.DB, now func() time.Time) *Ledger {
	return &Ledger{&files{db: db, keep: keptRequests()}, now}
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// verifiedPath is a file with the fingerprint of a ledger that nothing was wrong with.
func verifiedPath(path string) string { return path + ".verified" }

// maxFingerprint bounds what is read for a fingerprint. Beyond, comparing the jobs costs less: it does not read what
// they asked for.
const maxFingerprint = 32 << 20

// fingerprint is one of the bytes of the ledger's files; empty if there is none.
func fingerprint(path string) string {
	sum, left := crc32.New(castagnoli), int64(maxFingerprint)
	for _, name := range []string{path, path + "-wal", logPath(path)} {
		f, err := textfile.Open(name)
		if name != path && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return ""
		}
		n, err := io.Copy(sum, io.LimitReader(f, left))
		if left -= n; errors.Join(err, f.Close()) != nil || left <= 0 {
			return ""
		}
		_, _ = sum.Write(strconv.AppendInt(nil, n, 10)) // it never fails
	}
	return fmt.Sprintf("%08x %d", sum.Sum32(), maxFingerprint-left)
}

// salvage carries over every row still readable in a damaged file, and returns how many jobs these are. It reads from
// both ends, so one bad page costs only its own rows. reconcile then compares them with their sums and the log.
func (l *Ledger) salvage(ctx context.Context, kept string) (jobs int) {
	old := database.Peek(kept)
	defer func() { _ = old.Close() }() // it was only read
	number := int64(-1)
	_ = old.QueryRowContext(ctx, "SELECT number FROM marks").Scan(&number) // an error is the damage, here and below
	err := l.db.Write(ctx, "carrying rows over", func(ctx context.Context, tx *sql.Tx) error {
		rows := map[string]int{}
		for table, columns := range map[string]string{
			"jobs": sealColumns, "job_steps": "job, seq, at, state, text", "job_sums": "job, job_row, steps", "job_requests": "job, request",
		} {
			n := strings.Count(columns, ",") + 1
			for _, order := range []string{"ASC", "DESC"} {
				_ = database.Each(ctx, old, "SELECT "+columns+" FROM "+table+" ORDER BY 1 "+order, nil, func(row database.Scanner) error {
					read, err := values(row, n)
					if err == nil {
						if done, err := tx.ExecContext(ctx, "INSERT INTO "+table+" ("+columns+") VALUES "+database.Places(1, n)+" ON CONFLICT DO NOTHING", read...); err == nil {
							n, _ := done.RowsAffected() // the driver knows it
							rows[table] += int(n)
						}
					}
					return err
				})
			}
		}
		jobs = rows["jobs"]
		// A job that was not carried over is then in the log or reported as lost.
		if rows["job_sums"] > 0 && number > 0 && number <= maxNumber {
			_, _ = tx.ExecContext(ctx, "INSERT INTO job_sums VALUES ($1, $2, 0) ON CONFLICT DO NOTHING", number, lostJob)
		}
		mark := "UPDATE marks SET number = $1" // and the jobs are yet to get their sums
		if rows["job_sums"] > 0 {
			mark = "UPDATE marks SET logged = 0, number = (SELECT max(job) FROM job_sums WHERE job <= $1)"
			number = maxNumber
		}
		_, err := tx.ExecContext(ctx, mark, max(number, 0))
		return err
	})
	if err != nil {
		return 0
	}
	return jobs
}
