package browser

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/answer"
)

const (
	defaultList = 50
	maxList     = 100

	basisSessions = "public documentation; matching of addresses by their part: assumption"
	basisNoSuch   = "assumption: public documentation shows no answer for an unknown session"
)

// query selects sessions, in the terms of public documentation.
type query struct {
	zone              string // api_name
	status            string // running, finished, failed; empty or "all" for all
	start, end        time.Time
	targetURL, endURL string // a part of the address
	sort              string // timestamp, duration or bandwidth
	ascending         bool
	limit, offset     int
}

// readQuery reads a request's parameters. The error is an [*answer.InvalidError].
func readQuery(v url.Values) (query, error) {
	q := query{
		zone: v.Get("api_name"), status: v.Get("status"), targetURL: v.Get("target_url"), endURL: v.Get("end_url"),
		sort: v.Get("sort"), ascending: v.Get("order") == "asc",
	}
	bad := &answer.InvalidError{}
	number := func(name string, otherwise, low, high int) int {
		n, err := strconv.Atoi(cmp.Or(v.Get(name), strconv.Itoa(otherwise)))
		if err != nil || n < low || n > high {
			bad.Add("%s is a number from %d to %d", name, low, high)
		}
		return n
	}
	q.limit, q.offset = number("limit", defaultList, 1, maxList), number("offset", 0, 0, 1<<30)
	oneOf := func(name string, values ...string) {
		if s := v.Get(name); s != "" && !slices.Contains(values, s) {
			bad.Add("%s is one of %s", name, strings.Join(values, ", "))
		}
	}
	oneOf("status", statusRunning, statusFinished, statusFailed, "all")
	oneOf("sort", "timestamp", "duration", "bandwidth")
	oneOf("order", "asc", "desc")
	// date reads a moment, or a day, to which it adds length.
	date := func(name string, length time.Duration) time.Time {
		s := v.Get(name)
		if day, err := time.Parse(time.DateOnly, s); err == nil {
			return day.Add(length)
		}
		t, err := time.Parse(time.RFC3339, s)
		if s != "" && err != nil {
			bad.Add("%s is a date, 2026-11-21 or 2026-11-21T08:00:00Z", name)
		}
		return t
	}
	q.start, q.end = date("start_date", 0), date("end_date", 24*time.Hour-1)
	if len(bad.Details) > 0 {
		return q, bad
	}
	return q, nil
}

func (q query) matches(s Session) bool {
	return (q.zone == "" || s.Zone == q.zone) &&
		(q.status == "" || q.status == "all" || s.Status == q.status) &&
		!s.Timestamp.Before(q.start) && (q.end.IsZero() || !s.Timestamp.After(q.end)) &&
		strings.Contains(s.TargetURL, q.targetURL) && strings.Contains(s.EndURL, q.endURL)
}

func (q query) order(a, b Session) int {
	if q.ascending {
		a, b = b, a
	}
	switch q.sort {
	case "duration":
		return cmp.Compare(b.Duration, a.Duration)
	case "bandwidth":
		return cmp.Compare(b.Bandwidth, a.Bandwidth)
	default:
		return b.Timestamp.Compare(a.Timestamp)
	}
}

// ListHandler answers GET /browser_sessions and GET /browser_sessions/{id}. The caller checks
// the key.
func (b *Browsers) ListHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /browser_sessions", b.list)
	mux.HandleFunc("GET /browser_sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		for _, s := range b.Sessions() {
			if s.ID == r.PathValue("id") {
				answer.JSON(w, http.StatusOK, basisSessions, map[string]any{"session": s})
				return
			}
		}
		answer.JSON(w, http.StatusNotFound, basisNoSuch, map[string]any{"error": "session not found"})
	})
	return mux
}

func (b *Browsers) list(w http.ResponseWriter, r *http.Request) {
	q, err := readQuery(r.URL.Query())
	if err != nil {
		answer.WriteInvalid(w, err)
		return
	}
	all := slices.DeleteFunc(b.Sessions(), func(s Session) bool { return !q.matches(s) })
	slices.SortStableFunc(all, q.order)
	from := min(q.offset, len(all))
	to := min(from+q.limit, len(all))
	pagination := map[string]any{"offset": q.offset, "limit": q.limit, "has_more": to < len(all), "next_offset": nil}
	if to < len(all) {
		pagination["next_offset"] = to
	}
	answer.JSON(w, http.StatusOK, basisSessions, map[string]any{
		"sessions": all[from:to], "count": to - from, "total": len(all), "pagination": pagination,
	})
}

// The statuses of a session (public documentation).
const (
	statusRunning  = "running"
	statusFinished = "finished"
	statusFailed   = "failed"
)

// maxKnown bounds the sessions in the list; the oldest ended ones go first.
const maxKnown = 1000

// Session is one CDP session in the list of sessions. The names are those of public
// documentation.
type Session struct {
	ID          string        `json:"session_id"`
	Zone        string        `json:"api_name"`
	Status      string        `json:"status"`
	TargetURL   string        `json:"target_url"`
	EndURL      string        `json:"end_url"`
	Navigations int           `json:"navigations"`
	Timestamp   time.Time     `json:"timestamp"`
	Duration    float64       `json:"duration"`  // seconds
	Captcha     string        `json:"captcha"`   // "none", "solved" or "failed"
	Bandwidth   int64         `json:"bandwidth"` // bytes
	Error       *SessionError `json:"error"`
}

// SessionError is the reason why the service ended a session.
type SessionError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *SessionError) Error() string { return e.Code + ": " + e.Message }

// register lists the sessions in the order of their start.
type register struct {
	mu       sync.Mutex
	sessions []*session
}

func (r *register) add(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sessions) >= maxKnown {
		if i := slices.IndexFunc(r.sessions, (*session).hasEnded); i >= 0 {
			r.sessions = slices.Delete(r.sessions, i, i+1)
		}
	}
	r.sessions = append(r.sessions, s)
}

// Sessions returns the CDP sessions since Open, the newest first, at most [maxKnown].
func (b *Browsers) Sessions() []Session {
	b.register.mu.Lock()
	defer b.register.mu.Unlock()
	out := make([]Session, 0, len(b.register.sessions))
	for _, s := range slices.Backward(b.register.sessions) {
		out = append(out, s.value())
	}
	return out
}
