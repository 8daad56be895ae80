// Package record is the request journal: what a client sent, to which zone, with which key,
// and the answer. The real service has none.
//
// The server puts [Journal.Handler] in front of its listeners. Products add details through
// the [Exchange] of a request's context ([FromContext]). Protocols other than HTTP begin an exchange
// themselves. The control API reads entries and follows them.
//
// Entries live in memory, bounded in number and bytes; the oldest go first. Keys and
// passwords in headers, queries and bodies are masked before an entry is kept. An entry has
// the beginning of a body; recording never delays one.
//
// A Journal is safe for concurrent use.
package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// The default bounds of a journal.
const (
	defaultEntries = 5000
	defaultBytes   = 16 << 20
	// bodyPrefix is how many bytes of a body an entry keeps.
	bodyPrefix = 2 << 10
	// bodySlack is how many more bytes are searched, for a secret across the end.
	bodySlack = 512
	// MaxLimit bounds the entries of one call.
	MaxLimit = 5000
)

// ErrClosed means that the journal is closed and has no more entries.
var ErrClosed = errors.New("the journal is closed")

// Config configures a Journal.
type Config struct {
	// Now is the emulator's clock.
	Now func() time.Time
	// Secrets returns the values to mask: plain keys and passwords. It is called for every
	// entry; nil masks none.
	Secrets func() []string
	// Entries and Bytes bound the journal; 0 is 5,000 and 16 MiB.
	Entries, Bytes int
}

// Journal keeps the newest entries. Make it with New.
type Journal struct {
	conf Config

	mu      sync.Mutex
	entries []stored // the oldest first
	bytes   int
	seq     uint64
	changed chan struct{} // closed by the next entry; nil if no follower waits
	closed  bool
}

// stored is an entry that no longer changes.
type stored struct {
	e    *Entry
	size int
}

// New makes an empty journal.
func New(conf Config) *Journal {
	conf.Entries, conf.Bytes = cmp.Or(conf.Entries, defaultEntries), cmp.Or(conf.Bytes, defaultBytes)
	if conf.Secrets == nil {
		conf.Secrets = func() []string { return nil }
	}
	return &Journal{conf: conf}
}

