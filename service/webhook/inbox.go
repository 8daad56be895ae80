package webhook

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// ErrUnknown says that the inbox has no such webhook.
var ErrUnknown = errors.New("the inbox has no such webhook")

// oldestSchema is database.Options.Oldest: the schema that the first migration makes.
const oldestSchema = 3

// migrations are database.Options.Migrations. All statements of this package also work on
// PostgreSQL.
var migrations = [...]string{
	`
CREATE TABLE deliveries (
	n        BIGINT PRIMARY KEY,
	identity TEXT NOT NULL,
	at       BIGINT NOT NULL,
	last     BIGINT NOT NULL,
	wall     BIGINT NOT NULL,
	seen     INTEGER NOT NULL,
	target   TEXT NOT NULL,
	token    TEXT NOT NULL,
	remote   TEXT NOT NULL,
	headers  TEXT NOT NULL,
	size     BIGINT NOT NULL,
	sha256   TEXT NOT NULL,
	file     TEXT NOT NULL,
	sender   TEXT NOT NULL,
	early    TEXT NOT NULL,
	verdict  TEXT NOT NULL,
	passed   TEXT NOT NULL,
	why      TEXT NOT NULL,
	job      TEXT NOT NULL,
	snapshot TEXT NOT NULL,
	outcome  TEXT NOT NULL,
	marked   INTEGER NOT NULL,
	worked   INTEGER NOT NULL,
	repeats  TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX deliveries_identity ON deliveries (identity);
CREATE INDEX deliveries_worked ON deliveries (worked);
CREATE INDEX deliveries_job ON deliveries (job);

CREATE TABLE marks (
	number  BIGINT NOT NULL,
	changes BIGINT NOT NULL DEFAULT 0 -- whatever shows the inbox reads it again when this number changes
);
INSERT INTO marks (number) VALUES (0);
`,
	"ALTER TABLE marks RENAME TO inbox_marks;", // on a server the ledger has its marks beside it
}

// onServer makes the tables on a server, where the ledger has a table of marks.
var onServer = []string{strings.ReplaceAll(migrations[0], "marks (", "inbox_marks (")}

const columns = `n, at, last, seen, target, remote, headers, size, sha256, file, sender, verdict, passed, why, job, snapshot, outcome, marked, worked, token, wall, early, repeats`

// listed are the columns without those that may be large.
var listed = strings.NewReplacer(" headers,", " '',", " repeats", " ''").Replace(columns)

// Inbox is an open inbox. It is safe for concurrent use, and several processes may have it open.
type Inbox struct {
	db     *database.DB
	dir    string
	origin string // begins the stored names of bodies on this machine: "" in a file, "MACHINE/" on a server
	clock  Clock
	ledger Ledger // or nil
	// refused are the runs of refusals at this process's receiver, or nil.
	refused atomic.Pointer[[]model.WebhookRefusals]
}

// Options say where an inbox is.
type Options struct {
	// File is the database, Dir the folder of the bodies.
	File, Dir string
	// Clock is the one by which webhooks are dated and cleaned up.
	Clock Clock
	// Ledger knows jobs; nil knows none.
	Ledger Ledger
	// Server has the rows in place of the file, for several machines; the bodies stay on each. Machine names this one.
	Server  *database.Server
	Machine string
}

// Ledger finds jobs.
type Ledger interface {
	// WebhookJobs returns jobs by their identifiers, without unknown ones.
	WebhookJobs(ctx context.Context, ids []string) (map[string]model.WebhookJob, error)
}

// Open opens the inbox, or creates it with modes 0600 and 0700. notice says what was wrong with the
// file, or is empty. Errors are those of database.Open and the system's.
func Open(ctx context.Context, o Options) (in *Inbox, notice string, err error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, "", err
	}
	if o.Server != nil {
		if err := o.Server.Migrate(ctx, "inbox", onServer); err != nil {
			return nil, "", err
		}
		return newInbox(o.Server.InTurn("inbox", o.File), o), "", nil
	}
	db, damage, err := database.Open(ctx, o.File, database.Options{
		Name: "inbox", Migrations: migrations[:], Oldest: oldestSchema, Tables: []string{"deliveries", "inbox_marks"}, Now: o.Clock.Now, Busy: database.Busy, Synced: true, Readable: true,
	})
	if err != nil {
		return nil, "", err
	}
	if damage != nil {
		notice = fmt.Sprintf("The inbox %s was damaged (%v). It is kept as %s, and a new one was begun; the bodies of its webhooks stay in %s.", db.Path(), damage.Err, damage.SavedAs, o.Dir)
	}
	return newInbox(db, o), notice, nil
}

func newInbox(db *database.DB, o Options) *Inbox {
	in := &Inbox{db: db, dir: o.Dir, clock: o.Clock, ledger: o.Ledger}
	if o.Machine != "" {
		in.origin = o.Machine + "/"
	}
	return in
}

// Close closes the file.
func (in *Inbox) Close() error { return in.db.Close() }

