package index

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"zonedeck/service/emulator/answer"
)

// handlePreview is POST preview {query}: {preview_id, columns}. The sample comes later.
func (s *Service) handlePreview(w http.ResponseWriter, r *http.Request) {
	query, ok := s.readQuery(w, r)
	if !ok {
		return
	}
	c, err := s.corpus()
	if err != nil {
		s.internal(w, err)
		return
	}
	columns := c.deriveColumns(query)
	l := &lookup{kind: "preview", query: query, limit: previewRecords, columns: slices.Clone(columns)}
	if !s.launch(w, l, "dld_", s.previews) {
		return
	}
	answer.JSON(w, http.StatusOK, basisBeta, map[string]any{"preview_id": l.id, "columns": columns})
}

// launch starts a lookup; when it could not, it has answered.
func (s *Service) launch(w http.ResponseWriter, l *lookup, prefix string, on *shelf[*lookup]) bool {
	id, err := s.id(prefix)
	if err != nil {
		s.internal(w, err)
		return false
	}
	l.id, l.status = id, queued
	s.mu.Lock()
	cancel, err := s.begin(func(ctx context.Context) error { return s.work(ctx, l) }, func(err error) { s.endLookup(l, err) })
	if err == nil {
		l.cancel = cancel
		on.put(id, l, s.cfg.Now(), (*lookup).over)
	}
	s.mu.Unlock()
	if err != nil {
		busy(w)
	}
	return err == nil
}

// see calls f with the lookup of the path and s.mu held; without one, it has answered.
func (s *Service) see(w http.ResponseWriter, r *http.Request, on *shelf[*lookup], f func(*lookup)) bool {
	s.mu.Lock()
	l, ok := on.get(r.PathValue("id"), s.cfg.Now())
	if ok {
		f(l)
	}
	s.mu.Unlock()
	if !ok {
		answer.JSON(w, http.StatusNotFound, basisBetaGuess, map[string]string{"error": "Request not found"})
	}
	return ok
}

func (s *Service) handlePreviewResult(w http.ResponseWriter, r *http.Request) {
	shown := map[string]string{queued: "pending", running: "processing", completed: "completed", failed: "failed"}
	var v map[string]any
	if s.see(w, r, s.previews, func(l *lookup) {
		v = map[string]any{
			"preview_id": l.id, "query": l.query, "status": shown[l.status], "columns": slices.Clone(l.columns),
			"result_limit": l.limit, "sample_data": []map[string]any{},
		}
		if l.status == completed {
			v["sample_data"] = l.data()
		}
	}) {
		answer.JSON(w, http.StatusOK, basisBeta, v)
	}
}

// data are the rows as they are shown; the maps are never changed once made.
func (l *lookup) data() []map[string]any {
	out := make([]map[string]any, len(l.rows))
	for i, r := range l.rows {
		out[i] = r.values
	}
	return out
}

func (s *Service) handleEnhance(w http.ResponseWriter, r *http.Request) {
	query, ok := s.readQuery(w, r)
	if !ok {
		return
	}
	c, err := s.corpus()
	if err != nil {
		s.internal(w, err)
		return
	}
	enhanced, err := c.enhance(r.Context(), query)
	if err != nil {
		s.internal(w, err)
		return
	}
	answer.JSON(w, http.StatusOK, basisBeta, map[string]string{"enhanced_query": enhanced})
}

// handleTrigger is POST trigger: {preview_id} or {query, spec}, and result_limit.
func (s *Service) handleTrigger(w http.ResponseWriter, r *http.Request) {
	f, ok := s.readObject(w, r)
	if !ok {
		return
	}
	l := &lookup{kind: "lookup"}
	preview := f.text("preview_id", 64)
	if preview == "" {
		l.query = f.required("query", maxQuery)
	}
	f.spec(l)
	if preview != "" && (l.query != "" || len(l.columns) > 0) {
		f.Refuse("preview_id", "takes its query and columns from the preview: leave out query and spec")
	}
	l.limit = f.number("result_limit", 1, maxRecords, defaultRecords)
	if !s.finish(w, f) {
		return
	}
	if preview != "" {
		s.mu.Lock()
		p, ok := s.previews.get(preview, s.cfg.Now())
		if ok {
			l.query, l.columns = p.query, slices.Clone(p.columns)
		}
		s.mu.Unlock()
		if !ok {
			answer.JSON(w, http.StatusNotFound, basisBetaGuess, map[string]string{"error": "Preview not found"})
			return
		}
	}
	if l.title == "" {
		l.title = l.query
	}
	if !s.launch(w, l, "ai_", s.lookups) {
		return
	}
	answer.JSON(w, http.StatusOK, basisBeta, map[string]any{
		"request_id": l.id, "status": queued, "max_cost": dollars(float64(l.limit) * s.cfg.RecordRate),
	})
}

// spec reads spec{name, query, title, columns}. Its own query, being the more detailed
// one, is what is looked for.
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

func (s *Service) handleStatus(w http.ResponseWriter, r *http.Request) {
	var v map[string]any
	if s.see(w, r, s.lookups, func(l *lookup) {
		v = map[string]any{
			"request_id": l.id, "status": l.status, "step": l.step, "progress": l.progress,
			"steps":      slices.Clone(l.steps),
			"pages_read": l.read, "pages_considered": l.considered, "matched_records": len(l.rows),
			"skipped_records": l.skipped, "is_trial": false, "result_limit": l.limit,
		}
	}) {
		answer.JSON(w, http.StatusOK, basisBeta, v)
	}
}