func (j *Journal) add(e *Entry) {
	size := e.size()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	for len(j.entries) > 0 && (len(j.entries) >= j.conf.Entries || j.bytes+size > j.conf.Bytes) {
		j.bytes -= j.entries[0].size
		j.entries[0] = stored{} // lets the entry be collected before the array is
		j.entries = j.entries[1:]
	}
	j.entries = append(j.entries, stored{e, size})
	j.bytes += size
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// Query selects entries. The zero value selects the newest hundred.
type Query struct {
	// Since is the last entry seen: later ones follow, the oldest first. 0 selects the
	// newest.
	Since uint64
	// Zone and Point filter by zone and point, unless empty.
	Zone, Point string
	// Limit bounds the entries; 0 is 100, the maximum MaxLimit.
	Limit int
}

func (q Query) matches(e *Entry) bool {
	return (q.Zone == "" || q.Zone == e.Zone) && (q.Point == "" || q.Point == e.Point)
}

func (q Query) limit() int {
	if q.Limit <= 0 {
		return 100
	}
	return min(q.Limit, MaxLimit)
}

// Page is the result of a Query.
type Page struct {
	// Requests are in the order in which they ended.
	Requests []Entry `json:"requests"`
	// Last is the Since of the next call.
	Last uint64 `json:"last"`
	// Lost counts the entries after Since that were dropped.
	Lost uint64 `json:"lost"`
}

// Read returns the entries that a query selects.
func (j *Journal) Read(q Query) Page {
	j.mu.Lock()
	defer j.mu.Unlock()
	if q.Since > 0 {
		return j.after(q)
	}
	p := Page{Requests: []Entry{}, Last: j.seq}
	for _, k := range slices.Backward(j.entries) {
		if len(p.Requests) == q.limit() {
			break
		}
		if q.matches(k.e) {
			p.Requests = append(p.Requests, *k.e)
		}
	}
	slices.Reverse(p.Requests)
	return p
}

// after returns the entries after q.Since; 0 is before the first.
func (j *Journal) after(q Query) Page {
	p := Page{Requests: []Entry{}, Last: max(j.seq, q.Since)}
	dropped := j.seq - uint64(len(j.entries)) // the last dropped entry
	if q.Since < dropped {
		p.Lost = dropped - q.Since
	}
	for _, k := range j.entries[min(max(q.Since, dropped), j.seq)-dropped:] {
		if !q.matches(k.e) {
			continue
		}
		if len(p.Requests) == q.limit() {
			p.Last = k.e.Seq - 1
			break
		}
		p.Requests = append(p.Requests, *k.e)
	}
	return p
}

// Follow calls each for every entry after q.Since (0: from the oldest), now and as they end,
// until ctx ends, each returns an error, or the journal is closed and has no more entries
// (ErrClosed). lost counts the entries before this one that were dropped before they could
// be read. A follower never delays a request.
func (j *Journal) Follow(ctx context.Context, q Query, each func(e *Entry, lost uint64) error) error {
	q.Limit = MaxLimit
	lost := uint64(0)
	for {
		j.mu.Lock()
		batch, closed := j.after(q), j.closed
		if batch.Last == q.Since && !closed && j.changed == nil {
			j.changed = make(chan struct{})
		}
		wake := j.changed
		j.mu.Unlock()
		lost += batch.Lost
		for i := range batch.Requests {
			if err := each(&batch.Requests[i], lost); err != nil {
				return err
			}
			lost = 0
		}
		switch {
		case batch.Last > q.Since:
			q.Since = batch.Last
			continue
		case closed:
			return ErrClosed
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends every Follow after the last entry. Later entries are still kept.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// Entry is one request and its outcome.
type Entry struct {
	// Seq counts ended requests from 1, without gaps.
	Seq uint64 `json:"seq"`
	// Time is when the request arrived, by the emulator's clock.
	Time time.Time `json:"time"`
	// Point is where it arrived: api, proxy, inner (inside a re-signed connection), socks or
	// cdp. At webhook the emulator itself sent it.
	Point  string `json:"point"`
	Method string `json:"method"`
	// URL is the request's, with its query: a path on the API, an absolute address or
	// host:port on the proxy.
	URL string `json:"url"`
	// Target is the page to fetch, if it is not the URL.
	Target string `json:"target,omitempty"`
	Remote string `json:"remote,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Key is the name of the key, never its value. User is the name of a proxy login.
	Key  string `json:"key,omitempty"`
	User string `json:"user,omitempty"`
	// Header has canonical names; several values are joined.
	Header map[string]string `json:"header,omitempty"`
	// Body is the beginning of the body; BodyCut reports that there was more.
	Body    string `json:"body,omitempty"`
	BodyCut bool   `json:"body_cut,omitempty"`
	// Status is the answer's, 0 without an answer. Inner is the target's
	// (x-brd-status-code), 0 if unknown.
	Status int `json:"status"`
	Inner  int `json:"inner_status,omitempty"`
	// Code is the service's error code, Fault the ids of the faults that applied.
	Code  string `json:"code,omitempty"`
	Fault string `json:"fault,omitempty"`
	// Cut reports that the answer broke off, or never came.
	Cut bool `json:"cut,omitempty"`
	// BytesIn and BytesOut count the bytes of bodies that were read and written, or all
	// bytes of a tunnel.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// DurationMS is real time, in milliseconds.
	DurationMS float64 `json:"duration_ms"`
	// Basis is the answer's x-emulator-basis.
	Basis string `json:"basis,omitempty"`
}

func (e *Entry) size() int {
	n := 320 + len(e.Method) + len(e.URL) + len(e.Target) + len(e.Zone) + len(e.Key) + len(e.User) + len(e.Body) +
		len(e.Code) + len(e.Fault) + len(e.Basis)
	for name, value := range e.Header {
		n += 32 + len(name) + len(value)
	}
	return n
}

// Line formats the entry as one line of plain text for a terminal:
//
//	12:00:01.250 api POST /request zone=unlocker_demo key=ci-fetch target=http://lab.test/ok 200 inner=403 code=reject_block in=64 out=0 3.1ms
func (e *Entry) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", e.Time.UTC().Format("15:04:05.000"), e.Point, e.Method)
	if e.URL != "" { // empty for a refused login of SOCKS5
		b.WriteString(" " + e.URL)
	}
	user := e.User
	if e.Zone != "" {
		user = "" // the zone is enough
	}
	for _, f := range [...]struct{ name, v string }{{"zone", e.Zone}, {"user", user}, {"key", e.Key}, {"target", e.Target}} {
		if f.v != "" {
			fmt.Fprintf(&b, " %s=%s", f.name, f.v)
		}
	}
	switch {
	case e.Status == 0:
		b.WriteString(" no answer")
	case e.Cut:
		fmt.Fprintf(&b, " %d cut", e.Status)
	default:
		fmt.Fprintf(&b, " %d", e.Status)
	}
	if e.Inner != 0 && e.Inner != e.Status {
		fmt.Fprintf(&b, " inner=%d", e.Inner)
	}
	for _, f := range [...]struct{ name, v string }{{"code", e.Code}, {"fault", strings.ReplaceAll(e.Fault, ", ", ",")}} {
		if f.v != "" {
			fmt.Fprintf(&b, " %s=%s", f.name, f.v)
		}
	}
	fmt.Fprintf(&b, " in=%d out=%d %.1fms", e.BytesIn, e.BytesOut, e.DurationMS)
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?' // keeps clients from controlling the terminal
		}
		return r
	}, b.String())
}
