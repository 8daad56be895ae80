package journal

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// Entries are one page of the timeline, newest first, narrowed by f. All of the words must
// occur, in any text of a line. A word finds every word that begins with it ("shop" finds
// "/shopping"), without regard to case and accents. One of other scripts or signs alone is
// looked for as it stands, in the middle of others, too ("店" finds "商店街"). ASCII
// punctuation counts as a blank, and alone narrows nothing. What was put before the call is
// in the answer.
func (j *Journal) Entries(ctx context.Context, f model.HistoryFilter) ([]model.HistoryEntry, error) {
	if err := j.flush(ctx); err != nil {
		return nil, err
	}
	if f.Limit <= 0 {
		f.Limit = defaultPage
	}
	f.Limit = min(f.Limit, maxPage)
	list := make([]model.HistoryEntry, 0, min(f.Limit, defaultPage))
	q := narrow(f)
	s := q.plain()
	if q.match != "" {
		s = q.indexed()
	}
	list, err := j.page(ctx, s, list)
	return list, j.unread(err)
}

func (j *Journal) unread(err error) error {
	if err == nil {
		return nil
	}
	return j.db.Fault("reading the timeline", err)
}

const columns = "SELECT id, at, activity.kind, activity.profile, activity.zone, url, via, activity.key, activity.class, cause, status, bytes, total, (SELECT cost FROM activity_costs WHERE activity_costs.id = activity.id), coalesce((SELECT source FROM activity_sources WHERE activity_sources.id = activity.id), ''), ref, text FROM "