// row is a webhook as stored.
type row struct {
	model.Webhook
	n      int64
	token  string
	wall   time.Time // of its arrival, by the machine's clock
	checks []check
}

func parseID(id string) (int64, error) {
	digits, ok := strings.CutPrefix(id, "hook-")
	if ok {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n > 0 && model.WebhookID(n) == id {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q: %w", id, ErrUnknown)
}

// identity is the same for two webhooks with the same bytes, address and sender's identifier, if any.
// A different body with the same identifier is another webhook: nothing says which of the two is meant,
// and the parts of a result may share an identifier.
func identity(sender, target, digest string) string {
	sum := sha256.Sum256([]byte(sender + "\x00" + target + "\x00" + digest))
	return hex.EncodeToString(sum[:])
}

func (in *Inbox) scan(s database.Scanner) (row, error) {
	var r row
	var headers, passed, early, repeats string
	err := s.Scan(&r.n, database.Time(&r.At), database.Time(&r.Last), &r.Times, &r.Target, &r.Remote, &headers, &r.Size, &r.SHA256, &r.File,
		&r.SenderID, &r.Verdict, &passed, &r.Reason, &r.Job, &r.Snapshot, &r.Outcome, &r.Bookmarked, &r.Worked, &r.token, database.Time(&r.wall), &early, &repeats)
	if err != nil {
		return r, err
	}
	r.ID = model.WebhookID(r.n)
	if file, ok := in.here(r.File); ok {
		r.File = file
	} else {
		origin, name := path.Split(r.File)
		r.File, r.Machine = name, strings.TrimSuffix(origin, "/")
	}
	for _, c := range []struct {
		text string
		into any
	}{{headers, &r.Headers}, {passed, &r.By}, {early, &r.checks}, {repeats, &r.Repeats}} {
		if c.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(c.text), c.into); err != nil {
			return r, fmt.Errorf("%w: %s: %w", database.ErrCorrupt, r.ID, err)
		}
	}
	return r, nil
}

// here is the file of a stored name, if it is this machine's: received here, or in this folder since the machine had another name.
func (in *Inbox) here(stored string) (file string, ok bool) {
	origin, name := path.Split(stored)
	if file = filepath.Join(in.dir, name); origin == in.origin {
		return file, true
	}
	_, err := os.Stat(file)
	return file, err == nil
}

// each calls take for the rows of a query.
func (in *Inbox) each(ctx context.Context, query, doing string, args []any, take func(row) error) error {
	err := database.Each(ctx, in.db, query, args, func(s database.Scanner) error {
		r, err := in.scan(s)
		if err != nil {
			return err
		}
		return take(r)
	})
	if err != nil {
		return in.db.Fault(doing, err)
	}
	return nil
}

func (in *Inbox) rows(ctx context.Context, clauses, doing string, args ...any) (out []row, err error) {
	err = in.each(ctx, "SELECT "+columns+" FROM deliveries "+clauses, doing, args, func(r row) error {
		out = append(out, r)
		return nil
	})
	return out, err
}

// Get finds a webhook. If there is none, the error wraps ErrUnknown.
func (in *Inbox) Get(ctx context.Context, id string) (model.Webhook, error) {
	r, err := in.get(ctx, id)
	if err != nil {
		return model.Webhook{}, err
	}
	return in.withStates(ctx, []row{r})[0].Webhook, nil
}

func (in *Inbox) get(ctx context.Context, id string) (row, error) {
	n, err := parseID(id)
	if err != nil {
		return row{}, err
	}
	rows, err := in.rows(ctx, "WHERE n = $1", "reading "+id, n)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	if err != nil {
		return row{}, err
	}
	return rows[0], nil
}

// Bookmark keeps a webhook from being cleaned up, or no longer does.
func (in *Inbox) Bookmark(ctx context.Context, id string, on bool) error {
	n, err := parseID(id)
	if err != nil {
		return err
	}
	return in.change(ctx, "marking "+id, "UPDATE deliveries SET marked = $1 WHERE n = $2", number(on), n)
}

// write runs fn in a transaction that changes webhooks, and counts the change.
func (in *Inbox) write(ctx context.Context, doing string, fn func(context.Context, *sql.Tx) error) error {
	return in.db.Write(ctx, doing, func(ctx context.Context, tx *sql.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE inbox_marks SET changes = changes + 1")
		return err
	})
}

// Changes returns a number that grows with each change of a webhook, by any process.
func (in *Inbox) Changes(ctx context.Context) (n int64, err error) {
	if err := in.db.QueryRowContext(ctx, "SELECT changes FROM inbox_marks").Scan(&n); err != nil {
		return 0, in.db.Fault("reading the inbox", err)
	}
	return n, nil
}

// change runs one statement that must affect one webhook.
func (in *Inbox) change(ctx context.Context, doing, statement string, args ...any) error {
	return in.write(ctx, doing, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		if met, err := res.RowsAffected(); err != nil || met != 1 {
			return errors.Join(ErrUnknown, err)
		}
		return nil
	})
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // strings and lists can always be written
	}
	return string(b)
}
