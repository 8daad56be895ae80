package drift

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// oldestSchema is database.Options.Oldest, the schema that the first of migrations makes.
const oldestSchema = 2

// migrations are database.Options.Migrations.
var migrations = [...]string{
	`
CREATE TABLE runs (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	profile  TEXT NOT NULL,
	kind     TEXT NOT NULL,
	name     TEXT NOT NULL,
	ref      TEXT NOT NULL,
	at       INTEGER NOT NULL,
	form     TEXT NOT NULL,
	returned INTEGER NOT NULL,
	useful   INTEGER NOT NULL,
	class    TEXT NOT NULL,
	cause    TEXT NOT NULL,
	state    TEXT NOT NULL,
	beyond   INTEGER NOT NULL,
	findings TEXT NOT NULL,
	fields   BLOB NOT NULL,
	sample   BLOB NOT NULL,
	asked    TEXT NOT NULL DEFAULT '["*"]', -- the fields that the fetch of a page required, as a list
	UNIQUE (profile, kind, name, ref)
) STRICT;
CREATE INDEX runs_at ON runs (profile, kind, name, at, seq);
CREATE INDEX runs_age ON runs (at);

CREATE TABLE accepted (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	profile TEXT NOT NULL,
	kind    TEXT NOT NULL,
	name    TEXT NOT NULL,
	ref     TEXT NOT NULL,
	run_at  INTEGER NOT NULL,
	run_seq INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	person  TEXT NOT NULL,
	reason  TEXT NOT NULL
) STRICT;
`,
	`ALTER TABLE runs DROP COLUMN sample;`,
}

// Named asks the collectors for database.Names.
const Named = "SELECT name, min(kind) FROM runs GROUP BY name ORDER BY max(seq) DESC LIMIT 200"

// Keep says how much is kept. The transaction that writes a run prunes the rest.
type Keep struct {
	Runs     int           // of a collector
	Age      time.Duration // of a run
	Bytes    int64         // of fields and findings
	Accepted int           // acceptances of a collector
}

// DefaultKeep is what a store keeps.
func DefaultKeep() Keep {
	return Keep{Runs: 200, Age: 90 * 24 * time.Hour, Bytes: 64 << 20, Accepted: 50}
}

// Store keeps runs and acceptances.
type Store struct {
	db   *database.DB
	now  func() time.Time
	keep Keep
}