// page appends the answer of a statement to list.
func (j *Journal) page(ctx context.Context, s statement, list []model.HistoryEntry) ([]model.HistoryEntry, error) {
	err := database.Each(ctx, j.db, columns+s.text, s.args, func(row database.Scanner) error {
		var a model.HistoryEntry
		var total int64
		var cost sql.NullFloat64
		err := row.Scan(&a.ID, database.Time(&a.At), &a.Kind, &a.Profile, &a.Zone, &a.URL, &a.Via, &a.Key, &a.Class, &a.Cause,
			&a.Status, &a.Bytes, &total, &cost, &a.Source, &a.Ref, &a.Text)
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

// selection is a filter as SQL.
type selection struct {
	terms []string
	args  []any
	match string // the words that the index has, in its own language; empty without any
	since int64  // in microseconds, 0 for any time
	limit int
}

func (q *selection) add(term string, args ...any) {
	q.terms = append(q.terms, term)
	q.args = append(q.args, args...)
}

// narrow is the filter as SQL.
func narrow(f model.HistoryFilter) *selection {
	q := &selection{limit: f.Limit}
	if f.PerZone > 0 { // the index of the zones finds them, not the one of the words
		q.add("id IN ("+newestOfZones+")", f.Profile, f.PerZone)
		f.Kind, f.Profile = "", ""
	}
	if f.Before > 0 {
		q.add("id < ?", f.Before)
	}
	if !f.Since.IsZero() {
		// Times do not always rise with the numbers, because the emulator's clock can be
		// moved: the oldest line says only where to end, where an index finds it.
		q.since = database.Micros(f.Since)
		q.add("+at >= ?", q.since)
	}
	looked := 0
	for _, w := range f.Words {
		w = clean(w)
		match := lookup(w)
		if match == "" {
			continue
		}
		indexed := looked < maxTerms
		if indexed {
			looked++
			q.match += match
		}
		if !indexed || !hasASCIIWord(w) {
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
		switch value := clean(c.value); { // only the lines of both are read
		case !utf8.ValidString(c.value): // the index has words of its own for such bytes
		case hasASCIIWord(value) || hasLetter(value):
			q.match += c.column + " : " + quoted(value) + " "
		default:
			q.match += lookup(value)
		}
	}
	for i, clause := range f.Clauses {
		q.add(clause, f.Args[i]...)
	}
	if f.Source != "" {
		q.add("EXISTS (SELECT 1 FROM activity_sources WHERE activity_sources.id = activity.id AND source = ?)", f.Source)
	}
	if f.Without != "" {
		q.add("NOT EXISTS (SELECT 1 FROM activity_sources WHERE activity_sources.id = activity.id AND source = ?)", f.Without)
	}
	return q
}

// newestOfZones are the newest fetches of a profile through each zone, without rotations' own.
const newestOfZones = `WITH RECURSIVE zones(name) AS (
		SELECT min(zone) FROM activity WHERE zone > '' UNION ALL SELECT (SELECT min(zone) FROM activity WHERE zone > name) FROM zones WHERE name IS NOT NULL)
	SELECT newest.id FROM zones CROSS JOIN activity newest ON newest.id IN (
		SELECT id FROM activity a WHERE zone = name AND kind = 'fetch' AND profile = ? AND class <> '' AND NOT EXISTS (SELECT 1 FROM activity_sources s WHERE s.id = a.id AND s.source = '` + model.SourceRotation + `')
		ORDER BY id DESC LIMIT ?)`

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

// hasLetter reports whether a sign beyond ASCII is one that the index takes for part of a word:
// those that its tables (Unicode 6.1) have as letters, of the common scripts.
func hasLetter(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return slices.ContainsFunc([][2]rune{
			{0xc0, 0xd6},
			{0xd8, 0xf6},
			{0xf8, 0x24f},
			{0x391, 0x3a1},
			{0x3a3, 0x3e1},
			{0x400, 0x481},
			{0x5d0, 0x5ea},
			{0x621, 0x64a},
			{0x3041, 0x3096},
			{0x30a1, 0x30fa},
			{0x4e00, 0x9fcb},
			{0xac00, 0xd7a3},
		}, func(letters [2]rune) bool { return letters[0] <= r && r <= letters[1] })
	})
}

// lookup is a word in the index's language, or empty when the index has nothing of it.
func lookup(word string) string {
	if hasASCIIWord(word) {
		return quoted(word) + "* "
	}
	run := strings.TrimFunc(word, isASCII)
	if i := strings.IndexFunc(run, isASCII); i >= 0 {
		run = run[:i] // the line itself is compared with the rest
	}
	switch pairs := spell(run); len(pairs) {
	case 0:
		return ""
	case 1: // of one sign, with which a pair begins
		return quoted(pairs[0]) + "* "
	default:
		return quoted(strings.Join(pairs[:len(pairs)-1], " ")) + " "
	}
}

func isASCII(r rune) bool { return r < utf8.RuneSelf }

// mark stands before each sign that is spelled out: a letter to the index, and nothing that
// is typed.
const mark = "\ue000"

// spell spells out each pair of signs beyond ASCII that follow one another, and the last sign
// of each run, for the index: it takes a whole run of Chinese for one word, and signs newer
// than its tables for blanks.
func spell(text string) []string {
	var pairs []string
	last := rune(0)
	end := func() {
		if last != 0 {
			pairs = append(pairs, sign(last))
		}
	}
	for _, r := range text {
		if isASCII(r) {
			end()
			last = 0
			continue
		}
		if last != 0 {
			pairs = append(pairs, sign(last)+sign(r))
		}
		last = r
	}
	end()
	return pairs
}

// spelled is the text of a line with its signs beyond ASCII spelled out behind it.
func spelled(text string) string {
	if pairs := spell(text); len(pairs) > 0 {
		return text + "\n" + strings.Join(pairs, " ")
	}
	return text
}

func sign(r rune) string { return mark + strconv.FormatInt(int64(r), 16) + mark }

// plain looks through the lines themselves.
func (q *selection) plain() statement {
	terms, args := q.terms, q.args
	if q.since != 0 {
		terms, args = append(terms[:len(terms):len(terms)], "id >= "+oldest), append(args[:len(args):len(args)], q.since)
	}
	return q.statement("activity", "id", terms, args)
}

// oldest is the smallest number of a line since a time, and 0 where more than 20,000 lines
// have come since: finding it would take longer than it saves.
const oldest = `(SELECT CASE WHEN count(*) > 20000 THEN 0 ELSE min(id) END FROM (
	SELECT id FROM activity INDEXED BY activity_at WHERE at >= ? LIMIT 20001))`

// indexed looks up the words in the index. It takes one bound of its rows from each side; whatever else there is, it has
// to read.
func (q *selection) indexed() statement {
	const row = "activity_search.rowid"
	terms, args := []string{"activity_search MATCH ?"}, []any{q.match}
	if q.since != 0 {
		terms, args = append(terms, row+" >= "+oldest), append(args, q.since)
	}
	for _, t := range q.terms {
		if rest, ok := strings.CutPrefix(t, "id "); ok {
			t = row + " " + rest
		}
		terms = append(terms, t)
	}
	return q.statement("activity_search CROSS JOIN activity ON id = "+row, row, terms, append(args, q.args...))
}

func (q *selection) statement(from, order string, terms []string, args []any) statement {
	if len(terms) > 0 {
		from += " WHERE " + strings.Join(terms, " AND ")
	}
	return statement{from + " ORDER BY " + order + " DESC LIMIT ?", append(args[:len(args):len(args)], q.limit)}
}
