package record

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

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
