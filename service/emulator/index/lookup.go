package index

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
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
	requested              []column // those that were asked for

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

func (l *lookup) hasEnded() bool { return l.status != queued && l.status != running }

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
	if err := s.beginStep(ctx, l, identifying, 5, func() {}); err != nil {
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
	if err := s.beginStep(ctx, l, generatingSchema, 20, func() { l.considered = len(hits) }); err != nil {
		return err
	}
	var columns []column
	if err := s.beginStep(ctx, l, generating, 30, func() {
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

// beginStep starts a step, with the results of the one before, and waits for its duration.
func (s *Service) beginStep(ctx context.Context, l *lookup, step string, progress int, results func()) error {
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
	s.saveEnd(l.id, l.stored())
}

// identify finds the documents for a query, the best first.
func (c *corpus) identify(ctx context.Context, text string) ([]hit, error) {
	hits, err := c.find(ctx, parseQuery(text))
	if err != nil || len(hits) == 0 {
		return nil, err
	}
	least, seen := identifyShare*hits[0].weight, map[[2]string]bool{} // an entity counts, and costs, once
	return slices.DeleteFunc(hits, func(h hit) bool {
		again := seen[h.doc.identity()]
		seen[h.doc.identity()] = true
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

// preview is POST preview {query}: {preview_id, columns}. The sample comes later.
func (s *Service) preview(w http.ResponseWriter, r *http.Request) (any, error) {
	query, c, err := s.readQuery(w, r)
	if err != nil {
		return nil, err
	}
	columns := c.deriveColumns(query)
	l := &lookup{kind: kindPreview, query: query, limit: previewRecords, columns: slices.Clone(columns)}
	if err := s.launch(l, "dld_", &s.previews); err != nil {
		return nil, err
	}
	return map[string]any{"preview_id": l.id, "columns": columns}, nil
}

func (s *Service) launch(l *lookup, prefix string, on *shelf[*lookup]) error {
	l.id, l.status, l.begun, l.requested = prefix+strings.ToLower(rand.Text())[:18], queued, s.cfg.Now(), l.columns
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.examineAll(l); err != nil {
		return err
	}
	if err := s.save(l.id, l.stored()); err != nil {
		l.cancel()
		return err
	}
	s.forget(on.add(l.id, l, l.begun, (*lookup).hasEnded))
	return nil
}

// examineAll begins the work of a lookup. The caller holds s.mu.
func (s *Service) examineAll(l *lookup) (err error) {
	l.cancel, err = s.begin(func(ctx context.Context) error { return s.lookUp(ctx, l) }, func(err error) { s.endLookup(l, err) })
	return err
}

// withLookup calls f with a lookup and s.mu held.
func (s *Service) withLookup(id string, on *shelf[*lookup], f func(*lookup) (any, error)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := on.get(id, s.cfg.Now())
	if !ok {
		return nil, &refusedError{http.StatusNotFound, basisBetaGuess, "Request not found"}
	}
	return f(l)
}

func (s *Service) previewResult(_ http.ResponseWriter, r *http.Request) (any, error) {
	shown := map[string]string{queued: "pending", running: "processing", completed: "completed", failed: "failed"}
	return s.withLookup(r.PathValue("id"), &s.previews, func(l *lookup) (any, error) {
		v := map[string]any{
			"preview_id": l.id, "query": l.query, "status": shown[l.status], "columns": slices.Clone(l.columns),
			"result_limit": l.limit, "sample_data": []map[string]any{},
		}
		if l.status == completed {
			v["sample_data"] = l.data()
		}
		return v, nil
	})
}

// data are the rows of an answer. Their maps do not change.
func (l *lookup) data() []map[string]any {
	out := make([]map[string]any, len(l.rows))
	for i, r := range l.rows {
		out[i] = r.values
	}
	return out
}

func (s *Service) enhance(w http.ResponseWriter, r *http.Request) (any, error) {
	query, c, err := s.readQuery(w, r)
	if err != nil {
		return nil, err
	}
	enhanced, err := c.enhance(r.Context(), query)
	return map[string]string{"enhanced_query": enhanced}, err
}

// trigger is POST trigger: {preview_id} or {query, spec}, and result_limit.
func (s *Service) trigger(w http.ResponseWriter, r *http.Request) (any, error) {
	f, err := s.readObject(w, r)
	if err != nil {
		return nil, err
	}
	l := &lookup{kind: kindLookup}
	preview := f.text("preview_id", 64)
	if preview == "" {
		l.query = f.required("query", maxQuery)
	}
	f.spec(l)
	if preview != "" && (l.query != "" || len(l.columns) > 0) {
		f.Refuse("preview_id", "takes its query and columns from the preview: leave out query and spec")
	}
	l.limit = f.Number("result_limit", 1, maxRecords, defaultRecords)
	if err := f.Finish(w); err != nil {
		return nil, err
	}
	if preview != "" {
		if _, err := s.withLookup(preview, &s.previews, func(p *lookup) (any, error) {
			l.query, l.columns = p.query, slices.Clone(p.columns)
			return nil, nil
		}); err != nil {
			return nil, &refusedError{http.StatusNotFound, basisBetaGuess, "Preview not found"}
		}
	}
	l.title = cmp.Or(l.title, l.query)
	if err := s.launch(l, "ai_", &s.lookups); err != nil {
		return nil, err
	}
	return map[string]any{
		"request_id": l.id, "status": queued, "max_cost": dollars(float64(l.limit) * s.cfg.RecordRate),
	}, nil
}

// spec reads spec{name, query, title, columns}. Its query is more detailed, so it replaces that
// of the request.
func (f fields) spec(l *lookup) {
	in := fields{f.Table.Table("spec")}
	if in.Table == nil {
		return
	}
	in.text("name", 200)
	if q := in.text("query", maxQuery); q != "" {
		l.query = q
	}
	l.title = in.text("title", 500)
	in.Require("columns")
	columns := in.Tables("columns")
	if n := len(columns); in.Fine("columns") && (n == 0 || n > maxColumns) {
		in.Refuse("columns", "must have 1 to %d entries", maxColumns)
	}
	for _, t := range columns[:min(len(columns), maxColumns)] {
		c := fields{t}
		one := column{
			Name: c.required("name", maxColumnName), Description: c.text("description", maxColumnText),
			Type: c.oneOf("type", "enrichment", "enrichment", "constraint"),
		}
		if slices.ContainsFunc(l.columns, func(o column) bool { return o.Name == one.Name }) {
			c.Refuse("name", "is there twice")
		}
		l.columns = append(l.columns, one)
		c.Done()
	}
	in.Done()
}

func (s *Service) status(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.withLookup(r.PathValue("id"), &s.lookups, func(l *lookup) (any, error) {
		return map[string]any{
			"request_id": l.id, "status": l.status, "step": l.step, "progress": l.progress,
			"steps":      slices.Clone(l.steps),
			"pages_read": l.read, "pages_considered": l.considered, "matched_records": len(l.rows),
			"skipped_records": l.skipped, "is_trial": false, "result_limit": l.limit,
		}, nil
	})
}

func (s *Service) result(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.withLookup(r.PathValue("id"), &s.lookups, func(l *lookup) (any, error) {
		return map[string]any{
			"request_id": l.id, "query": l.query, "title": l.title, "status": l.status, "step": l.step,
			"matched_records": len(l.rows), "skipped_records": l.skipped,
			"pages_read": l.read, "pages_considered": l.considered,
			"total_cost": dollars(s.cost(l)), "columns": slices.Clone(l.columns), "data": l.data(),
		}, nil
	})
}

// download writes the records alone. Before the end it answers 202, as the job endpoints do; a
// cancelled request returns its records so far.
func (s *Service) download(w http.ResponseWriter, r *http.Request) (any, error) {
	format := r.URL.Query().Get("format")
	if !slices.Contains([]string{"", "json", "ndjson", "csv"}, format) {
		return nil, errors.New("format must be one of json, ndjson, csv (this emulator writes no excel)")
	}
	var columns []column
	v, err := s.withLookup(r.PathValue("id"), &s.lookups, func(l *lookup) (any, error) {
		if l.status == completed || l.status == cancelled {
			columns = slices.Clone(l.columns)
			return l.data(), nil
		}
		code := http.StatusAccepted
		if l.status == failed {
			code = http.StatusBadRequest
		}
		return nil, &refusedError{code, basisBetaGuess, map[string]string{"status": l.status, "message": "Request is " + l.status}}
	})
	data, _ := v.([]map[string]any)
	if err != nil || format == "" || format == "json" {
		return v, err
	}
	w.Header().Set(answer.BasisHeader, basisBeta)
	if format == "csv" {
		writeCSV(w, columns, data)
		return nil, nil
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	for _, d := range data {
		_ = enc.Encode(d) // a failed write means that the client left
	}
	return nil, nil
}

func writeCSV(w http.ResponseWriter, columns []column, data []map[string]any) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	out := csv.NewWriter(w)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.Name
	}
	_ = out.Write(line) // as above
	for _, d := range data {
		for i, c := range columns {
			switch v := d[c.Name].(type) {
			case nil:
				line[i] = ""
			case float64:
				line[i] = strconv.FormatFloat(v, 'f', -1, 64)
			default:
				line[i] = fmt.Sprint(v)
			}
		}
		_ = out.Write(line)
	}
	out.Flush()
}

// cancelLookup is POST cancel: it ends a request, which keeps its records and is charged for them.
func (s *Service) cancelLookup(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.withLookup(r.PathValue("id"), &s.lookups, func(l *lookup) (any, error) {
		if l.hasEnded() {
			return nil, refuseText("Request is not running")
		}
		l.status = cancelled
		l.cancel()
		if err := s.save(l.id, l.stored()); err != nil {
			return nil, err
		}
		return map[string]any{"request_id": l.id, "status": cancelled, "records_processed": l.read, "charge": dollars(s.cost(l))}, nil
	})
}

// addColumn is POST enrich: it adds a column to a finished request, in the background.
func (s *Service) addColumn(w http.ResponseWriter, r *http.Request) (any, error) {
	f, err := s.readObject(w, r)
	if err != nil {
		return nil, err
	}
	c := column{Name: f.required("column_name", maxColumnName), Description: f.text("query", maxColumnText), Type: "enrichment"}
	if err := f.Finish(w); err != nil {
		return nil, err
	}
	corpus, err := s.corpus()
	if err != nil {
		return nil, err
	}
	return s.withLookup(r.PathValue("id"), &s.lookups, func(l *lookup) (any, error) {
		switch {
		case l.status != completed:
			return nil, refuseText("Request is not completed")
		case slices.ContainsFunc(l.columns, func(o column) bool { return o.Name == c.Name }) || slices.Contains(l.enriching, c.Name):
			return nil, refuseText("Column exists")
		case len(l.columns)+len(l.enriching) >= maxColumns:
			return nil, refuseText("Too many columns")
		}
		if _, err := s.begin(
			func(ctx context.Context) error { return s.cfg.Wait(ctx, stepPace) },
			func(err error) { s.endEnriching(corpus, l, c, err) }); err != nil {
			return nil, err
		}
		l.enriching = append(l.enriching, c.Name)
		return map[string]string{
			"column_name": c.Name, "status": "processing", "max_additional_cost": dollars(float64(len(l.rows)) * s.cfg.ColumnRate),
		}, nil
	})
}

// endEnriching is called with s.mu held.
func (s *Service) endEnriching(from *corpus, l *lookup, c column, err error) {
	l.enrich(from, c, err)
	s.saveEnd(l.id, l.stored())
}

// enrich fills the new column, with Service.mu held. Only the values that were found are charged.
func (l *lookup) enrich(from *corpus, c column, err error) {
	l.enriching = slices.DeleteFunc(l.enriching, func(n string) bool { return n == c.Name })
	if err != nil {
		return
	}
	l.columns = append(l.columns, c)
	for i, r := range l.rows {
		values := maps.Clone(r.values)
		v, ok := from.docs[r.document].value(c.Name)
		if values[c.Name] = v; ok {
			l.values++
		}
		l.rows[i].values = values
	}
}
