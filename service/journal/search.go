package journal

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// The bounds of a page of the timeline.
const (
	defaultPage = 200
	maxPage     = 10_000
)

// maxTerms is how many words are looked up in the index; the others are compared with
// the lines that it gives.
const maxTerms = 16

// Activity is one page of the timeline, newest first, narrowed by f. All of the words must
// occur, in any text of a line. A word finds every word that begins with it ("shop" finds
// "/shopping"), without regard to case and accents; punctuation counts as a blank. One
// without an ASCII letter or digit is looked for as it stands. What was put before the call
// is in the answer.
//
// A line that Index has not reached yet is found by a word in the middle of another one, too.
func (j *Journal) Activity(ctx context.Context, f model.ActivityFilter) ([]model.Activity, error) {
	if err := j.flush(ctx); err != nil {
		return nil, err
	}
	if f.Limit <= 0 {
		f.Limit = defaultPage
	}
	f.Limit = min(f.Limit, maxPage)
	list := make([]model.Activity, 0, min(f.Limit, defaultPage))
	q := narrow(f)
	if q.since != 0 {
		if err := j.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'activity_at')").Scan(&q.dated); err != nil {
			return nil, j.unread(err)
		}
	}
	if q.match == "" {
		list, err := j.page(ctx, q.plain(), list)
		return list, j.unread(err)
	}
	unindexed, err := below(ctx, j.db)
	if err != nil {
		return nil, j.unread(err)
	}
	if list, err = j.page(ctx, q.indexed(unindexed), list); err != nil {
		return nil, j.unread(err)
	}
	if unindexed > 0 && len(list) < f.Limit {
		q.limit -= len(list)
		q.add("id < ?", unindexed)
		list, err = j.page(ctx, q.plain(), list)
	}
	return list, j.unread(err)
}

func (j *Journal) unread(err error) error {
	if err == nil {
		return nil
	}
	return j.db.Fault("reading the timeline", err)
}

const columns = "SELECT id, at, activity.kind, activity.profile, activity.zone, url, via, activity.key, activity.class, cause, status, bytes, total, (SELECT cost FROM activity_costs WHERE activity_costs.id = activity.id), ref, text FROM "

