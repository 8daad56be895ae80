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
	l, notice, err = attach(ctx, path, now, unchanged)
	if errors.Is(err, database.ErrCorrupt) {
		l, notice, err = attach(ctx, path, now, false) // which reads the whole file now
	}
	if err == nil && notice == "" && !unchanged && files != "" && l.Frozen() == nil {
		_ = textfile.Write(verifiedPath(path), []byte(files)) // without it the next Open takes longer
	}
	return l, notice, err
}

// attach opens the ledger. Of files that are unchanged since nothing was wrong with them nothing is compared.
func attach(ctx context.Context, path string, now func() time.Time, unchanged bool) (l *Ledger, notice string, err error) {
	carried := 0
	o := database.Options{
		Name: "ledger", Migrations: migrations[:], Oldest: oldestSchema, Tables: []string{"jobs", "job_steps", "marks", "job_sums"}, Now: now, Busy: database.Busy, Synced: true, Readable: true,
		Replaced: func(ctx context.Context, fresh *database.DB, kept string) {
			carried = newLedger(fresh, now).salvage(ctx, kept)
		},
	}
	if !unchanged {
		o.Checked = o.Tables // not what jobs asked for, which may be large
	}
	db, damage, err := database.Open(ctx, path, o)
	if err != nil {
		return nil, "", err
	}
	l = newLedger(db, now)
	var notes []string
	switch {
	case damage == nil:
	case damage.SavedAs == "":
		notes = append(notes, fmt.Sprintf("The schema of the ledger %s was damaged (%v). It was written anew, and no job is lost.", db.Path(), damage.Err))
	default:
		notes = append(notes, fmt.Sprintf("The ledger %s was damaged (%v). It is kept as %s. Carried over from it: %s.",
			db.Path(), damage.Err, damage.SavedAs, counted(carried, "job", "jobs")))
	}
	if !unchanged {
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

// salvage carries over every job still readable in a damaged file, and returns their number. It
// reads from both ends, so one bad page costs only its own rows; those come back from the log,
// without their steps, and so do rows that are not as they were written.
func (l *Ledger) salvage(ctx context.Context, kept string) int {
	old := database.Peek(kept)
	defer func() { _ = old.Close() }() // it was only read
	// Errors are the damage: what was read before them counts.
	c, _ := l.contents(ctx, old)
	c.sums, _ = readSums(ctx, old)
	c.log, _, _ = readLog(logPath(l.Path()))
	err := l.db.Write(ctx, "carrying its numbers over", func(ctx context.Context, tx *sql.Tx) error {
		// The jobs that are not carried over are then either in the log or reported as lost.
		highest := int64(0)
		put := func(n int64, s sums) (err error) {
			if n > 0 && n <= maxNumber {
				highest, err = max(highest, n), putSums(ctx, tx, n, s)
			}
			return err
		}
		err := put(c.number, sums{row: lostJob})
		for n, s := range c.sums {
			err = errors.Join(err, put(n, s))
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE marks SET number = $1, logged = 0", highest)
		return err
	})
	if err != nil {
		return 0
	}
	carried := map[int64]bool{}
	for _, order := range []string{"ASC", "DESC"} {
		_ = eachRow(ctx, old, "ORDER BY n "+order, nil, func(n int64, _ storedRow) error {
			if !carried[n] {
				carried[n] = l.carryOver(ctx, old, c, n)
			}
			return nil
		})
	}
	total := 0
	for _, ok := range carried {
		if ok {
			total++
		}
	}
	return total
}

// carryOver carries a job over from a damaged file, unless the log knows better.
func (l *Ledger) carryOver(ctx context.Context, old *database.DB, c contents, n int64) bool {
	rows, _ := storedRows(ctx, old, n) // its steps as far as they can be read
	c.rows = rows
	if r := c.judge(n); len(rows) == 0 || r == rowRestored || r == rowStray {
		return false
	}
	var digest string
	job, err := scanJob(old.QueryRowContext(ctx, "SELECT "+jobColumns+", digest FROM jobs WHERE n = $1", n), &digest)
	if err != nil {
		return false
	}
	job.Steps, _ = readSteps(ctx, old, n) // a job without its steps is better than none
	job.Updated = l.after(job.Updated)
	var request []byte
	_ = old.QueryRowContext(ctx, "SELECT request FROM job_requests WHERE job = $1", n).Scan(&request) // it may have none
	return l.db.Write(ctx, "carrying a job over", func(ctx context.Context, tx *sql.Tx) error {
		if err := insert(ctx, tx, n, job, digest, "", "carried over from a damaged ledger"); err != nil {
			return err
		}
		return l.insertRequest(ctx, tx, n, request)
	}) == nil
}
