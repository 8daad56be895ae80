package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	_ "modernc.org/sqlite"
)

// corpus is a full-text index over documents: an FTS5 table in memory, ranked by bm25.
// It never changes and is safe for concurrent use.
type corpus struct {
	docs []document
	// names are the names of all facts.
	names map[string]bool
	db    *sql.DB
}

// The weights of a word, by column: title, description, category, text, facts.
const (
	createDocuments = `CREATE VIRTUAL TABLE documents USING fts5(title, description, category, body, facts, tokenize = 'porter unicode61')`
	insertDocument  = `INSERT INTO documents (rowid, title, description, category, body, facts) VALUES (?, ?, ?, ?, ?, ?)`
	matchDocuments  = `SELECT rowid, -bm25(documents, 3, 2, 2, 1, 1), snippet(documents, 3, '', '', '…', 32) FROM documents WHERE documents MATCH ? ORDER BY rank, rowid`
	holdsDocument   = `SELECT count(*) FROM documents WHERE documents MATCH ? AND rowid = ?`
)

func openCorpus(ctx context.Context, docs []Document) (c *corpus, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("%w: opening: %w", errIndex, err)
	}
	db.SetMaxOpenConns(1) // a second connection would be a second database
	c = &corpus{docs: make([]document, len(docs)), names: map[string]bool{}, db: db}
	if err := c.fill(ctx, docs); err != nil {
		_ = db.Close() // the first error is the one to report
		return nil, fmt.Errorf("%w: filling: %w", errIndex, err)
	}
	return c, nil
}

func (c *corpus) fill(ctx context.Context, docs []Document) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, createDocuments); err != nil {
		return err
	}
	for i, given := range docs {
		d := newDocument(given)
		for name := range d.facts {
			c.names[name] = true
		}
		facts := strings.Join(slices.Sorted(maps.Values(d.Facts)), "\n")
		if _, err := tx.ExecContext(ctx, insertDocument, i, d.Title, d.Description, d.Category, d.Text, facts); err != nil {
			return err
		}
		c.docs[i] = d
	}
	return tx.Commit()
}

func (c *corpus) close() error { return c.db.Close() }

type hit struct {
	doc    *document
	number int
	// weight is bm25's: above zero, and without a bound.
	weight float64
	// passage is the part of the text that contains the words.
	passage string
	score   float64
}

// match finds the documents that match an expression of FTS5, the best first. For "" it returns
// all, in their order.
func (c *corpus) match(ctx context.Context, expression string) (hits []hit, err error) {
	if expression == "" {
		hits = make([]hit, len(c.docs))
		for i := range c.docs {
			hits[i] = hit{doc: &c.docs[i], number: i}
		}
		return hits, nil
	}
	rows, err := c.db.QueryContext(ctx, matchDocuments, expression)
	if err != nil {
		return nil, fmt.Errorf("%w: searching: %w", errIndex, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h hit
		if err := rows.Scan(&h.number, &h.weight, &h.passage); err != nil {
			return nil, fmt.Errorf("%w: searching: %w", errIndex, err)
		}
		h.doc = &c.docs[h.number]
		hits = append(hits, h)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%w: searching: %w", errIndex, err)
	}
	return hits, nil
}

// find returns the documents that match a query, the best first.
func (c *corpus) find(ctx context.Context, q query) ([]hit, error) {
	hits, err := c.match(ctx, q.expression())
	if err != nil || q.site == "" && len(q.without) == 0 {
		return hits, err
	}
	unwanted := map[int]bool{}
	if e := anyTerm(q.without); e != "" {
		found, err := c.match(ctx, e)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			unwanted[h.number] = true
		}
	}
	return slices.DeleteFunc(hits, func(h hit) bool { return unwanted[h.number] || !h.doc.isBelow(q.site) }), nil
}

