package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver, with FTS5
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
	if e := anyOf(q.without); e != "" {
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
		facts[name] = typed(v)
	}
	return document{d, facts}
}

// typed converts a text that is only a number.
func typed(v string) any {
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

// same is equal for documents with the same title and text.
func (d *document) same() [2]string { return [2]string{d.Title, d.Text} }

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
