package browser

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
)

const (
	defaultList = 50
	maxList     = 100

	basisSessions = "public documentation; matching of addresses by their part: assumption"
	basisNoSuch   = "assumption: public documentation shows no answer for an unknown session"
)

// Query selects sessions, in the terms of public documentation. The zero value selects the
// newest 50.
type Query struct {
	Zone              string // api_name
	Status            string // running, finished, failed; empty or "all" for all
	Start, End        time.Time
	TargetURL, EndURL string // a part of the address
	Sort              string // timestamp, duration or bandwidth
	Ascending         bool
	Limit, Offset     int
}

// ReadQuery reads a request's parameters. The error is an [*answer.InvalidError].
func ReadQuery(v url.Values) (Query, error) {
	q := Query{
		Zone: v.Get("api_name"), Status: v.Get("status"), TargetURL: v.Get("target_url"), EndURL: v.Get("end_url"),
		Sort: v.Get("sort"), Limit: defaultList,
	}
	bad := &answer.InvalidError{}
	number := func(name string, into *int, low, high int) {
		if s := v.Get(name); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < low || n > high {
				bad.Add("%s is a number from %d to %d", name, low, high)
			}
			*into = n
		}
	}
	number("limit", &q.Limit, 1, maxList)
	number("offset", &q.Offset, 0, 1<<30)
	one := func(name, value string, of ...string) {
		if value != "" && !slices.Contains(of, value) {
			bad.Add("%s is one of %s", name, strings.Join(of, ", "))
		}
	}
	one("status", q.Status, StatusRunning, StatusFinished, StatusFailed, "all")
	one("sort", q.Sort, "timestamp", "duration", "bandwidth")
	one("order", v.Get("order"), "asc", "desc")
	q.Ascending = v.Get("order") == "asc"
	date := func(name string, into *time.Time, end bool) {
		s := v.Get(name)
		if s == "" {
			return
		}
		t, err := time.Parse(time.RFC3339, s)
		if day, dayErr := time.Parse(time.DateOnly, s); err != nil && dayErr == nil {
			t, err = day, nil
			if end {
				t = t.AddDate(0, 0, 1).Add(-1) // the whole day
			}
		}
		if err != nil {
			bad.Add("%s is a date, 2026-11-21 or 2026-11-21T08:00:00Z", name)
		}
		*into = t
	}
	date("start_date", &q.Start, false)
	date("end_date", &q.End, true)
	if len(bad.Details) > 0 {
		return q, bad
	}
	return q, nil
}

func (q Query) matches(s Session) bool {
	return (q.Zone == "" || s.Zone == q.Zone) &&
		(q.Status == "" || q.Status == "all" || s.Status == q.Status) &&
		(q.Start.IsZero() || !s.Timestamp.Before(q.Start)) &&
		(q.End.IsZero() || !s.Timestamp.After(q.End)) &&
		strings.Contains(s.TargetURL, q.TargetURL) && strings.Contains(s.EndURL, q.EndURL)
}

func (q Query) order(a, b Session) int {
	var n int
	switch q.Sort {
	case "duration":
		n = cmp.Compare(a.Duration, b.Duration)
	case "bandwidth":
		n = cmp.Compare(a.Bandwidth, b.Bandwidth)
	default:
		n = a.Timestamp.Compare(b.Timestamp)
	}
	if !q.Ascending {
		n = -n
	}
	return n
}

// List returns the page of sessions that q selects, and the number of all that match.
func (b *Browsers) List(q Query) (page []Session, total int) {
	all := slices.DeleteFunc(b.Sessions(), func(s Session) bool { return !q.matches(s) })
	slices.SortStableFunc(all, q.order)
	if q.Limit <= 0 {
		q.Limit = defaultList
	}
	from := min(max(q.Offset, 0), len(all))
	return all[from:min(from+q.Limit, len(all))], len(all)
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
	q, err := ReadQuery(r.URL.Query())
	if err != nil {
		answer.WriteInvalid(w, err)
		return
	}
	page, total := b.List(q)
	more := q.Offset+len(page) < total
	var next *int
	if more {
		n := q.Offset + len(page)
		next = &n
	}
	answer.JSON(w, http.StatusOK, basisSessions, map[string]any{
		"sessions": page, "count": len(page), "total": total,
		"pagination": map[string]any{"offset": q.Offset, "limit": q.Limit, "has_more": more, "next_offset": next},
	})
}
