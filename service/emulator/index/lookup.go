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

// lookup is a preview or a request. Service.mu guards it but for what never changes.
type lookup struct {
	id, kind, query, title string
	limit                  int

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
	isCancelled  bool
}

// stepTime says when a step was begun.
type stepTime struct {
	Step    string `json:"step"`
	Started string `json:"started_at"`
}

type row struct {
	doc    int
	values map[string]any
}

func (l *lookup) over() bool { return l.status != queued && l.status != running }

// cost is in dollars; a preview costs nothing (assumption).
func (s *Service) cost(l *lookup) float64 {
	if l.kind == "preview" {
		return 0
	}
	return float64(len(l.rows))*s.cfg.RecordRate + float64(l.values)*s.cfg.ColumnRate
}

func dollars(v float64) string { return fmt.Sprintf("$%.2f", v) }

// work does the lookup, step by step.
func (s *Service) work(ctx context.Context, l *lookup) error {
	if err := s.cfg.Fail(l.kind, l.query); err != nil {
		return err
	}
	if err := s.enter(ctx, l, identifying, 5); err != nil {
		return err
	}
	hits := s.identify(l.query)
	if err := s.change(l, func() { l.considered = len(hits) }); err != nil {
		return err
	}
	if err := s.enter(ctx, l, generatingSchema, 20); err != nil {
		return err
	}
	var columns []column
	if err := s.change(l, func() {
		if len(l.columns) == 0 {
			l.columns = deriveColumns(l.query)
		}
		columns = slices.Clone(l.columns)
	}); err != nil {
		return err
	}
	if err := s.enter(ctx, l, generating, 30); err != nil {
		return err
	}
	for i, h := range hits {
		if err := s.cfg.Wait(ctx, recordPace); err != nil {
			return err
		}
		values, ok := s.examine(h.doc, columns)
		full := false
		if err := s.change(l, func() {
			l.read++
			if ok {
				l.rows = append(l.rows, row{h.doc, values})
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

// errCancelled ends the work of a request that was cancelled; after that nothing of it
// changes any more, so that what was charged stays what is there.
var errCancelled = errors.New("cancelled")

func (s *Service) change(l *lookup, f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.isCancelled {
		return errCancelled
	}
	f()
	return nil
}

// enter begins a step and gives it its time.
func (s *Service) enter(ctx context.Context, l *lookup, step string, progress int) error {
	if err := s.change(l, func() {
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
	case l.isCancelled:
		l.status = cancelled
	case err != nil:
		l.status = failed
		s.cfg.Log.Debug("a deep lookup failed", "error", err)
	default:
		l.status, l.progress, l.step = completed, 100, done
		l.steps = append(l.steps, stepTime{done, s.cfg.Now().UTC().Format(time.RFC3339Nano)})
	}
	if l.kind == "lookup" && !errors.Is(err, context.DeadlineExceeded) && len(l.rows) > 0 {
		s.cfg.Charge("deep_lookup", len(l.rows), s.cost(l))
	}
}

// identify are the documents that the query is about, the best first. A question in
// plain language asks with words that no document has to hold.
func (s *Service) identify(query string) []hit {
	a := parseAsked(query)
	a.terms = slices.DeleteFunc(a.terms, isAsking)
	hits := ranked(s.corpus().scores(a.terms))
	seen := map[[32]byte]bool{} // an entity counts, and costs, once
	hits = slices.DeleteFunc(hits, func(h hit) bool {
		e := &s.corpus().docs[h.doc]
		if !a.allows(e) || seen[e.print] {
			return true
		}
		seen[e.print] = true
		return false
	})
	for i, h := range hits {
		if h.score < identifyShare*hits[0].score {
			return hits[:i]
		}
	}
	return hits
}

// examine fills the columns from a document. A document that does not show every
// constraint to hold, or that says nothing about any column, is skipped.
func (s *Service) examine(doc int, columns []column) (map[string]any, bool) {
	e := &s.corpus().docs[doc]
	values := map[string]any{}
	wanted, filled := 0, 0
	for _, c := range columns {
		if c.Type == "constraint" {
			if !s.extract().meets(e, c) {
				return nil, false
			}
			values[c.Name] = true
			continue
		}
		wanted++
		v, ok := s.extract().value(e, c.Name)
		if ok {
			filled++
		}
		values[c.Name] = v // nil is null
	}
	return values, wanted == 0 || filled > 0
}

// deriveColumns is the schema where the caller gave none: what every document has, and
// what the query names.
func deriveColumns(query string) []column {
	out := []column{
		{"name", "Name of the entity", "enrichment"},
		{"url", "Where it was found", "enrichment"},
		{"description", "What it is, in one sentence", "enrichment"},
	}
	asked := words(query)
	for _, c := range [...]struct{ word, name, text string }{
		{"price", "price", "Price as it is written"},
		{"cost", "price", "Price as it is written"},
		{"rating", "rating", "Rating"},
		{"rated", "rating", "Rating"},
		{"author", "author", "Author"},
		{"published", "published", "Date of publication"},
		{"category", "category", "Category"},
		{"stock", "availability", "Whether it is in stock"},
		{"available", "availability", "Whether it is in stock"},
		{"sku", "sku", "Article number"},
		{"email", "email", "Email address"},
		{"phone", "phone", "Phone number"},
	} {
		if slices.Contains(asked, c.word) && !slices.ContainsFunc(out, func(o column) bool { return o.Name == c.name }) {
			out = append(out, column{c.name, c.text, "enrichment"})
		}
	}
	return out
}

// enhance makes a query more precise with what the index knows about its best documents:
// their category and a word they have in common.
func (s *Service) enhance(query string) string {
	hits := s.identify(query)
	if len(hits) == 0 {
		return query
	}
	hits = hits[:min(len(hits), 10)]
	categories, common := map[string]int{}, map[string]int{}
	own := words(query)
	for _, h := range hits {
		e := &s.corpus().docs[h.doc]
		categories[e.Category]++
		seen := map[string]bool{}
		for _, w := range words(e.Title + " " + e.Description) {
			if !seen[w] && !slices.Contains(own, w) && len(w) > 3 {
				seen[w] = true
				common[w]++
			}
		}
	}
	out := strings.TrimRight(query, ". ")
	if c := mostOf(categories); c != "" && !containsAll(own, words(c)) {
		out += `, in the category "` + c + `"`
	}
	if w := mostOf(common); w != "" && common[w] > 1 {
		out += `, related to "` + w + `"`
	}
	return out
}

// mostOf is the key that was counted most often; of equal ones the first by name.
func mostOf(counts map[string]int) string {
	best, most := "", 0
	for k, n := range counts {
		if k != "" && (n > most || n == most && k < best) {
			best, most = k, n
		}
	}
	return best
}
