package record

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Entry is one request and its end.
type Entry struct {
	// Seq counts from 1 and has no gaps; an entry gets it when it ends.
	Seq uint64 `json:"seq"`
	// Time is when the request came, by the emulator's clock.
	Time time.Time `json:"time"`
	// Point is where it came in: api, proxy, inner (within a re-signed connection),
	// socks, cdp. A webhook is what the emulator itself sent.
	Point  string `json:"point"`
	Method string `json:"method"`
	// URL is what was asked for, query included: a path on the API, an absolute address or
	// host:port on the proxy.
	URL string `json:"url"`
	// Target is the page that it was about, where that is not the URL itself.
	Target string `json:"target,omitempty"`
	Remote string `json:"remote,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Key is a key's name, never its value. User is a proxy login's username.
	Key  string `json:"key,omitempty"`
	User string `json:"user,omitempty"`
	// Header is what was sent, by canonical names; several values stand in one text.
	Header map[string]string `json:"header,omitempty"`
	// Body is the beginning of the body; BodyCut says that there was more.
	Body    string `json:"body,omitempty"`
	BodyCut bool   `json:"body_cut,omitempty"`
	// Status is the answer's; 0 where there was none. Inner is the target's
	// (x-brd-status-code), 0 where it is not said.
	Status int `json:"status"`
	Inner  int `json:"inner_status,omitempty"`
	// Code is the service's error code, Fault the ids of the faults that hit.
	Code  string `json:"code,omitempty"`
	Fault string `json:"fault,omitempty"`
	// Cut says that the answer was broken off, or never came.
	Cut bool `json:"cut,omitempty"`
	// BytesIn and BytesOut count bodies, as far as they were read and written; for a
	// tunnel everything that passed.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// DurationMS is real time, in milliseconds.
	DurationMS float64 `json:"duration_ms"`
	// Basis is what the answer says it rests on.
	Basis string `json:"basis,omitempty"`
}

// size is about what an entry takes in memory.
func (e *Entry) size() int {
	n := 320 + len(e.Method) + len(e.URL) + len(e.Target) + len(e.Zone) + len(e.Key) + len(e.User) + len(e.Body) +
		len(e.Code) + len(e.Fault) + len(e.Basis)
	for name, value := range e.Header {
		n += 32 + len(name) + len(value)
	}
	return n
}

// Line is the entry in one line of plain text, for a terminal:
//
//	12:00:01.250 api POST /request zone=unlocker_demo key=ci-fetch target=http://lab.test/ok 200 inner=403 code=reject_block in=64 out=0 3.1ms
func (e *Entry) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", e.Time.UTC().Format("15:04:05.000"), e.Point, e.Method)
	if e.URL != "" { // of a login that is refused nobody knows where it would have gone
		b.WriteString(" " + e.URL)
	}
	user := e.User
	if e.Zone != "" {
		user = "" // its zone says enough
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
			return '?' // what a client sent never steers a terminal
		}
		return r
	}, b.String())
}