// isBelow reports whether the document's host is a site or one of its subdomains; "" is any.
func (d *document) isBelow(site string) bool {
	u, err := url.Parse(d.URL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return site == "" || host == site || strings.HasSuffix(host, "."+site)
}

// holds reports whether one document matches an expression.
func (c *corpus) holds(ctx context.Context, number int, expression string) (bool, error) {
	var n int
	if err := c.db.QueryRowContext(ctx, holdsDocument, expression, number).Scan(&n); err != nil {
		return false, fmt.Errorf("%w: searching: %w", errIndex, err)
	}
	return n > 0, nil
}

// Document is one page of the index.
type Document struct {
	URL, Title, Description string
	Text                    string // plain text; lines and paragraphs are kept
	Category                string
	// Published is the zero time if unknown. A document without a date is outside every range of
	// dates.
	Published time.Time
	// Facts are facts about the subject, by a name in lower-case words: "price", "main
	// ingredient". Discover reads language (two letters; "en" if missing), country (two letters)
	// and city.
	Facts map[string]string
}

// document is an indexed one. Its facts are strings and numbers.
type document struct {
	Document
	facts map[string]any
}

func newDocument(d Document) document {
	facts := map[string]any{
		"name": d.Title, "url": d.URL, "description": d.Description, "category": d.Category, "language": "en",
	}
	if !d.Published.IsZero() {
		facts["published"] = d.Published.UTC().Format(time.DateOnly)
		facts["published year"] = float64(d.Published.UTC().Year())
	}
	for name, v := range d.Facts {
		facts[name] = parseValue(v)
	}
	return document{d, facts}
}

// parseValue converts a text that is only a number.
func parseValue(v string) any {
	if n, ok := amount(v); ok && v[0] >= '0' && v[0] <= '9' && !strings.Contains(v, " ") {
		return n
	}
	return v
}

// amount is the number at the beginning of a text, after the sign of a currency: "$1,250.00", "35
// minutes".
func amount(v string) (float64, bool) {
	v, _, _ = strings.Cut(strings.TrimLeft(v, "$€£ "), " ")
	n, err := strconv.ParseFloat(strings.ReplaceAll(v, ",", ""), 64)
	return n, err == nil
}

// text returns a fact that is a string, in lower case.
func (d *document) text(fact string) string {
	v, _ := d.facts[fact].(string)
	return strings.ToLower(v)
}

// identity is equal for documents with the same title and text.
func (d *document) identity() [2]string { return [2]string{d.Title, d.Text} }

// markdown is the document as a small Markdown page. It escapes markup at the beginning of a
// line.
func (d Document) markdown() string {
	var b strings.Builder
	b.WriteString("# " + strings.TrimSpace(strings.ReplaceAll(d.Title, "\n", " ")) + "\n")
	for line := range strings.Lines(d.Text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		b.WriteString("\n")
		if strings.ContainsRune("#>-+*=`~", rune(line[0])) {
			b.WriteByte('\\')
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// maxTerms bounds the different words of a text that are looked up.
const maxTerms = 64

// query is a parsed search text: "quoted words" must occur as they are, -word must not occur,
// site:host narrows to a host and its subdomains. A document matches if it has any of the terms.
type query struct {
	terms, phrases, without []string
	site                    string
}

func parseQuery(text string) query {
	var q query
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			q.phrases = append(q.phrases, part)
			q.terms = append(q.terms, words(part)...)
			continue
		}
		for _, w := range strings.Fields(part) {
			switch site, isSite := strings.CutPrefix(strings.ToLower(w), "site:"); {
			case isSite:
				q.site, _, _ = strings.Cut(site, "/")
			case len(w) > 1 && w[0] == '-':
				q.without = append(q.without, w[1:])
			default:
				q.terms = append(q.terms, words(w)...)
			}
		}
	}
	q.terms = contentWords(q.terms)
	return q
}

// expression is what has to match, in FTS5's language; "" demands nothing.
func (q query) expression() string {
	all := slices.Concat([]string{anyTerm(q.terms)}, quoted(q.phrases))
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " AND ")
}

func anyTerm(texts []string) string {
	if texts = quoted(texts); len(texts) == 0 {
		return ""
	}
	return "(" + strings.Join(texts, " OR ") + ")"
}

// quoted makes FTS5 phrases of texts. They hold letters, digits and blanks only, so that
// nothing in them is syntax.
func quoted(texts []string) []string {
	out := []string{}
	for _, t := range texts {
		if ws := words(t); len(ws) > 0 && len(out) < maxTerms {
			out = append(out, `"`+strings.Join(ws, " ")+`"`)
		}
	}
	return out
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// contentWords lists the different words with content, or all different words if none has any.
func contentWords(ws []string) []string {
	ws = slices.Compact(slices.Sorted(slices.Values(ws)))
	if left := slices.DeleteFunc(slices.Clone(ws), isAsking); len(left) > 0 {
		return left
	}
	return ws
}

// isAsking reports words without content, including those of a question in plain language:
// "find all … that have …".
func isAsking(w string) bool {
	switch w {
	case "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "each", "every", "find", "for", "from",
		"get", "give", "has", "have", "how", "if", "in", "into", "is", "it", "its", "less", "list", "me", "more", "must",
		"of", "on", "only", "or", "please", "s", "should", "show", "t", "than", "that", "the", "their", "them", "there",
		"these", "they", "this", "to", "was", "were", "what", "when", "where", "which", "who", "will", "with", "you", "your":
		return true
	}
	return false
}

// value is the fact for a column: a string or a float64.
func (d *document) value(column string) (any, bool) {
	for parts := nameWords(column); len(parts) > 0; parts = parts[1:] {
		if v, ok := d.facts[factName(strings.Join(parts, " "))]; ok {
			return v, v != ""
		}
		if last := len(parts) - 1; last > 0 && slices.Contains([]string{"year", "date", "count"}, parts[last]) {
			if v, ok := d.facts[factName(strings.Join(parts[:last], " "))]; ok {
				return v, v != ""
			}
		}
		if !d.isItself(parts[0]) {
			break
		}
	}
	return nil, false
}

// nameWords are the words of a column's name: employee_count, "Employee count" and
// employeeCount are the same.
func nameWords(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return words(b.String())
}

// factName is the name of a fact that has synonyms.
func factName(name string) string { return cmp.Or(synonyms[name], name) }

var synonyms = map[string]string{
	"title": "name", "headline": "name",
	"link": "url", "source": "url",
	"summary": "description",
	"section": "category",
	"date":    "published", "publication": "published", "updated": "published",
	"publication year": "published year",
	"cost":             "price", "prices": "price",
	"stars": "rating", "score": "rating", "rated": "rating", "ratings": "rating",
	"stock": "availability", "available": "availability",
	"byline": "author", "writer": "author",
	"mail":      "email",
	"telephone": "phone",
}

// isItself reports whether a column's first word names the document itself, as in
// product_name, and not something in it, as in cto_name.
func (d *document) isItself(word string) bool {
	switch word {
	case "page", "document", "item", "entity", "record", "article", "product", "source":
		return true
	}
	return word == strings.TrimSuffix(strings.ToLower(d.Category), "s")
}

// comparisons is the pattern of a constraint with a number or a date in it, compiled on
// first use.
var comparisons = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(under|below|less than|cheaper than|fewer than|at most|no more than|up to|<=|<|over|above|more than|greater than|higher than|better than|at least|>=|>|after|since|before|until)\s*[$€£]?\s*(\d{4}-\d{2}-\d{2}|\d[\d,]*(?:\.\d+)?)\s*(k\b|m\b|thousand\b|million\b)?`)
})

// meets reports whether a document meets a constraint.
func (c *corpus) meets(ctx context.Context, h hit, constraint column) (bool, error) {
	text := constraint.Description
	if text == "" {
		text = strings.Join(nameWords(constraint.Name), " ")
	}
	if m := comparisons().FindStringSubmatch(text); m != nil {
		return h.doc.compares(constraint, strings.ToLower(m[1]), m[2], strings.ToLower(m[3])), nil
	}
	wanted := parseQuery(text)
	all := quoted(wanted.phrases)
	if len(all) == 0 {
		all = quoted(slices.DeleteFunc(wanted.terms, func(w string) bool { return isAsking(w) || w == "category" || w == "mentions" }))
	}
	if len(all) == 0 {
		return false, nil
	}
	return c.holds(ctx, h.number, strings.Join(all, " AND "))
}

func (d *document) compares(c column, op, limit, unit string) bool {
	if day, err := time.Parse(time.DateOnly, limit); err == nil {
		return !d.Published.IsZero() && inOrder(op, float64(d.Published.Unix()), float64(day.Unix()))
	}
	want, ok := amount(limit)
	if !ok {
		return false
	}
	switch unit {
	case "k", "thousand":
		want *= 1e3
	case "m", "million":
		want *= 1e6
	}
	// The column's name or one of its texts contains the fact's name.
	for _, name := range slices.Concat([]string{c.Name}, nameWords(c.Name), words(c.Description)) {
		if factName(name) == "published" {
			name = "published year"
		}
		switch v, _ := d.value(name); v := v.(type) {
		case float64:
			return inOrder(op, v, want)
		case string:
			if n, ok := amount(v); ok {
				return inOrder(op, n, want)
			}
		}
	}
	return false
}

func inOrder(op string, have, want float64) bool {
	switch op {
	case "under", "below", "less than", "cheaper than", "fewer than", "before", "<":
		return have < want
	case "at most", "no more than", "up to", "until", "<=":
		return have <= want
	case "at least", "since", ">=":
		return have >= want
	default: // over, above, more than, greater than, higher than, better than, after, >
		return have > want
	}
}
