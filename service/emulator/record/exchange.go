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

// Exchange is a request in progress, to which products add details. All methods may be called
// on nil, from any goroutine, and after the end; then they do nothing.
type Exchange struct {
	journal *Journal
	begun   time.Time

	mu     sync.Mutex
	e      *Entry // belongs to the journal after the end
	secret string // the request's token or password
	body   []byte
	ended  bool
}

type exchangeKey struct{}

// FromContext returns the exchange of a request's context, nil if the request is not recorded.
func FromContext(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Begin starts an exchange that is not HTTP and that began at a moment of the machine's time.
// The caller has to call End.
func (j *Journal) Begin(began time.Time, point, method, url string) *Exchange {
	return &Exchange{
		journal: j, begun: began,
		e: &Entry{Time: j.conf.Now().Add(-time.Since(began)), Point: point, Method: method, URL: url},
	}
}

// Set changes the entry: zone, key, user and target of any exchange, and the outcome of one
// without an HTTP answer.
func (x *Exchange) Set(change func(*Entry)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		change(x.e)
	}
}

// Hit adds the ids of faults that applied, each once.
func (x *Exchange) Hit(ids ...string) {
	x.Set(func(e *Entry) {
		for _, id := range ids {
			if !slices.Contains(strings.Split(e.Fault, ", "), id) {
				e.Fault = strings.TrimPrefix(e.Fault+", "+id, ", ")
			}
		}
	})
}

// End adds the entry to the journal. Only the first call counts.
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

// hide masks secrets in the client's texts: values with the name of a secret, and the values
// of the request's login and of the account anywhere. It cuts the texts to their bounds
// afterwards, because half a secret would not be recognised.
func (x *Exchange) hide() {
	e, secrets := x.e, x.journal.conf.Secrets()
	clean := func(text string, most int) string {
		return answer.Cut(without(without(text, x.secret), secrets...), most)
	}
	if e.Body != "" {
		if strings.Contains(strings.ToLower(e.Header["Content-Type"]), "application/x-www-form-urlencoded") {
			e.Body = query(e.Body)
		}
		e.Body = clean(logins(fields(e.Body)), bodyPrefix)
	}
	for name, v := range e.Header {
		e.Header[name] = clean(v, maxHeaderText)
	}
	e.URL, e.Target, e.User = clean(address(e.URL), maxURL), clean(address(e.Target), maxURL), clean(e.User, maxHeaderText)
}

// request is the state of one request through Handler, in one allocation.
type request struct {
	context.Context // the request's; Value adds the exchange
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

// Handler records the requests at a point, and passes the answers of next unchanged.
func (j *Journal) Handler(point string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := &request{Context: r.Context()}
		q.x.journal, q.x.begun = j, time.Now()
		q.x.e = &Entry{
			Time: j.conf.Now(), Point: point, Method: r.Method, URL: requestTarget(r), Remote: r.RemoteAddr, Header: headers(r.Header),
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

func requestTarget(r *http.Request) string {
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

// tee records the beginning of a body while it is read.
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

// recorder is a response that records its status and counts bytes.
type recorder struct {
	http.ResponseWriter
	status   int
	out      int64
	hijacked bool
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

// ReadFrom lets the response below use its own ReadFrom.
func (r *recorder) ReadFrom(src io.Reader) (int64, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := io.Copy(r.ResponseWriter, src)
	r.out += n
	return n, err
}

// Flush implements http.Flusher for handlers that do not use http.ResponseController.
func (r *recorder) Flush() {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	_ = http.NewResponseController(r.ResponseWriter).Flush() // a dead client shows in the next write
}

// Hijack hijacks the connection. The recorder does not see its bytes.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	r.hijacked = r.hijacked || err == nil
	return c, rw, err
}

// Unwrap lets http.ResponseController set deadlines on the response below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// into copies the status and headers of the answer into the entry.
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
	case !r.hijacked && !aborted:
		e.Status = http.StatusOK // the handler wrote nothing
	}
	e.Cut = e.Cut || aborted
	e.BytesOut += r.out
	if v := first(h, "X-Brd-Status-Code"); v != "" {
		e.Inner, _ = strconv.Atoi(v) // 0, which is not shown, if invalid
	}
	for _, name := range [...]string{"X-Brd-Error-Code", "X-Brd-Err-Code"} {
		if v := first(h, name); v != "" && e.Code == "" {
			e.Code = v
		}
	}
	if v := first(h, "X-Emulator-Fault"); v != "" {
		e.Fault = strings.TrimSuffix(v+", "+e.Fault, ", ") // the faults of the listener apply first
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
