package record

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/answer"
)

// Exchange is a request that is under way. What only a product knows about it is added
// here. All methods may be called on nil, from any goroutine, and after the end, when
// they do nothing.
type Exchange struct {
	journal *Journal
	begun   time.Time

	mu     sync.Mutex
	e      *Entry // the journal's own after the end
	secret string // the request's own token or password
	body   []byte
	ended  bool
}

type exchangeKey struct{}

// Of is the exchange of a request's context; nil where nothing is recorded.
func Of(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Begin records what does not speak HTTP: End has to be called.
func (j *Journal) Begin(point, method, url string) *Exchange {
	return &Exchange{
		journal: j, begun: time.Now(),
		e: &Entry{Time: j.conf.Now(), Point: point, Method: method, URL: address(url)},
	}
}

func (x *Exchange) set(f func(*Entry)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		f(x.e)
	}
}

// Zone says which zone the request is billed to.
func (x *Exchange) Zone(name string) { x.set(func(e *Entry) { e.Zone = name }) }

// Key says which key was used, by its name.
func (x *Exchange) Key(name string) { x.set(func(e *Entry) { e.Key = name }) }

// User says which proxy username was used.
func (x *Exchange) User(name string) { x.set(func(e *Entry) { e.User = name }) }

// Target says which page the request is about.
func (x *Exchange) Target(url string) { x.set(func(e *Entry) { e.Target = address(url) }) }

// Status says how it ended, where no answer of HTTP says it.
func (x *Exchange) Status(status int) { x.set(func(e *Entry) { e.Status = status }) }

// Code says with which error code it ended, where no header says it.
func (x *Exchange) Code(code string) { x.set(func(e *Entry) { e.Code = code }) }

// Fault says which faults hit, where no header says it.
func (x *Exchange) Fault(ids string) { x.set(func(e *Entry) { e.Fault = ids }) }

// Hit adds faults that hit on the way, each once.
func (x *Exchange) Hit(ids ...string) {
	x.set(func(e *Entry) {
		for _, id := range ids {
			if !slices.Contains(strings.Split(e.Fault, ", "), id) {
				e.Fault = strings.TrimPrefix(e.Fault+", "+id, ", ")
			}
		}
	})
}

// Cut says that it was broken off.
func (x *Exchange) Cut(cut bool) { x.set(func(e *Entry) { e.Cut = e.Cut || cut }) }

// Since says that it began earlier than it was recorded.
func (x *Exchange) Since(began time.Time) {
	if x == nil {
		return
	}
	x.set(func(e *Entry) {
		e.Time = e.Time.Add(-x.begun.Sub(began))
		x.begun = began
	})
}

// Bytes adds what passed through a connection that was taken over.
func (x *Exchange) Bytes(in, out int64) {
	x.set(func(e *Entry) { e.BytesIn += in; e.BytesOut += out })
}

// End keeps the entry. Only the first call counts.
func (x *Exchange) End() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended = true
	e := x.e
	e.DurationMS = float64(time.Since(x.begun).Microseconds()) / 1000
	e.BodyCut = len(x.body) > bodyPrefix
	e.Body = string(x.body)
	x.body = nil
	x.hide()
	x.journal.add(e)
}

// hide takes secrets out of the texts that a client wrote: what is named like one, and
// its own login's and the account's values wherever they stand. The texts are cut to
// their bounds only then, or the half of a secret would be left.
func (x *Exchange) hide() {
	e, secrets := x.e, x.journal.conf.Secrets()
	clean := func(text string, most int) string {
		return answer.Cut(without(without(text, x.secret), secrets...), most)
	}
	if e.Body != "" {
		if containsFold(e.Header["Content-Type"], "application/x-www-form-urlencoded") {
			e.Body = query(e.Body)
		}
		e.Body = clean(logins(fields(e.Body)), bodyPrefix)
	}
	for name, v := range e.Header {
		e.Header[name] = clean(v, maxHeaderText)
	}
	e.URL, e.Target, e.User = clean(e.URL, maxURL), clean(e.Target, maxURL), clean(e.User, maxHeaderText)
}

