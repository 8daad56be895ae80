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
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
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
	files, checked := fingerprint(path), tables
	verified, err := os.ReadFile(verifiedPath(path))
	switch {
	case files == "": // it may be large
		checked = tables[:len(tables)-1] // not what jobs asked for
	case err == nil && string(verified) == files:
		checked = nil
	}
	l, notice, err = attach(ctx, path, now, checked)
	if err == nil && notice == "" && len(checked) == len(tables) && !l.waits && l.Frozen() == nil {
		_ = textfile.Write(verifiedPath(path), []byte(files)) // without it the next Open takes longer
	}
	return l, notice, err
}

// OpenServer opens the ledger on a server, makes its tables, and compares it with the log of this machine, which is next to
// path. machine names this machine among those that share the ledger. Close leaves the server open.
func OpenServer(ctx context.Context, s *database.Server, path, machine string, now func() time.Time) (l *Ledger, notice string, err error) {
	if err := s.Migrate(ctx, "ledger", migrations[:]); err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, "", err
	}
	l = newLedger(s.InTurn("ledger", path), now)
	l.machine = machine
	if notice, err = l.reconcile(ctx); err != nil {
		return nil, "", fmt.Errorf("comparing the ledger in %s with its log: %w", s, err)
	}
	return l, notice, nil
}

var tables = []string{"jobs", "job_steps", "marks", "job_sums", "job_requests"}

// attach opens the ledger, checks some tables, and compares it with its log. If none is to be checked, it is as it was
// when nothing was wrong with it.
func attach(ctx context.Context, path string, now func() time.Time, checked []string) (l *Ledger, notice string, err error) {
	carried := 0
	o := database.Options{
		Name: "ledger", Migrations: migrations[:], Oldest: oldestSchema, Tables: tables, Checked: checked, Now: now, Busy: database.Busy, Synced: true, Readable: true,
		Replaced: func(ctx context.Context, fresh *database.DB, kept string) {
			carried = newLedger(fresh, now).salvage(ctx, kept)
		},
	}
	db, damage, err := database.Open(ctx, path, o)
	if err != nil {
		return nil, "", err
	}
	l = newLedger(db, now)
	switch {
	case damage == nil:
	case l.Frozen() != nil:
		notice = fmt.Sprintf("The ledger %s is damaged (%v). It was not repaired, because it cannot be written.", db.Path(), damage.Err)
	case damage.SavedAs == "":
		notice = fmt.Sprintf("The schema of the ledger %s was damaged (%v). It was written anew, and no job is lost.", db.Path(), damage.Err)
	default:
		notice = fmt.Sprintf("The ledger %s was damaged (%v). It is kept as %s. Carried over from it: %s.",
			db.Path(), damage.Err, damage.SavedAs, model.Counted(carried, "job"))
	}
	if checked != nil || damage != nil {
		note, err := l.reconcile(ctx)
		if err != nil {
			return nil, "", errors.Join(fmt.Errorf("comparing the ledger %s with its log: %w", path, err), l.Close())
		}
		notice = strings.TrimSpace(notice + " " + note)
	}
	return l, notice, nil
}

func newLedger(db *database.DB, now func() time.Time) *Ledger {
	return &Ledger{&files{db: db, keep: requests{jobs: 5000, bytes: 256 << 20}}, now}
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
	var number int64
	_ = old.QueryRowContext(ctx, "SELECT number FROM marks WHERE number BETWEEN 0 AND $1", maxNumber).Scan(&number) // an error is the damage, here and below
	err := l.db.Write(ctx, "carrying rows over", func(ctx context.Context, tx *sql.Tx) error {
		for _, read := range []struct{ table, columns string }{
			{"jobs", sealColumns}, {"jobs", strings.Replace(sealColumns, ", "+laterColumns, "", 1)}, // which an earlier build's have not
			{"job_steps", "job, seq, at, state, text"}, {"job_sums", "job, job_row, steps"}, {"job_requests", "job, request"},
		} {
			table, columns := read.table, read.columns
			n := strings.Count(columns, ",") + 1
			insert := "INSERT INTO " + table + " (" + columns + ") VALUES " + database.Places(1, n) + " ON CONFLICT DO NOTHING"
			for _, order := range []string{"ASC", "DESC"} {
				_ = database.Each(ctx, old, "SELECT "+columns+" FROM "+table+" ORDER BY 1 "+order, nil, func(row database.Scanner) error {
					read, err := values(row, n)
					if err == nil {
						_, _ = tx.ExecContext(ctx, insert, read...)
					}
					return err
				})
			}
		}
		// A job that was not carried over is then in the log or reported as lost. Without any sum, the jobs are yet to get theirs.
		const sealed = "EXISTS (SELECT 1 FROM job_sums)"
		_, _ = tx.ExecContext(ctx, "INSERT INTO job_sums SELECT $1, $2, 0 WHERE $1 > 0 AND "+sealed+" ON CONFLICT DO NOTHING", number, lostJob)
		_, err := tx.ExecContext(ctx, "UPDATE marks SET logged = iif("+sealed+", 0, logged), number = coalesce(nullif($1, 0), (SELECT max(job) FROM job_sums WHERE job <= $2), 0)", number, maxNumber)
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM jobs").Scan(&jobs)
	})
	if err != nil {
		return 0
	}
	return jobs
}
