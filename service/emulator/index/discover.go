package index

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
)

// Bounds of a discover request (public documentation, except the keywords).
const (
	maxQuery    = 1500
	maxIntent   = 3000
	maxResults  = 1000
	maxKeywords = 50
	maxKeyword  = 200
	// defaultResults is an assumption.
	defaultResults = 10
	// snippetBytes bounds a result's description.
	snippetBytes = 300
)

// Weights of the score: an intent counts more than the query.
const (
	intentShare = 0.6
	nearBonus   = 1.25
	farMalus    = 0.8
	// halfWeight is the weight of a term that gives half of the maximum score.
	halfWeight = 3
)

// request is a checked POST /discover.
type request struct {
	query, intent           string
	country, city, language string
	results                 int
	keywords                []string
	content, duplicates     bool
	start, end              time.Time // end is exclusive
	format, mode            string
}

// Result is one result of GET /discover.
type Result struct {
	Link        string `json:"link"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Score is from 0 to 1; nil without a ranking (mode zeroRanking).
	Score   *float64 `json:"relevance_score,omitempty"`
	Content *string  `json:"content,omitempty"`
}

func readRequest(f fields) request {
	r := request{
		query: f.required("query", maxQuery), intent: f.text("intent", maxIntent),
		country: strings.ToLower(f.text("country", 64)), city: f.text("city", 100), language: strings.ToLower(f.text("language", 64)),
		keywords:   f.texts("filter_keywords", maxKeywords, maxKeyword),
		content:    f.Bool("include_content"),
		duplicates: f.Has("remove_duplicates") && !f.Bool("remove_duplicates"),
		format:     f.oneOf("format", "json", "json", "md"),
		mode:       f.oneOf("mode", "standard", "standard", "deep", "fast", "zeroRanking"),
	}
	r.results = f.Number("num_results", 1, maxResults, defaultResults)
	f.Bool("include_images") // documents have none
	if r.country != "" && !isCode(r.country) {
		f.Refuse("country", "must be a two-letter code")
	}
	if base, _, _ := strings.Cut(r.language, "-"); r.language != "" {
		if !isCode(base) {
			f.Refuse("language", "must be a language code")
		}
		r.language = base
	}
	r.start, r.end = f.day("start_date"), f.day("end_date")
	if !r.end.IsZero() {
		r.end = r.end.AddDate(0, 0, 1)
	}
	if !r.start.IsZero() && !r.end.IsZero() && !r.start.Before(r.end) {
		f.Refuse("start_date", "must not be after end_date")
	}
	return r
}

func isCode(s string) bool {
	return len(s) == 2 && s[0] >= 'a' && s[0] <= 'z' && s[1] >= 'a' && s[1] <= 'z'
}

// day reads YYYY-MM-DD, in UTC.
func (f fields) day(name string) time.Time {
	v := f.text(name, 64)
	if v == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.DateOnly, v)
	if err != nil {
		f.Refuse(name, "must be a date of the form YYYY-MM-DD")
	}
	return t
}

func (c *corpus) discover(ctx context.Context, r request) ([]Result, error) {
	q := parseQuery(r.query)
	q.phrases = append(q.phrases, r.keywords...)
	hits, err := c.find(ctx, q)
	if err != nil {
		return nil, err
	}
	intended := map[int]float64{}
	if terms := contentWords(words(r.intent)); len(terms) > 0 {
		found, err := c.match(ctx, anyTerm(terms))
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			intended[h.number] = score(h.weight, terms)
		}
	}
	hits = slices.DeleteFunc(hits, func(h hit) bool { return !r.allows(h.doc) })
	if r.mode == "zeroRanking" { // no ranking, no count, no content
		r.results, r.content = maxResults, false
		slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.number, b.number) })
		return r.toResults(hits), nil
	}
	for i, h := range hits {
		share := score(h.weight, q.terms)
		if r.intent != "" {
			share = (1-intentShare)*share + intentShare*intended[h.number]
		}
		hits[i].score = r.place(h.doc, share)
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return r.toResults(hits), nil
}

// score maps a weight to below 1. A term that no document contains lowers it.
func score(weight float64, terms []string) float64 {
	return weight / (weight + halfWeight*float64(max(len(terms), 1)))
}

// toResults turns hits into results, as many as the request wants.
func (r request) toResults(hits []hit) []Result {
	out, seen := []Result{}, map[[2]string]bool{}
	for _, h := range hits {
		if len(out) == r.results {
			break
		}
		if !r.duplicates && seen[h.doc.identity()] {
			continue
		}
		seen[h.doc.identity()] = true
		res := Result{Link: h.doc.URL, Title: h.doc.Title, Description: h.description()}
		if r.mode != "zeroRanking" {
			rounded := math.Round(h.score*1e4) / 1e4
			res.Score = &rounded
		}
		if r.content {
			content := h.doc.Text
			if r.format == "md" {
				content = h.doc.markdown()
			}
			res.Content = &content
		}
		out = append(out, res)
	}
	return out
}

// description is the passage on one line, or else the document's description.
func (h hit) description() string {
	text := strings.Join(strings.Fields(h.passage), " ")
	if text == "" {
		text = h.doc.Description
	}
	return answer.Cut(text, snippetBytes)
}

// allows reports whether a document passes the filters of the request.
func (r request) allows(d *document) bool {
	if r.language != "" && d.text("language") != r.language {
		return false
	}
	if r.start.IsZero() && r.end.IsZero() {
		return true
	}
	return !d.Published.IsZero() && !d.Published.Before(r.start) && (r.end.IsZero() || d.Published.Before(r.end))
}

// place weighs the country and city of a document. It excludes nothing.
func (r request) place(d *document, score float64) float64 {
	if country := d.text("country"); r.country != "" && country != "" {
		if country == r.country {
			score *= nearBonus
		} else {
			score *= farMalus
		}
	}
	if r.city != "" && d.text("city") == strings.ToLower(r.city) {
		score *= nearBonus
	}
	return min(score, 1)
}

// Discover searches for callers inside the emulator. body is that of POST /discover. The error
// names a wrong field.
func (s *Service) Discover(ctx context.Context, body []byte) ([]Result, error) {
	f, err := s.parseObject(body)
	if err != nil {
		return nil, err
	}
	r := readRequest(f)
	f.Done()
	if err := f.Invalid(); err != nil {
		return nil, err
	}
	if err := s.cfg.Fail(); err != nil {
		return nil, fmt.Errorf("discovering: %w", err)
	}
	return s.find(ctx, r)
}

func (s *Service) find(ctx context.Context, r request) ([]Result, error) {
	c, err := s.corpus()
	if err != nil {
		return nil, err
	}
	return c.discover(ctx, r)
}

// task is a discover request in the background. Service.mu guards it.
type task struct {
	request
	ask          json.RawMessage // the body that asked for it
	status       string          // processing, done, error, failed (public documentation)
	begun, ended time.Time
	results      []Result
}

func (s *Service) start(w http.ResponseWriter, r *http.Request) (any, error) {
	f, err := s.readObject(w, r)
	if err != nil {
		return nil, err
	}
	req := readRequest(f)
	if err := f.Finish(w); err != nil {
		return nil, err
	}
	ask, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	id, err := s.queue(req, ask)
	if err != nil {
		return nil, err
	}
	v := map[string]string{"status": "ok", "task_id": id}
	if f.Has("mode") || f.Has("include_images") {
		answer.JSON(w, http.StatusOK, basisMode, v)
		return nil, nil
	}
	return v, nil
}

func (s *Service) queue(r request, ask json.RawMessage) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &task{request: r, ask: ask, status: "processing", begun: s.cfg.Now()}
	id = newUUID()
	if err := s.beginTask(id, t); err != nil {
		return "", err
	}
	if err := s.save(id, t.stored()); err != nil {
		return "", err
	}
	s.forget(s.tasks.add(id, t, t.begun, taskOver))
	return id, nil
}

// beginTask begins the work of a task. The caller holds s.mu.
func (s *Service) beginTask(id string, t *task) error {
	_, err := s.begin(func(ctx context.Context) error { return s.discover(ctx, t) }, func(err error) { s.endTask(id, t, err) })
	return err
}

func taskOver(t *task) bool { return t.status != "processing" }

func (s *Service) discover(ctx context.Context, t *task) error {
	if err := s.cfg.Wait(ctx, discoverPace); err != nil {
		return err
	}
	if err := s.cfg.Fail(); err != nil {
		return err
	}
	found, err := s.find(ctx, t.request)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.results = found
	return nil
}

func (s *Service) endTask(id string, t *task, err error) {
	t.ended = s.cfg.Now()
	switch {
	case err == nil:
		t.status = "done"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		t.status = "failed"
	default:
		t.status = "error"
		s.cfg.Log.Debug("a discover task failed", "error", err)
	}
	s.saveEnd(id, t.stored())
}

func (s *Service) collect(_ http.ResponseWriter, r *http.Request) (any, error) {
	id := r.URL.Query().Get("task_id")
	if id == "" {
		return nil, errors.New("task_id is required")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tasks.get(id, s.cfg.Now())
	if !ok {
		return nil, &refusedError{http.StatusNotFound, basisLost, "Task not found"}
	}
	over := t.ended
	if over.IsZero() {
		over = s.cfg.Now()
	}
	v := map[string]any{"status": t.status, "duration_seconds": float64(over.Sub(t.begun).Milliseconds()/100) / 10}
	if t.status == "done" {
		v["results"] = t.results
		v["timestamp"] = over.UTC().Format(time.RFC3339)
	}
	return v, nil
}
