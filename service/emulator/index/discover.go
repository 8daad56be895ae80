package index

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
)

// Bounds of a discover request (public documentation, but for the keywords).
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

// How the score comes about: the intent, where there is one, decides more than the query.
const (
	intentShare = 0.6
	nearBonus   = 1.25
	farMalus    = 0.8
)

// request is POST /discover, checked.
type request struct {
	query, intent           string
	country, city, language string
	results                 int
	keywords                []string
	content, duplicates     bool
	start, end              time.Time // end is exclusive
	format, mode            string
}

// Result is one document that was found, as GET /discover shows it.
type Result struct {
	Link        string `json:"link"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Score is from 0 to 1; nil where nothing was ranked (mode zeroRanking).
	Score   *float64 `json:"relevance_score,omitempty"`
	Content *string  `json:"content,omitempty"`
}

func readRequest(f *fields, loose bool) (request, []string, error) {
	r := request{
		query: f.required("query", maxQuery), intent: f.text("intent", maxIntent),
		country: strings.ToLower(f.text("country", 64)), city: f.text("city", 100), language: strings.ToLower(f.text("language", 64)),
		keywords:   f.texts("filter_keywords", maxKeywords, maxKeyword),
		content:    f.truth("include_content", false),
		duplicates: !f.truth("remove_duplicates", true),
		format:     f.oneOf("format", "json", "json", "md"),
		mode:       f.oneOf("mode", "standard", "standard", "deep", "fast", "zeroRanking"),
	}
	r.results = f.number("num_results", 1, maxResults, defaultResults)
	f.truth("include_images", false) // no document has one
	if r.country != "" && !isCode(r.country) {
		f.bad("country must be a two-letter code")
	}
	if base, _, _ := strings.Cut(r.language, "-"); r.language != "" {
		if !isCode(base) {
			f.bad("language must be a language code")
		}
		r.language = base
	}
	r.start, r.end = f.day("start_date"), f.day("end_date")
	if !r.end.IsZero() {
		r.end = r.end.AddDate(0, 0, 1)
	}
	if !r.start.IsZero() && !r.end.IsZero() && !r.start.Before(r.end) {
		f.bad("start_date must not be after end_date")
	}
	ignored, err := f.end(loose)
	return r, ignored, err
}

func isCode(s string) bool {
	return len(s) == 2 && s[0] >= 'a' && s[0] <= 'z' && s[1] >= 'a' && s[1] <= 'z'
}

// day reads YYYY-MM-DD, in UTC.
func (f *fields) day(name string) time.Time {
	v := f.text(name, 64)
	if v == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.DateOnly, v)
	if err != nil {
		f.bad("%s must be a date of the form YYYY-MM-DD", name)
	}
	return t
}

// find is the search itself.
func (s *Service) find(r request) []Result {
	a := parseAsked(r.query)
	scores := s.corpus().scores(a.terms)
	if len(a.terms) == 0 { // only site: and the like
		for i := range s.corpus().docs {
			scores[i] = 0
		}
	}
	if r.intent != "" {
		wanted := s.corpus().scores(words(r.intent))
		for i, q := range scores {
			scores[i] = (1-intentShare)*q + intentShare*wanted[i]
		}
	}
	for i := range scores {
		e := &s.corpus().docs[i]
		if !a.allows(e) || !r.allows(e) {
			delete(scores, i)
			continue
		}
		scores[i] = r.place(e, scores[i])
	}
	hits := ranked(scores)
	unranked := r.mode == "zeroRanking" // no ranking, no count, no content
	if unranked {
		for i := range scores {
			scores[i] = 0
		}
		hits = ranked(scores)
		r.results, r.content = maxResults, false
	}
	out := []Result{}
	links, prints := map[string]bool{}, map[[32]byte]bool{}
	for _, h := range hits {
		e := &s.corpus().docs[h.doc]
		link := sameLink(e.URL)
		if !r.duplicates && (links[link] || prints[e.print]) {
			continue
		}
		links[link], prints[e.print] = true, true
		res := Result{Link: e.URL, Title: e.Title, Description: e.snippet(a.terms)}
		if !unranked {
			score := float64(int(h.score*1e4+0.5)) / 1e4
			res.Score = &score
		}
		if r.content {
			content := e.Text
			if r.format == "md" {
				content = e.markdown()
			}
			res.Content = &content
		}
		out = append(out, res)
		if len(out) == r.results {
			break
		}
	}
	return out
}

// allows tells whether a document is within what the request narrows to.
func (r request) allows(e *entry) bool {
	if r.language != "" && e.Language != r.language {
		return false
	}
	if (!r.start.IsZero() || !r.end.IsZero()) && e.Published.IsZero() {
		return false
	}
	if !r.start.IsZero() && e.Published.Before(r.start) || !r.end.IsZero() && !e.Published.Before(r.end) {
		return false
	}
	for _, k := range r.keywords {
		if !e.holds(k) {
			return false
		}
	}
	return true
}

// place weighs where a document is at home; it leaves nothing out.
func (r request) place(e *entry, score float64) float64 {
	if r.country != "" && e.Country != "" {
		if e.Country == r.country {
			score *= nearBonus
		} else {
			score *= farMalus
		}
	}
	if r.city != "" && e.holds(r.city) {
		score *= nearBonus
	}
	return min(score, 1)
}

// sameLink is the same for addresses that differ in fragment and in the order of their
// query only.
func sameLink(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	u.Fragment, u.RawQuery = "", u.Query().Encode()
	return u.String()
}

// snippet is the sentence of the document in which most of the terms stand; without any,
// its description.
func (e *entry) snippet(terms []string) string {
	best, most := e.Description, 0
	for sentence := range sentences(e.Description + "\n" + e.Text) {
		n, seen := 0, map[string]bool{}
		for _, w := range words(sentence) {
			seen[w] = true
		}
		for _, t := range terms {
			if seen[t] {
				n++
			}
		}
		if n > most {
			best, most = sentence, n
		}
	}
	if best == "" {
		for best = range sentences(e.Text) {
			break
		}
	}
	return cutText(strings.TrimSpace(best), snippetBytes)
}

// sentences are the lines of a text, cut where a sentence ends.
func sentences(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			for line = strings.TrimSpace(line); line != ""; {
				end := len(line)
				for _, stop := range [...]string{". ", "! ", "? "} {
					if i := strings.Index(line, stop); i >= 0 && i+1 < end {
						end = i + 1
					}
				}
				if !yield(line[:end]) {
					return
				}
				line = strings.TrimSpace(line[end:])
			}
		}
	}
}

// Discover searches at once, for callers inside the emulator. body is the body of POST
// /discover; the error names the field that is wrong.
func (s *Service) Discover(ctx context.Context, body []byte) ([]Result, error) {
	f, err := parseObject(body)
	if err != nil {
		return nil, err
	}
	r, _, err := readRequest(f, s.cfg.Loose)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Fail("discover", r.query); err != nil {
		return nil, fmt.Errorf("discovering: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.find(r), nil
}

// task is a discover request in the background. Service.mu guards it.
type task struct {
	request
	status      string // processing, done, error, failed (public documentation)
	begun, over time.Time
	results     []Result
}

func (s *Service) handleDiscover(w http.ResponseWriter, r *http.Request) {
	f, ok := s.readObject(w, r)
	if !ok {
		return
	}
	_, hasMode := f.raw["mode"]
	_, hasImages := f.raw["include_images"]
	req, ignored, err := readRequest(f, s.cfg.Loose)
	if err != nil {
		refuseInvalid(w, err)
		return
	}
	note(w, ignored)
	id, err := s.uuid()
	if err != nil {
		s.internal(w, err)
		return
	}
	s.mu.Lock()
	t := &task{request: req, status: "processing", begun: s.cfg.Now()}
	_, err = s.begin(func(ctx context.Context) error { return s.discover(ctx, t) }, func(err error) { s.endTask(t, err) })
	if err == nil {
		s.tasks.put(id, t, t.begun, func(t *task) bool { return t.status != "processing" })
	}
	s.mu.Unlock()
	if err != nil {
		busy(w)
		return
	}
	basis := basisDiscover
	if hasMode || hasImages {
		basis = basisMode
	}
	answer.JSON(w, http.StatusOK, basis, map[string]string{"status": "ok", "task_id": id})
}

func (s *Service) discover(ctx context.Context, t *task) error {
	if err := s.cfg.Wait(ctx, discoverPace); err != nil {
		return err
	}
	if err := s.cfg.Fail("discover", t.query); err != nil {
		return err
	}
	found := s.find(t.request)
	s.mu.Lock()
	defer s.mu.Unlock()
	t.results = found
	return nil
}

func (s *Service) endTask(t *task, err error) {
	t.over = s.cfg.Now()
	switch {
	case err == nil:
		t.status = "done"
	case isContext(err):
		t.status = "failed"
	default:
		t.status = "error"
		s.cfg.Log.Debug("a discover task failed", "error", err)
	}
}

func (s *Service) handleTask(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("task_id")
	if id == "" {
		refuseInvalid(w, errors.New("task_id is required"))
		return
	}
	s.mu.Lock()
	t, ok := s.tasks.get(id, s.cfg.Now())
	var shown task
	if ok {
		shown = *t
	}
	s.mu.Unlock()
	if !ok {
		answer.JSON(w, http.StatusNotFound, basisLost, map[string]string{"error": "Task not found"})
		return
	}
	now := s.cfg.Now()
	over := shown.over
	if over.IsZero() {
		over = now
	}
	v := map[string]any{"status": shown.status, "duration_seconds": float64(over.Sub(shown.begun).Milliseconds()/100) / 10}
	if shown.status == "done" {
		v["results"] = shown.results
		v["timestamp"] = over.UTC().Format(time.RFC3339)
	}
	answer.JSON(w, http.StatusOK, basisDiscover, v)
}