func (s *Service) handleResult(w http.ResponseWriter, r *http.Request) {
	var v map[string]any
	if s.see(w, r, s.lookups, func(l *lookup) {
		v = map[string]any{
			"request_id": l.id, "query": l.query, "title": l.title, "status": l.status, "step": l.step,
			"matched_records": len(l.rows), "skipped_records": l.skipped,
			"pages_read": l.read, "pages_considered": l.considered,
			"total_cost": dollars(s.cost(l)), "columns": slices.Clone(l.columns), "data": l.data(),
		}
	}) {
		answer.JSON(w, http.StatusOK, basisBeta, v)
	}
}

// handleDownload writes the records alone. Before the end it answers 202, as the job
// endpoints do; a cancelled request has what it had.
func (s *Service) handleDownload(w http.ResponseWriter, r *http.Request) {
	format := r.URL.Query().Get("format")
	if !slices.Contains([]string{"", "json", "ndjson", "csv"}, format) {
		refuseInvalid(w, errors.New("format must be one of json, ndjson, csv (this emulator writes no excel)"))
		return
	}
	var data []map[string]any
	var columns []column
	var status string
	if !s.see(w, r, s.lookups, func(l *lookup) { data, columns, status = l.data(), slices.Clone(l.columns), l.status }) {
		return
	}
	if status != completed && status != cancelled {
		code := http.StatusAccepted
		if status == failed {
			code = http.StatusBadRequest
		}
		answer.JSON(w, code, basisBetaGuess, map[string]string{"status": status, "message": "Request is " + status})
		return
	}
	w.Header().Set(answer.BasisHeader, basisBeta)
	switch format {
	case "csv":
		writeCSV(w, columns, data)
	case "ndjson":
		w.Header().Set("Content-Type", "application/x-ndjson")
		enc := json.NewEncoder(w)
		for _, d := range data {
			_ = enc.Encode(d) // the client may be gone; there is nobody else to tell
		}
	default:
		answer.JSON(w, http.StatusOK, basisBeta, data)
	}
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

// handleCancel ends a request; what it has collected stays, and is charged.
func (s *Service) handleCancel(w http.ResponseWriter, r *http.Request) {
	var v map[string]any
	if !s.see(w, r, s.lookups, func(l *lookup) {
		if l.over() {
			return
		}
		l.isCancelled, l.status = true, cancelled
		l.cancel()
		v = map[string]any{"request_id": l.id, "status": cancelled, "records_processed": l.read, "charge": dollars(s.cost(l))}
	}) {
		return
	}
	if v == nil {
		answer.Text(w, http.StatusBadRequest, basisBetaGuess, "Request is not running")
		return
	}
	answer.JSON(w, http.StatusOK, basisBeta, v)
}

// handleEnrich adds a column to a finished request, in the background.
func (s *Service) handleEnrich(w http.ResponseWriter, r *http.Request) {
	f, ok := s.readObject(w, r)
	if !ok {
		return
	}
	c := column{Name: f.required("column_name", maxColumnName), Description: f.text("query", maxColumnText), Type: "enrichment"}
	if !s.finish(w, f) {
		return
	}
	var refusal string
	var full bool
	var most float64
	if !s.see(w, r, s.lookups, func(l *lookup) {
		switch {
		case l.status != completed:
			refusal = "Request is not completed"
		case slices.ContainsFunc(l.columns, func(o column) bool { return o.Name == c.Name }) || slices.Contains(l.enriching, c.Name):
			refusal = "Column exists"
		case len(l.columns)+len(l.enriching) >= maxColumns:
			refusal = "Too many columns"
		default:
			_, err := s.begin(
				func(ctx context.Context) error { return s.cfg.Wait(ctx, stepPace) },
				func(err error) { s.enrich(l, c, err) })
			if full = err != nil; !full {
				l.enriching = append(l.enriching, c.Name)
				most = float64(len(l.rows)) * s.cfg.ColumnRate
			}
		}
	}) {
		return
	}
	switch {
	case full:
		busy(w)
	case refusal != "":
		answer.Text(w, http.StatusBadRequest, basisBetaGuess, refusal)
	default:
		answer.JSON(w, http.StatusOK, basisBeta, map[string]string{
			"column_name": c.Name, "status": "processing", "max_additional_cost": dollars(most),
		})
	}
}

// enrich fills the new column, with s.mu held; only values that were found cost.
func (s *Service) enrich(l *lookup, c column, err error) {
	l.enriching = slices.DeleteFunc(l.enriching, func(n string) bool { return strings.EqualFold(n, c.Name) })
	if err != nil {
		return
	}
	l.columns = append(l.columns, c)
	added := 0
	for i, r := range l.rows {
		values := maps.Clone(r.values)
		v, ok := r.doc.value(c.Name)
		if values[c.Name] = v; ok {
			added++
		}
		l.rows[i].values = values
	}
	l.values += added
	if added > 0 {
		s.cfg.Charge("deep_lookup", 0, float64(added)*s.cfg.ColumnRate)
	}
}
