package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// Open opens the ledger at path, or creates it with mode 0600, and compares it
// with its log: each gets back from the other the jobs and identifiers that it
// lost. A damaged file is put aside, and everything still readable in it is
// carried over. notice says what was wrong, or is empty.
//
// A ledger that cannot be written is opened for reading (see Frozen). The errors
// are those of database.Open.
func Open(ctx context.Context, path string, now func() time.Time) (l *Ledger, notice string, err error) {
	l = newLedger(nil, now)
	carried := 0
	db, damage, err := database.Open(ctx, path, database.Options{
		Name: "ledger", Migrations: migrations[:], Oldest: oldestSchema, Tables: []string{"jobs", "job_steps", "marks"}, Now: now, Busy: database.Busy, Synced: true, Readable: true,
		Replaced: func(ctx context.Context, fresh *database.DB, kept string) {
			carried = newLedger(fresh, now).salvage(ctx, kept)
		},
	})
	if err != nil {
		return nil, "", err
	}
	l.db = db
	var notes []string
	if damage != nil {
		notes = append(notes, fmt.Sprintf("The ledger %s was damaged (%v). It is kept as %s. Carried over from it: %s.",
			db.Path(), damage.Err, damage.SavedAs, counted(carried, "job", "jobs")))
	}
	if db.Frozen() == nil {
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

// reconcile compares the ledger with its log if the log's size differs from the
// one the ledger remembers: after a crash, after one of them was cut off,
// replaced or deleted, or after several processes wrote to them.
func (l *Ledger) reconcile(ctx context.Context) (notice string, err error) {
	var remembered int64
	if err := l.db.QueryRowContext(ctx, "SELECT logged FROM marks").Scan(&remembered); err != nil {
		return "", l.db.Fault("reading its mark", err)
	}
	path := logPath(l.Path())
	switch info, err := os.Stat(path); {
	case err == nil && info.Size() == remembered, errors.Is(err, os.ErrNotExist) && remembered == 0:
		return "", nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	entries, size, damaged, err := readLog(path)
	if err != nil {
		return "", err
	}
	back, named, cut := 0, 0, false
	err = l.db.Write(ctx, "restoring jobs from the log", func(ctx context.Context, tx *sql.Tx) error {
		known, highest, err := l.known(ctx, tx)
		if err != nil {
			return err
		}
		for _, n := range slices.Sorted(maps.Keys(entries)) {
			highest = max(highest, n)
			did, err := l.restore(ctx, tx, n, entries[n], known)
			if err != nil {
				return err
			}
			switch _, has := known[n]; {
			case did && has:
				named++
			case did:
				back++
			}
		}
		lost := missing(known, entries)
		if len(lost) > 0 {
			cut = wasCut(lost, known)
			if size, err = appendLog(path, lost...); err != nil {
				return database.Classify(err)
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE marks SET number = $1, logged = $2", highest, size)
		return err
	})
	if err != nil {
		return "", err
	}
	return reconciled(l.Path(), back, named, damaged, cut), nil
}

// reconciled says what reconcile found: restored jobs and identifiers, damaged lines, a cut log.
func reconciled(path string, back, named, damaged int, cut bool) string {
	var notes []string
	if back > 0 {
		notes = append(notes, fmt.Sprintf("Restored from the log of the ledger %s: %s. What happened since is unknown: ask the service with 'zonedeck jobs watch'.",
			path, counted(back, "job", "jobs")))
	}
	if named > 0 {
		notes = append(notes, fmt.Sprintf("Restored from the log of the ledger %s: %s.",
			path, counted(named, "job identifier", "job identifiers")))
	}
	if cut {
		notes = append(notes, fmt.Sprintf("The ledger's log %s was cut or deleted; its lines were rewritten.", logPath(path)))
	}
	if damaged > 0 {
		notes = append(notes, fmt.Sprintf("%s of the ledger's log %s could not be read.", counted(damaged, "line", "lines"), logPath(path)))
	}
	return strings.Join(notes, " ")
}

// row is a job as reconcile needs it.
type row struct {
	job           model.Job
	digest, owner string
}

// known returns the jobs of the ledger, and the highest number it has given out.
func (l *Ledger) known(ctx context.Context, tx *sql.Tx) (jobs map[int64]row, highest int64, err error) {
	if err := tx.QueryRowContext(ctx, "SELECT number FROM marks").Scan(&highest); err != nil {
		return nil, 0, err
	}
	jobs = map[int64]row{}
	err = database.Each(ctx, tx, "SELECT "+jobColumns+", digest, owner FROM jobs", nil, func(s database.Scanner) error {
		var r row
		var err error
		// A job counts as known even if its row has an impossible time.
		if r.job, err = scanJob(s, &r.digest, &r.owner); err != nil && !errors.Is(err, database.ErrCorrupt) {
			return err
		}
		n, err := parseJobID(r.job.ID)
		if err != nil {
			return err
		}
		jobs[n], highest = r, max(highest, n)
		return nil
	})
	return jobs, highest, err
}

// restore writes what only the log knows about a job to the ledger, and reports
// whether there was anything. It leaves a job of a live process alone.
func (l *Ledger) restore(ctx context.Context, tx *sql.Tx, n int64, e logged, known map[int64]row) (bool, error) {
	r, has := known[n]
	if !has {
		job := model.Job{
			Profile: e.begun.Profile, Dataset: e.begun.Dataset, KeyName: e.begun.Key, Inputs: e.begun.Inputs,
			Done: -1, Records: -1, Created: e.begun.At, Updated: l.after(e.begun.At, e.at), State: model.JobMayHave,
			Detail: "the ledger lost this job; whether it was sent is not known", Request: e.begun.Asked,
		}
		if e.snapshot != "" {
			job.State, job.Snapshot, job.Accepted, job.Detail = model.JobAccepted, e.snapshot, e.at, ""
			if job.Created.IsZero() {
				job.Created = e.at
			}
		}
		return true, insert(ctx, tx, n, job, e.begun.Digest, "", "restored from the ledger's log")
	}
	if e.snapshot == "" || r.job.Snapshot != "" || l.ownerAlive(r.owner) {
		return false, nil
	}
	accept(&r.job, e)
	r.job.Updated = l.after(r.job.Updated, e.at)
	if err := update(ctx, tx, n, r.job); err != nil {
		return false, err
	}
	return true, insertStep(ctx, tx, n, model.JobStep{At: r.job.Updated, State: r.job.State, Text: acceptedText(e)})
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

// missing returns the records that the log should have but lacks.
func missing(known map[int64]row, entries map[int64]logged) []record {
	var lost []record
	for _, n := range slices.Sorted(maps.Keys(known)) {
		r, e := known[n], entries[n]
		if e.begun.Job == 0 {
			lost = append(lost, begunRecord(n, r.job, r.digest))
		}
		if e.snapshot == "" && r.job.Snapshot != "" {
			lost = append(lost, record{At: r.job.Accepted, Job: n, Event: accepted, Snapshot: r.job.Snapshot})
		}
	}
	return lost
}

// wasCut reports whether the log lost a record that it once had. The intent of a job that was not sent
// may never have been there: the process may have been killed before it wrote that line.
func wasCut(lost []record, known map[int64]row) bool {
	return slices.ContainsFunc(lost, func(r record) bool {
		state := known[r.Job].job.State
		return r.Event != begun || state != model.JobIntent && state != model.JobNotSent
	})
}

// salvage carries over every job still readable in a damaged file, and returns their number. It
// reads from both ends, so one bad page costs only its own rows; those come back from the log,
// without their steps.
func (l *Ledger) salvage(ctx context.Context, kept string) int {
	old := database.Peek(kept)
	defer func() { _ = old.Close() }() // it was only read
	var number int64
	_ = old.QueryRowContext(ctx, "SELECT number FROM marks").Scan(&number) // stays 0 if it cannot be read
	err := l.db.Write(ctx, "carrying its numbers over", func(ctx context.Context, tx *sql.Tx) error {
		// No log has this size, so reconcile compares the two.
		_, err := tx.ExecContext(ctx, "UPDATE marks SET number = $1, logged = -1", max(number, 0))
		return err
	})
	if err != nil {
		return 0
	}
	carried := map[int64]bool{}
	for _, order := range []string{"ASC", "DESC"} {
		// An error is the damage: the rows before it count.
		_ = database.Each(ctx, old, "SELECT "+jobColumns+", digest FROM jobs ORDER BY n "+order, nil, func(s database.Scanner) error {
			var digest string
			job, err := scanJob(s, &digest)
			if errors.Is(err, database.ErrCorrupt) {
				return nil // this row alone
			}
			if err != nil {
				return err
			}
			n, err := parseJobID(job.ID)
			if err != nil || carried[n] {
				return nil //nolint:nilerr // a number that no job can have is passed over
			}
			job.Steps, _ = readSteps(ctx, old, n) // a job without its steps is better than none
			job.Updated = l.after(job.Updated)
			var request []byte
			_ = old.QueryRowContext(ctx, "SELECT request FROM job_requests WHERE job = $1", n).Scan(&request) // it may have none
			err = l.db.Write(ctx, "carrying a job over", func(ctx context.Context, tx *sql.Tx) error {
				if err := insert(ctx, tx, n, job, digest, "", "carried over from a damaged ledger"); err != nil {
					return err
				}
				return l.insertRequest(ctx, tx, n, request)
			})
			carried[n] = err == nil
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
