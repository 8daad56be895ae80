package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of a deep lookup. All are assumptions; public documentation shows 10, 50 and
// 100 in examples.
const (
	previewRecords = 10
	defaultRecords = 100
	maxRecords     = 1000
	maxColumns     = 30
	maxColumnName  = 64
	maxColumnText  = 1000
	// identifyShare of the best score makes a document a candidate.
	identifyShare = 0.4
)

// column is one column of a result (public documentation).
type column struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"` // enrichment or constraint
}

// The states of a lookup and its steps (public documentation).
const (
	queued, running, completed, failed, cancelled = "queued", "running", "completed", "failed", "cancelled"

	identifying, generatingSchema, generating, done = "identifying", "generating_schema", "generating", "done"
)

// lookup is a preview or a request. Service.mu guards the fields that change.
type lookup struct {
	id, kind, query, title string
	limit                  int
	begun                  time.Time
	given                  []column // those that were asked for

	status, step string
	steps        []stepTime
	progress     int // percent
	considered   int
	read         int
	skipped      int
	values       int // added by enrich later on
	columns      []column
	rows         []row
	enriching    []string
	cancel       context.CancelFunc
}

type stepTime struct {
	Step    string `json:"step"`
	Started string `json:"started_at"`
}

type row struct {
	document int // its number in the corpus
	values   map[string]any
}

func (l *lookup) over() bool { return l.status != queued && l.status != running }

// cost is in dollars; a preview costs nothing (assumption).
func (s *Service) cost(l *lookup) float64 {
	if l.kind == kindPreview {
		return 0
	}
	return float64(len(l.rows))*s.cfg.RecordRate + float64(l.values)*s.cfg.ColumnRate
}

func dollars(v float64) string { return fmt.Sprintf("$%.2f", v) }

// lookUp runs the steps of a lookup.
func (s *Service) lookUp(ctx context.Context, l *lookup) error {
	if err := s.cfg.Fail(); err != nil {
		return err
	}
	if err := s.enter(ctx, l, identifying, 5, func() {}); err != nil {
		return err
	}
	c, err := s.corpus()
	if err != nil {
		return err
	}
	hits, err := c.identify(ctx, l.query)
	if err != nil {
		return err
	}
	if err := s.enter(ctx, l, generatingSchema, 20, func() { l.considered = len(hits) }); err != nil {
		return err
	}
	var columns []column
	if err := s.enter(ctx, l, generating, 30, func() {
		if len(l.columns) == 0 {
			l.columns = c.deriveColumns(l.query)
		}
		columns = slices.Clone(l.columns)
	}); err != nil {
		return err
	}
	for i, h := range hits {
		if err := s.cfg.Wait(ctx, recordPace); err != nil {
			return err
		}
		values, ok, err := c.examine(ctx, h, columns)
		if err != nil {
			return err
		}
		full := false
		if err := s.change(l, func() {
			l.read++
			if ok {
				l.rows = append(l.rows, row{h.number, values})
			} else {
				l.skipped++
			}
			l.progress = 30 + 70*max(len(l.rows)*len(hits), (i+1)*l.limit)/(len(hits)*l.limit)
			l.progress = min(l.progress, 99)
			full = len(l.rows) == l.limit
		}); err != nil {
			return err
		}
		if full {
			break
		}
	}
	return nil
}

// errCancelled ends the work of a cancelled request. Nothing of it changes after that, so its
// charge matches its records.
var errCancelled = errors.New("cancelled")

func (s *Service) change(l *lookup, f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.status == cancelled {
		return errCancelled
	}
	f()
	return nil
}

// enter begins a step, with the results of the one before, and waits for its duration.
func (s *Service) enter(ctx context.Context, l *lookup, step string, progress int, results func()) error {
	if err := s.change(l, func() {
		results()
		l.status, l.step, l.progress = running, step, progress
		l.steps = append(l.steps, stepTime{step, s.cfg.Now().UTC().Format(time.RFC3339Nano)})
	}); err != nil {
		return err
	}
	return s.cfg.Wait(ctx, stepPace)
}

// endLookup is called with s.mu held.
func (s *Service) endLookup(l *lookup, err error) {
	switch {
	case l.status == cancelled:
		return // it is kept
	case err != nil:
		l.status = failed
		s.cfg.Log.Debug("a deep lookup failed", "error", err)
	default:
		l.status, l.progress, l.step = completed, 100, done
		l.steps = append(l.steps, stepTime{done, s.cfg.Now().UTC().Format(time.RFC3339Nano)})
	}
	s.keepEnd(l.id, l.stored())
}

// identify finds the documents for a query, the best first.
func (c *corpus) identify(ctx context.Context, text string) ([]hit, error) {
	hits, err := c.find(ctx, parseQuery(text))
	if err != nil || len(hits) == 0 {
		return nil, err
	}
	least, seen := identifyShare*hits[0].weight, map[[2]string]bool{} // an entity counts, and costs, once
	return slices.DeleteFunc(hits, func(h hit) bool {
		again := seen[h.doc.same()]
		seen[h.doc.same()] = true
		return again || h.weight < least
	}), nil
}

// examine fills the columns from a document's facts. It skips a document that does not meet
// every constraint, or has no value for any column.
func (c *corpus) examine(ctx context.Context, h hit, columns []column) (values map[string]any, ok bool, err error) {
	values = map[string]any{}
	wanted, filled := 0, 0
	for _, col := range columns {
		if col.Type == "constraint" {
			if ok, err := c.meets(ctx, h, col); err != nil || !ok {
				return nil, false, err
			}
			values[col.Name] = true
			continue
		}
		wanted++
		v, ok := h.doc.value(col.Name)
		if ok {
			filled++
		}
		values[col.Name] = v // nil is null
	}
	return values, wanted == 0 || filled > 0, nil
}

// deriveColumns is the schema if the caller gave none: the columns of every document, and the
// facts in the query.
func (c *corpus) deriveColumns(query string) []column {
	out := []column{
		{"name", "Name of the entity", "enrichment"},
		{"url", "Where it was found", "enrichment"},
		{"description", "What it is, in one sentence", "enrichment"},
	}
	for _, w := range words(query) {
		name := factName(w)
		if c.names[name] && len(out) < maxColumns && !slices.ContainsFunc(out, func(o column) bool { return o.Name == name }) {
			out = append(out, column{name, "The " + name + " as it is written", "enrichment"})
		}
	}
	return out
}

// enhance makes a query more precise with the category of its best documents.
func (c *corpus) enhance(ctx context.Context, query string) (string, error) {
	hits, err := c.identify(ctx, query)
	if err != nil || len(hits) == 0 {
		return query, err
	}
	category := hits[0].doc.Category
	if category == "" || slices.Contains(words(query), strings.ToLower(category)) {
		return query, nil
	}
	return strings.TrimRight(query, ". ") + `, in the category "` + category + `"`, nil
}