// Open opens the store at path, or creates it with mode 0600. The errors are those of database.Open. A
// damaged file is put aside and a new one begun: notice says so.
func Open(ctx context.Context, path string, now func() time.Time, keep Keep) (s *Store, notice string, err error) {
	db, damage, err := database.Open(ctx, path, database.Options{
		Name: "store of drift", Migrations: migrations[:], Oldest: oldestSchema, Tables: []string{"runs", "accepted"}, Now: now, Busy: database.Busy, Readable: true,
	})
	if err != nil {
		return nil, "", err
	}
	if damage != nil {
		notice = fmt.Sprintf("The store of drift %s was damaged (%v). It is kept as %s and a new one was begun.", path, damage.Err, damage.SavedAs)
	}
	return &Store{db: db, now: now, keep: keep}, notice, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Acceptance says that what a collector gives from a run on is normal.
type Acceptance struct {
	Seq    int64
	Ref    string // the first run that counts
	RunAt  time.Time
	RunSeq int64
	At     time.Time
	Person string
	Reason string
}

// Put writes a run with the verdict of judge, which gets the runs before it since the last acceptance, newest first. A
// run of the same job or fetch is replaced. In another form (a result downloaded again as CSV), it is replaced only if
// the old one had nothing to be compared with and the new one has. Then Put prunes the store.
func (s *Store) Put(ctx context.Context, r Run, judge func(r Run, earlier []Run) Verdict) (Verdict, error) {
	fields, err := pack(r.Fields)
	if err != nil {
		return Verdict{}, err
	}
	paths := []string{}
	if r.Form == FormPage {
		paths = r.paths()
	}
	asked, err := json.Marshal(paths)
	if err != nil {
		return Verdict{}, err
	}
	var v Verdict
	err = s.db.Write(ctx, "keeping a run of "+model.Line(r.Name, 80), func(ctx context.Context, tx *sql.Tx) error {
		was, err := stored(ctx, tx, r)
		if err != nil {
			return err
		}
		if was.Seq > 0 {
			r.Seq, r.At = was.Seq, was.At
		}
		runs, err := earlier(ctx, tx, r)
		if err != nil {
			return err
		}
		if was.Seq > 0 && was.Form != r.Form && (was.State != First || !slices.ContainsFunc(runs, func(e Run) bool { return e.Form == r.Form })) {
			v = Verdict{State: was.State, Findings: was.Findings}
			return nil
		}
		v = judge(r, runs)
		findings, err := json.Marshal(v.Findings)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO runs (profile, kind, name, ref, at, form, returned, useful, class, cause, state, beyond, findings, fields, asked)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (profile, kind, name, ref) DO UPDATE SET form=excluded.form, returned=excluded.returned, useful=excluded.useful,
			class=excluded.class, cause=excluded.cause, state=excluded.state, beyond=excluded.beyond, findings=excluded.findings, fields=excluded.fields, asked=excluded.asked`,
			r.Profile, r.Kind, r.Name, r.Ref, database.Micros(r.At), r.Form, r.Returned, r.Useful, r.Class, r.Cause, v.State, r.Beyond, string(findings), fields, string(asked)); err != nil {
			return err
		}
		return s.prune(ctx, tx, r.Subject)
	})
	return v, err
}

// stored is the stored run of a job or fetch, without fields; its Seq is 0 if there is none.
func stored(ctx context.Context, q database.Queryer, r Run) (was Run, err error) {
	err = database.Each(ctx, q, "SELECT "+columns+", x'' FROM runs WHERE profile=? AND kind=? AND name=? AND ref=?", []any{r.Profile, r.Kind, r.Name, r.Ref}, func(row database.Scanner) error {
		was, err = scan(row)
		return err
	})
	return was, err
}

// Subjects returns the newest run of each collector of a profile, by kind and name.
func (s *Store) Subjects(ctx context.Context, profile string) ([]Run, error) {
	return s.list(ctx, `SELECT `+columns+`, fields FROM runs AS r WHERE profile=? AND seq = (SELECT seq FROM runs WHERE profile=r.profile AND kind=r.kind AND name=r.name ORDER BY at DESC, seq DESC LIMIT 1)
		ORDER BY kind, name`, profile)
}

// Runs returns at most limit of a collector's newest runs, newest first.
func (s *Store) Runs(ctx context.Context, c Subject, limit int) ([]Run, error) {
	return s.list(ctx, "SELECT "+columns+", fields FROM runs WHERE profile=? AND kind=? AND name=? ORDER BY at DESC, seq DESC LIMIT ?", c.Profile, c.Kind, c.Name, limit)
}

// Earlier returns the runs that a run is judged by, newest first.
func (s *Store) Earlier(ctx context.Context, r Run) ([]Run, error) {
	out, err := earlier(ctx, s.db, r)
	if err != nil {
		return nil, s.db.Fault("reading the runs", err)
	}
	return out, nil
}

func (s *Store) list(ctx context.Context, query string, args ...any) ([]Run, error) {
	var out []Run
	err := database.Each(ctx, s.db, query, args, func(row database.Scanner) error {
		r, err := scan(row)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, s.db.Fault("reading the runs", err)
	}
	return out, nil
}

const columns = "seq, profile, kind, name, ref, at, form, returned, useful, class, cause, state, beyond, findings"

// earlier returns the runs before r since the last acceptance, newest first; the accepted run is Good. Those that Judge
// needs have their Fields, and all of a page have Requested.
func earlier(ctx context.Context, q database.Queryer, r Run) ([]Run, error) {
	a, err := lastAccepted(ctx, q, r.Subject)
	if err != nil {
		return nil, err
	}
	seq := r.Seq
	if seq == 0 { // not stored yet: it is the last of its time
		seq = math.MaxInt64
	}
	at, from := database.Micros(r.At), database.Micros(a.RunAt)
	var out []Run
	if err := database.Each(ctx, q, `SELECT `+columns+`, x'', asked FROM runs WHERE profile=? AND kind=? AND name=? AND (at < ? OR at = ? AND seq < ?) AND (at > ? OR at = ? AND seq >= ?)
		ORDER BY at DESC, seq DESC`,
		[]any{r.Profile, r.Kind, r.Name, at, at, seq, from, from, a.RunSeq}, func(row database.Scanner) error {
			var asked string
			e, err := scan(row, &asked)
			if err == nil && e.Form == FormPage {
				err = json.Unmarshal([]byte(asked), &e.Requested)
			}
			if e.Seq == a.RunSeq {
				e.State, e.Findings = Good, nil
			}
			out = append(out, e)
			return err
		}); err != nil {
		return nil, err
	}
	full := map[int64]Run{}
	need, err := json.Marshal(neededOf(r, out))
	if err != nil {
		return nil, err
	}
	if err := database.Each(ctx, q, "SELECT "+columns+", fields FROM runs WHERE seq IN (SELECT value FROM json_each(?))", []any{string(need)}, func(row database.Scanner) error {
		e, err := scan(row)
		full[e.Seq] = e
		return err
	}); err != nil {
		return nil, err
	}
	for i, e := range out {
		if f, needed := full[e.Seq]; needed {
			out[i].Fields = f.Fields
		}
	}
	return out, nil
}

// scan reads columns and fields, then more.
func scan(row database.Scanner, more ...any) (Run, error) {
	var r Run
	var findings string
	var fields []byte
	into := []any{&r.Seq, &r.Profile, &r.Kind, &r.Name, &r.Ref, database.Time(&r.At), &r.Form, &r.Returned, &r.Useful, &r.Class, &r.Cause, &r.State, &r.Beyond, &findings, &fields}
	if err := row.Scan(append(into, more...)...); err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(findings), &r.Findings); err != nil {
		return r, fmt.Errorf("%w: the findings of run %d: %w", database.ErrCorrupt, r.Seq, err)
	}
	if err := unpack(fields, &r.Fields); err != nil {
		return r, fmt.Errorf("%w: the fields of run %d: %w", database.ErrCorrupt, r.Seq, err)
	}
	return r, nil
}

// LastAccepted is the newest acceptance of a collector; its Seq is 0 if there is none.
func (s *Store) LastAccepted(ctx context.Context, c Subject) (Acceptance, error) {
	return lastAccepted(ctx, s.db, c)
}

func lastAccepted(ctx context.Context, q database.Queryer, c Subject) (a Acceptance, err error) {
	err = database.Each(ctx, q, "SELECT seq, ref, run_at, run_seq, at, person, reason FROM accepted WHERE profile=? AND kind=? AND name=? ORDER BY seq DESC LIMIT 1",
		[]any{c.Profile, c.Kind, c.Name}, func(row database.Scanner) error {
			return row.Scan(&a.Seq, &a.Ref, database.Time(&a.RunAt), &a.RunSeq, database.Time(&a.At), &a.Person, &a.Reason)
		})
	return a, err
}

// Accept records that what a collector gives from r on is normal. If there is a newer run, the error is ErrNewer; if r
// is accepted already, it is ErrAccepted.
func (s *Store) Accept(ctx context.Context, r Run, person, reason string) error {
	return s.db.Write(ctx, "accepting what "+model.Line(r.Name, 80)+" gives", func(ctx context.Context, tx *sql.Tx) error {
		var newest int64
		if err := tx.QueryRowContext(ctx, "SELECT seq FROM runs WHERE profile=? AND kind=? AND name=? ORDER BY at DESC, seq DESC LIMIT 1", r.Profile, r.Kind, r.Name).Scan(&newest); err != nil {
			return err
		}
		if newest != r.Seq {
			return ErrNewer
		}
		a, err := lastAccepted(ctx, tx, r.Subject)
		if err != nil {
			return err
		}
		if a.Seq > 0 && a.RunSeq == r.Seq {
			return ErrAccepted
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO accepted (profile, kind, name, ref, run_at, run_seq, at, person, reason) VALUES (?,?,?,?,?,?,?,?,?)",
			r.Profile, r.Kind, r.Name, r.Ref, database.Micros(r.At), r.Seq, database.Micros(s.now()), person, reason)
		return err
	})
}

// ErrNewer says that the run to accept is not the newest one.
var ErrNewer = errors.New("a newer run is there: look at it first")

// TakeBack takes back the newest acceptance of a collector; the one before it holds again. It judges the runs since
// then again, oldest first: later runs must not be compared with a run that only the acceptance made good.
func (s *Store) TakeBack(ctx context.Context, c Subject, judge func(r Run, earlier []Run) Verdict) error {
	return s.db.Write(ctx, "taking an acceptance of "+model.Line(c.Name, 80)+" back", func(ctx context.Context, tx *sql.Tx) error {
		a, err := lastAccepted(ctx, tx, c)
		if err != nil {
			return err
		}
		if a.Seq == 0 {
			return ErrNotAccepted
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM accepted WHERE seq = ?", a.Seq); err != nil {
			return err
		}
		at := database.Micros(a.RunAt)
		var since []Run
		if err := database.Each(ctx, tx, "SELECT "+columns+", fields FROM runs WHERE profile=? AND kind=? AND name=? AND (at > ? OR at = ? AND seq >= ?) ORDER BY at, seq",
			[]any{c.Profile, c.Kind, c.Name, at, at, a.RunSeq}, func(row database.Scanner) error {
				r, err := scan(row)
				since = append(since, r)
				return err
			}); err != nil {
			return err
		}
		for _, r := range since {
			runs, err := earlier(ctx, tx, r)
			if err != nil {
				return err
			}
			v := judge(r, runs)
			findings, err := json.Marshal(v.Findings)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "UPDATE runs SET state=?, findings=? WHERE seq=?", v.State, string(findings), r.Seq); err != nil {
				return err
			}
		}
		return nil
	})
}

// ErrNotAccepted says that there is no acceptance to take back.
var ErrNotAccepted = errors.New("nothing was accepted")

// maxUnpacked bounds how much memory a blob of a damaged or foreign file can take.
const maxUnpacked = 16 << 20

func pack(v any) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(b []byte, into any) error {
	if len(b) == 0 { // the query left it out
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return json.NewDecoder(io.LimitReader(z, maxUnpacked)).Decode(into)
}

// heldFields is how many fields of a page have more than the newest runs kept for them: those required most recently.
const heldFields = 50

// ranked gives each run its place, the smaller the more it is needed: 0 for the newest of its collector, ?3 for one
// that no later run is compared with. Needed are the last good runs, and the first ones since the newest acceptance.
// For pages they are counted for each field among the runs that required it, and a run that drifts only in others is
// good. The two newest runs that required a field are needed, too: they tell since when it drifts.
func ranked(of string) string {
	return `WITH known AS MATERIALIZED (SELECT runs.seq, profile, kind, name, form, useful, state, at, asked, findings, length(fields) + length(findings) + length(asked) AS size, runs.seq IS run_seq OR state IN ('ok', 'first', 'few') AS good, run_seq IS NULL OR (at, runs.seq) >= (run_at, run_seq) AS since
			FROM runs LEFT JOIN (SELECT profile, kind, name, run_at, run_seq, max(seq) FROM accepted GROUP BY profile, kind, name) USING (profile, kind, name) ` + of + `),
		alarmed AS MATERIALIZED (SELECT known.seq, json_extract(finding.value, '$.field') AS field FROM known, json_each(known.findings) AS finding
			WHERE form = 'page' AND NOT good AND json_extract(finding.value, '$.word') NOT IN ('new', 'too few rows')),
		pages AS MATERIALIZED (SELECT known.seq, profile, kind, name, form, useful, at, since, asked.value AS field, good OR state = 'drift' AND (known.seq, asked.value) NOT IN (SELECT seq, field FROM alarmed) AS good
			FROM known, json_each(known.asked) AS asked WHERE form = 'page' AND useful > 0),
		lately AS (SELECT profile, kind, name, field, row_number() OVER (PARTITION BY profile, kind, name ORDER BY max(at) DESC, max(seq) DESC, field) AS n FROM pages GROUP BY profile, kind, name, field),
		asking AS MATERIALIZED (SELECT pages.* FROM pages JOIN lately USING (profile, kind, name, field) WHERE n <= ` + strconv.Itoa(heldFields) + `),
		held AS (SELECT seq, profile, kind, name, form, useful, at, since, '' AS field FROM known WHERE good AND form <> 'page'
			UNION ALL SELECT seq, profile, kind, name, form, useful, at, since, field FROM asking WHERE good),
		placed AS (SELECT seq,
			CASE
			WHEN row_number() OVER last <= ?1 OR sum(useful) OVER last - useful < ?2 THEN row_number() OVER last
			WHEN since AND (row_number() OVER first <= ?1 OR sum(useful) OVER first - useful < ?2) THEN row_number() OVER first
			ELSE ?3 END AS place
		FROM held WINDOW last AS (PARTITION BY profile, kind, name, form, field ORDER BY at DESC, seq DESC ROWS UNBOUNDED PRECEDING),
			first AS (PARTITION BY profile, kind, name, form, field, since ORDER BY at, seq ROWS UNBOUNDED PRECEDING)
		UNION ALL SELECT seq, iif(row_number() OVER (PARTITION BY profile, kind, name, field ORDER BY at DESC, seq DESC) <= 2, 1, ?3) FROM asking),
		ranked AS (SELECT seq, at, size,
			CASE row_number() OVER (PARTITION BY profile, kind, name ORDER BY at DESC, seq DESC) WHEN 1 THEN 0 ELSE ifnull(best, ?3) END AS place
		FROM known LEFT JOIN (SELECT seq, min(place) AS best FROM placed GROUP BY seq) USING (seq)) `
}

// prune deletes what is too much. A collector's newest run and those that later ones are compared with stay whatever
// their age and number, so drift does not become normal by lasting. The bound on the size takes the other runs first,
// the oldest first, and then needed ones by place: a collector with many runs does not displace one with few. It
// takes an eighth at once, because it looks at all runs.
func (s *Store) prune(ctx context.Context, tx *sql.Tx, c Subject) error {
	const last = math.MaxInt32
	var size int64
	if err := tx.QueryRowContext(ctx, "SELECT sum(length(fields) + length(findings) + length(asked)) FROM runs").Scan(&size); err != nil {
		return err
	}
	for _, q := range []struct {
		query string
		args  []any
	}{
		{
			ranked("WHERE (profile, kind, name) IN (SELECT profile, kind, name FROM runs WHERE at < ?4)") + "DELETE FROM runs WHERE at < ?4 AND seq IN (SELECT seq FROM ranked WHERE place = ?3)",
			[]any{goodRuns, goodRows, last, database.Micros(s.now().Add(-s.keep.Age))},
		},
		{
			ranked("WHERE profile=?4 AND kind=?5 AND name=?6 AND (SELECT count(*) FROM runs WHERE profile=?4 AND kind=?5 AND name=?6) > ?7") + `DELETE FROM runs WHERE seq IN (SELECT seq FROM ranked WHERE place = ?3)
			AND seq NOT IN (SELECT seq FROM runs WHERE profile=?4 AND kind=?5 AND name=?6 ORDER BY at DESC, seq DESC LIMIT ?7)`,
			[]any{goodRuns, goodRows, last, c.Profile, c.Kind, c.Name, s.keep.Runs},
		},
		{
			ranked("WHERE ?5 > ?4") + `DELETE FROM runs WHERE seq IN (SELECT seq FROM (SELECT seq, sum(size) OVER (ORDER BY place, at DESC, seq DESC) AS total FROM ranked) WHERE total > ?4 * 7 / 8)`,
			[]any{goodRuns, goodRows, last, s.keep.Bytes, size},
		},
		{
			`DELETE FROM accepted WHERE profile=? AND kind=? AND name=? AND seq NOT IN (SELECT seq FROM accepted WHERE profile=? AND kind=? AND name=? ORDER BY seq DESC LIMIT ?)`,
			[]any{c.Profile, c.Kind, c.Name, c.Profile, c.Kind, c.Name, s.keep.Accepted},
		},
	} {
		if _, err := tx.ExecContext(ctx, q.query, q.args...); err != nil {
			return err
		}
	}
	return nil
}