// request is what one request through Handler needs, in one piece.
type request struct {
	context.Context // the request's own; Value adds the exchange
	x               Exchange
	rw              recorder
	body            tee
	done            bool
}

func (q *request) Value(key any) any {
	if _, ok := key.(exchangeKey); ok {
		return &q.x
	}
	return q.Context.Value(key)
}

// Handler records what comes to a point. What next answers passes as it is.
func (j *Journal) Handler(point string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := &request{Context: r.Context()}
		q.x.journal, q.x.begun = j, time.Now()
		q.x.e = &Entry{
			Time: j.conf.Now(), Point: point, Method: r.Method, URL: address(asked(r)), Remote: r.RemoteAddr, Header: headers(r.Header),
		}
		q.x.login(r.Header)
		q.rw.ResponseWriter = w
		defer q.end()
		r = r.WithContext(q)
		if r.Body != nil && r.Body != http.NoBody {
			q.body = tee{ReadCloser: r.Body, x: &q.x}
			r.Body = &q.body
		}
		next.ServeHTTP(&q.rw, r)
		q.done = true
	})
}

func (q *request) end() {
	q.rw.into(&q.x, !q.done)
	q.x.End()
}

// asked is what stood in the request line.
func asked(r *http.Request) string {
	if r.RequestURI != "" {
		return r.RequestURI
	}
	return r.URL.String()
}

func (x *Exchange) login(h http.Header) {
	if v := h["Proxy-Authorization"]; len(v) > 0 {
		x.e.User, x.secret = credentials(v[0])
	}
	if v := h["Authorization"]; len(v) > 0 && x.secret == "" {
		_, x.secret = credentials(v[0])
	}
}

// tee keeps the beginning of a body while it is read.
type tee struct {
	io.ReadCloser
	x *Exchange
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		x := t.x
		x.mu.Lock()
		if !x.ended {
			x.e.BytesIn += int64(n)
			if room := bodyPrefix + bodySlack - len(x.body); room > 0 {
				x.body = append(x.body, p[:min(n, room)]...)
			}
		}
		x.mu.Unlock()
	}
	return n, err
}

// recorder is a response that remembers its status and counts.
type recorder struct {
	http.ResponseWriter
	status int
	out    int64
	taken  bool // the connection was taken over
}

func (r *recorder) WriteHeader(status int) {
	if status >= http.StatusOK && r.status == 0 || status == http.StatusSwitchingProtocols {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.out += int64(n)
	return n, err
}

// ReadFrom keeps the fast way of the response below.
func (r *recorder) ReadFrom(src io.Reader) (int64, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := io.Copy(r.ResponseWriter, src)
	r.out += n
	return n, err
}

// Flush is for handlers that do not ask through http.ResponseController.
func (r *recorder) Flush() {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	_ = http.NewResponseController(r.ResponseWriter).Flush() // a dead client shows in the next write
}

// Hijack takes the connection over; what passes there is not seen.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	r.taken = r.taken || err == nil
	return c, rw, err
}

// Unwrap leaves deadlines to the response below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// into puts what the answer says into the entry.
func (r *recorder) into(x *Exchange, aborted bool) {
	h := r.Header()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	e := x.e
	switch {
	case r.status != 0:
		e.Status = r.status
	case !r.taken && !aborted:
		e.Status = http.StatusOK // a handler that said nothing
	}
	e.Cut = e.Cut || aborted
	e.BytesOut += r.out
	if v := first(h, "X-Brd-Status-Code"); v != "" {
		e.Inner, _ = strconv.Atoi(v) // 0, which is not shown, for anything else
	}
	for _, name := range [...]string{"X-Brd-Error-Code", "X-Brd-Err-Code"} {
		if v := first(h, name); v != "" && e.Code == "" {
			e.Code = v
		}
	}
	if v := first(h, "X-Emulator-Fault"); v != "" {
		e.Fault = strings.TrimSuffix(v+", "+e.Fault, ", ") // those at the door hit first
	}
	if v := first(h, "X-Emulator-Basis"); v != "" {
		e.Basis = v
	}
}

func first(h http.Header, canonical string) string {
	if v := h[canonical]; len(v) > 0 {
		return v[0]
	}
	return ""
}
