package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver, with FTS5
)

// corpus is a full-text index over documents: an FTS5 table in memory, ranked by bm25.
// It never changes and is safe for concurrent use.
type corpus struct {
	docs []document
	// names are those of the facts that some document has.
	names map[string]bool
	db    *sql.DB
}

// The words of a row count by column: title, description, category, text, facts.
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

func (c *corpus) fill(ctx context.Context, docs []Document) (err error) {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, createDocuments); err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, insertDocument)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for i, given := range docs {
		d := newDocument(given)
		for name := range d.facts {
			c.names[name] = true
		}
		facts := strings.Join(slices.Sorted(maps.Values(d.Facts)), "\n")
		if _, err := insert.ExecContext(ctx, i, d.Title, d.Description, d.Category, d.Text, facts); err != nil {
			return err
		}
		c.docs[i] = d
	}
	return tx.Commit()
}

func (c *corpus) close() error { return c.db.Close() }

// hit is a document that was found.
type hit struct {
	doc    *document
	number int
	// weight is bm25's: above zero, and without a bound.
	weight float64
	// passage is the part of the text in which the words stand.
	passage string
	score   float64
}

// match finds the documents that an expression of FTS5 allows, the best first; all of
// them, in their own order, where it is "".
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

// find finds what a query asks for, the best first.
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

// isBelow tells whether the document's host is a site or below it; "" is any.
func (d *document) isBelow(site string) bool {
	u, err := url.Parse(d.URL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return site == "" || host == site || strings.HasSuffix(host, "."+site)
}

// holds tells whether one document matches an expression.
func (c *corpus) holds(ctx context.Context, number int, expression string) (bool, error) {
	var n int
	if err := c.db.QueryRowContext(ctx, holdsDocument, expression, number).Scan(&n); err != nil {
		return false, fmt.Errorf("%w: searching: %w", errIndex, err)
	}
	return n > 0, nil
}