// page appends the answer of a statement to list.
func (j *Journal) page(ctx context.Context, s statement, list []model.Activity) ([]model.Activity, error) {
	err := database.Each(ctx, j.db, columns+s.text, s.args, func(row database.Scanner) error {
		var a model.Activity
		var total int64
		var cost sql.NullFloat64
		err := row.Scan(&a.ID, database.Time(&a.At), &a.Kind, &a.Profile, &a.Zone, &a.URL, &a.Via, &a.Key, &a.Class, &a.Cause,
			&a.Status, &a.Bytes, &total, &cost, &a.Ref, &a.Text)
		a.Total, a.Cost, a.Priced = time.Duration(total), cost.Float64, cost.Valid
		list = append(list, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// statement is SQL from the name of the table on.
type statement struct {
	text string
	args []any
}

// query is a filter as SQL.
type query struct {
	terms []string
	args  []any
	words []string // those of the index, as they stand
	match string   // the same in the index's own language; empty without any
	since int64    // in microseconds, 0 for any time
	dated bool     // there is an index of times
	limit int
}

func (q *query) add(term string, args ...any) {
	q.terms = append(q.terms, term)
	q.args = append(q.args, args...)
}

// narrow is the filter as SQL.
func narrow(f model.ActivityFilter) *query {
	q := &query{limit: f.Limit}
	if f.Before > 0 {
		q.add("id < ?", f.Before)
	}
	if !f.Since.IsZero() {
		// Times do not always rise with the numbers, because the emulator's clock can be
		// moved: the oldest line says only where to end, where an index finds it.
		q.since = database.Micros(f.Since)
		q.add("+at >= ?", q.since)
	}
	for _, w := range f.Words {
		switch w = clean(w); {
		case w == "":
		case hasASCIIWord(w) && len(q.words) < maxTerms:
			q.words = append(q.words, w)
			q.match += quoted(w) + "* "
		default:
			q.add("instr(activity.words, ?) > 0", w)
		}
	}
	for _, c := range []struct{ column, value string }{
		{"kind", string(f.Kind)},
		{"class", string(f.Class)},
		{"zone", f.Zone},
		{"key", f.Key},
		{"profile", f.Profile},
	} {
		if c.value == "" {
			continue
		}
		q.add("activity."+c.column+" = ?", c.value)
		if q.match != "" && hasASCIIWord(c.value) { // only the lines of both are read
			q.match += c.column + " : " + quoted(clean(c.value)) + " "
		}
	}
	return q
}

// clean is a word as the lines' words are kept, without what would end the index's query.
func clean(word string) string {
	word = strings.ReplaceAll(strings.ToValidUTF8(word, " "), "\x00", " ")
	return strings.ToLower(strings.TrimSpace(word))
}

// quoted is text as one string of the index's language, in which nothing has a meaning.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// hasASCIIWord reports whether the index surely sees a word in the text.
func hasASCIIWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	})
}

// plain looks through the lines themselves.
func (q *query) plain() statement {
	terms, args := q.terms, q.args
	for _, w := range q.words {
		terms, args = append(terms[:len(terms):len(terms)], "instr(activity.words, ?) > 0"), append(args[:len(args):len(args)], w)
	}
	if q.since != 0 && q.dated {
		terms, args = append(terms[:len(terms):len(terms)], "id >= "+oldest), append(args[:len(args):len(args)], q.since)
	}
	return q.statement("activity", "id", terms, args)
}

// oldest is the smallest number of a line since a time.
const oldest = "(SELECT min(id) FROM activity INDEXED BY activity_at WHERE at >= ?)"

// indexed looks up the words in the index, which has the lines from below on. It takes one
// bound of its rows from each side; whatever else there is, it has to read.
func (q *query) indexed(below int64) statement {
	const row = "activity_search.rowid"
	terms, args := []string{"activity_search MATCH ?", row + " >= ?"}, []any{q.match, below}
	if q.since != 0 && q.dated {
		terms[1], args = row+" >= max(?, "+oldest+")", append(args, q.since)
	}
	for _, t := range q.terms {
		if rest, ok := strings.CutPrefix(t, "id "); ok {
			t = row + " " + rest
		}
		terms = append(terms, t)
	}
	return q.statement("activity_search CROSS JOIN activity ON id = "+row, row, terms, append(args, q.args...))
}

func (q *query) statement(from, order string, terms []string, args []any) statement {
	if len(terms) > 0 {
		from += " WHERE " + strings.Join(terms, " AND ")
	}
	return statement{from + " ORDER BY " + order + " DESC LIMIT ?", append(args[:len(args):len(args)], q.limit)}
}

// indexStep is how many lines Index adds in one transaction, so that history is written
// in between.
const indexStep = 256

// Index makes the index of times, in one transaction, and adds to the index of words for
// Activity the lines that were in the file before it had one, newest first, until none is
// left or ctx ends. It takes seconds for 200,000 lines, once in the life of a file; several
// processes may do it at once.
func (j *Journal) Index(ctx context.Context) error {
	err := j.db.Write(ctx, "indexing the times of the history", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE INDEX IF NOT EXISTS activity_at ON activity (at)")
		return err
	})
	if err != nil {
		return err
	}
	for left := int64(1); left > 0; {
		err := j.db.Write(ctx, "indexing the history", func(ctx context.Context, tx *sql.Tx) (err error) {
			if left, err = below(ctx, tx); err != nil || left == 0 {
				return err
			}
			left, err = indexSome(ctx, tx, left)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// below is the number from which on every line is in the index; 0 when all are.
func below(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (id int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT below FROM activity_unindexed").Scan(&id)
	return id, err
}

// indexSome adds the newest lines below a number to the index, and gives the number below
// which the others are.
func indexSome(ctx context.Context, tx *sql.Tx, below int64) (left int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(min(id), 0) FROM (SELECT id FROM activity WHERE id < ? ORDER BY id DESC LIMIT ?)", below, indexStep).Scan(&left)
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO activity_search (rowid, words, kind, class, zone, key, profile)
		SELECT id, words, kind, class, zone, key, profile FROM activity WHERE id >= ? AND id < ? AND ? > 0`, left, below, left)
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, "UPDATE activity_unindexed SET below = ?", left)
	return left, err
}
