package fault

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/clock"
)

// header is the header that names the rules that hit an answer.
const header = "x-emulator-fault"

// basis is that of an answer that a fault gave instead of the service.
const basis = "assumption: a fault of the scenario"

// chunkPatience is how long a client has to read one chunk of a slow answer.
const chunkPatience = time.Minute

// errEnded is the error of a handler's writes after a fault has ended its answer.
var errEnded = errors.New("the answer was ended by a fault")

// Web applies faults to an HTTP server.
type Web struct {
	Engine *Engine
	// Point is where the server stands.
	Point Point
	// Call describes a request; Point is filled in. It is called only while the point has
	// a rule.
	Call func(*http.Request) Call
	// Refuse answers with an error code of the service; nil is [answer.Refuse].
	Refuse func(http.ResponseWriter, *http.Request, answer.Refusal)
}

// Proxy puts the faults of the point [Proxy] in front of next. caller gives zone, product and
// host; path and method are the request's.
func (e *Engine) Proxy(caller Call, next http.Handler) http.Handler {
	return Web{Engine: e, Point: Proxy, Call: func(r *http.Request) Call {
		caller.Host, caller.Path, caller.Method = strings.ToLower(caller.Host), r.URL.Path, r.Method
		return caller
	}}.Handler(next)
}

// Handler puts the faults of a point in front of next.
func (w Web) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.Engine.Active(w.Point) {
			next.ServeHTTP(rw, r)
			return
		}
		c := w.Call(r)
		c.Point = w.Point
		v := w.Engine.Decide(c)
		defer v.end()
		w.serve(rw, r, v, next)
	})
}

func (w Web) serve(rw http.ResponseWriter, r *http.Request, v Verdict, next http.Handler) {
	if len(v.Rules) == 0 {
		next.ServeHTTP(rw, r)
		return
	}
	rw.Header().Set(header, strings.Join(v.Rules, ", "))
	if clock.Pause(r.Context(), v.Delay) != nil {
		panic(http.ErrAbortHandler)
	}
	a := v.Do
	if a.Accepted {
		next.ServeHTTP(&deaf{ResponseWriter: rw, header: http.Header{}}, r)
	}
	switch a.Kind {
	case Status, TooFast:
		a.answer(rw)
	case Code:
		if w.Refuse != nil {
			w.Refuse(rw, r, a.Refusal())
		} else {
			answer.Refuse(rw, a.Refusal())
		}
	case Drop:
		panic(http.ErrAbortHandler)
	case Hang:
		// Not longer than MaxDelay: a caller that has not sent its whole body is not
		// seen leaving.
		_ = clock.Pause(r.Context(), MaxDelay) // either way it ends
		panic(http.ErrAbortHandler)
	case Malformed:
		garbage(rw)
	case Reset:
		if a.Accepted || a.After == 0 {
			resetNow(rw)
			return
		}
		throttled(rw, r, a, next)
	case Cut, Dribble, Bandwidth:
		throttled(rw, r, a, next)
	case Empty:
		next.ServeHTTP(&bodiless{ResponseWriter: rw}, r)
	default:
		next.ServeHTTP(rw, r)
	}
}

func (a Action) answer(w http.ResponseWriter) {
	h := w.Header()
	h.Set(answer.BasisHeader, basis)
	if a.Kind == TooFast {
		if a.RetryAfter > 0 {
			h.Set("Retry-After", wholeSeconds(a.RetryAfter))
		}
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	for name, v := range a.Header {
		h.Set(name, v)
	}
	w.WriteHeader(a.status())
	_, _ = io.WriteString(w, a.text()) // the client may be gone
}

func (a Action) status() int {
	if a.Kind == TooFast {
		return http.StatusTooManyRequests
	}
	return a.Status
}

func (a Action) text() string {
	if a.Kind == TooFast && a.Body == "" {
		return "Too many requests"
	}
	return a.Body
}

// wholeSeconds is the form of Retry-After, rounded up.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// resetNow resets the connection, or the stream where the connection is shared (HTTP/2).
func resetNow(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	hardClose(conn)
}

// hardClose resets the connection if it is TCP underneath.
func hardClose(c net.Conn) {
	for inner := c; inner != nil; {
		if l, ok := inner.(interface{ SetLinger(sec int) error }); ok {
			_ = l.SetLinger(0) // a failure means that it is closed already
			break
		}
		below, ok := inner.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		inner = below.NetConn()
	}
	c.Close()
}

// garbage answers with a valid status line and a body that no client can read.
func garbage(w http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(chunkPatience)) // a failure shows in the write
	_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\x00\xff not a chunk")
	_ = buffered.Flush() // the client may be gone
}

// deaf discards the answer of a handler.
type deaf struct {
	http.ResponseWriter
	header http.Header
}

func (d *deaf) Header() http.Header         { return d.header }
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }
func (d *deaf) WriteHeader(int)             {}
func (d *deaf) FlushError() error           { return nil }

// Unwrap lets a handler set deadlines on the connection.
func (d *deaf) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// Hijack is refused: the connection is still needed for the answer that comes instead.
func (d *deaf) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrNotSupported }

type bodiless struct {
	http.ResponseWriter
	wrote bool
}

func (b *bodiless) WriteHeader(status int) {
	if status >= http.StatusOK && !b.wrote {
		b.wrote = true
		b.Header().Del("Content-Encoding")
		b.Header().Del("Content-Length")
	}
	b.ResponseWriter.WriteHeader(status)
}

func (b *bodiless) Write(p []byte) (int, error) {
	if !b.wrote {
		b.WriteHeader(http.StatusOK)
	}
	return len(p), nil
}

func (b *bodiless) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// throttled serves next with a body that is cut, reset or slow, also after a hijack.
func throttled(w http.ResponseWriter, r *http.Request, a Action, next http.Handler) {
	t := &throttle{ResponseWriter: w, rc: http.NewResponseController(w), ctx: r.Context(), flow: a.flow()}
	defer func() {
		if t.ended && a.Kind == Reset {
			resetNow(w)
		}
		if t.timed {
			_ = t.rc.SetWriteDeadline(time.Time{}) // for the next request on the connection
		}
	}()
	next.ServeHTTP(t, r)
	if t.ended && a.Kind != Reset {
		panic(http.ErrAbortHandler)
	}
}

type throttle struct {
	http.ResponseWriter
	flow
	rc    *http.ResponseController
	ctx   context.Context // of the request: a wait ends with it
	ended bool
	timed bool // it has set a deadline on the connection
}

func (t *throttle) Write(p []byte) (int, error) {
	n, err := t.write(p, t.piece, func(d time.Duration) error { return clock.Pause(t.ctx, d) })
	if errors.Is(err, errEnded) && !t.ended {
		t.ended = true
		if err := t.rc.Flush(); err != nil {
			return n, err
		}
	}
	return n, err
}

func (t *throttle) piece(p []byte) (int, error) {
	if t.do.Kind == Cut || t.do.Kind == Reset {
		return t.ResponseWriter.Write(p)
	}
	// A deadline set for a quick write must not end a slow one.
	t.timed = true
	_ = t.rc.SetWriteDeadline(time.Now().Add(chunkPatience)) // a failure shows in the write
	n, err := t.ResponseWriter.Write(p)
	if err != nil {
		return n, err
	}
	return n, t.rc.Flush()
}

// FlushError fails once the body has ended.
func (t *throttle) FlushError() error {
	if t.ended {
		return errEnded
	}
	return t.rc.Flush()
}

// Unwrap leaves deadlines to the connection.
func (t *throttle) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Hijack takes over the connection and keeps the fault on it. The first write is the head
// of the answer to CONNECT, and passes.
func (t *throttle) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := t.rc.Hijack()
	if err != nil {
		return nil, nil, err
	}
	slow := t.do.Conn(c)
	if s, ok := slow.(*conn); ok {
		s.head = true
	}
	return slow, rw, nil
}

// Conn puts the faults of the point [Target] on a connection. Faults that need to see the request
// (a status, a CAPTCHA) do nothing here.
func (e *Engine) Conn(c Call, to net.Conn) net.Conn {
	if !e.Active(Target) {
		return to
	}
	c.Point, c.Host = Target, strings.ToLower(c.Host)
	return e.Decide(c).Conn(to)
}

// Conn applies a cut, reset, dribble or bandwidth to the writes of a connection. For other
// kinds it returns the connection itself. A cut closes the connection, a reset resets it.
func (a Action) Conn(c net.Conn) net.Conn {
	switch a.Kind {
	case Cut, Reset, Dribble, Bandwidth:
		return new(newConn(c, a))
	default:
		return c
	}
}

// conn is a connection with a fault on its writes. One goroutine may write to it while
// others read and close it.
type conn struct {
	net.Conn
	flow
	head  bool            // the next write passes
	ctx   context.Context // until Close, which ends a wait of Write as well
	close context.CancelCauseFunc
}

func newConn(c net.Conn, a Action) conn {
	out := conn{Conn: c, flow: a.flow()}
	out.ctx, out.close = context.WithCancelCause(context.Background())
	return out
}

func (c *conn) Write(p []byte) (int, error) {
	if c.head {
		c.head = false
		return c.Conn.Write(p)
	}
	n, err := c.write(p, c.Conn.Write, c.wait)
	if errors.Is(err, errEnded) {
		c.end()
	}
	return n, err
}

func (c *conn) end() {
	if c.do.Kind == Reset {
		hardClose(c.Conn)
	}
	_ = c.Close() // the bytes before the end were written
}

func (c *conn) wait(d time.Duration) error { return clock.Pause(c.ctx, d) }

func (c *conn) Close() error {
	c.close(net.ErrClosed)
	return c.Conn.Close()
}

// CloseWrite half-closes if the connection below can.
func (c *conn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.Close()
}

// NetConn is the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Conn applies the verdict to the reads of a target's connection. It handles the actions
// that need no request: latency, drop, reset, hang, cut, dribble, bandwidth. Others do
// nothing.
func (v Verdict) Conn(c net.Conn) net.Conn {
	switch v.Do.Kind {
	case Drop, Reset, Hang, Cut, Dribble, Bandwidth:
	default:
		if v.Delay == 0 {
			return c
		}
	}
	return &targetConn{conn: newConn(c, v.Do), delay: v.Delay}
}

type targetConn struct {
	conn
	delay time.Duration // before the first byte
	begun bool
}

// Write passes; the fault is on the other direction.
func (c *targetConn) Write(p []byte) (int, error) { return c.Conn.Write(p) }

func (c *targetConn) Read(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		if err := c.wait(c.delay); err != nil {
			return 0, err
		}
	}
	switch c.do.Kind {
	case Drop:
		_ = c.Close() // the target counts as lost
		return 0, io.EOF
	case Hang:
		_ = c.wait(MaxDelay) // either way it ends
		return 0, net.ErrClosed
	case Cut, Reset, Dribble, Bandwidth:
		n, err := c.read(p, c.Conn.Read, c.wait)
		if errors.Is(err, errEnded) {
			c.end()
			err = c.do.endOfBody()
		}
		return n, err
	default:
		return c.Conn.Read(p)
	}
}

// flow is a stream of bytes under a cut, a reset, a dribble or a bandwidth.
type flow struct {
	do        Action
	remaining int64         // bytes before the end, of a cut or a reset
	owed      time.Duration // before the next read
}

func (a Action) flow() flow { return flow{do: a, remaining: a.After} }

// portion is how many of the next bytes go in one piece, and the wait after them. It is 0
// at the end of the stream.
func (f *flow) portion(have int) (chunk int, pause time.Duration) {
	switch f.do.Kind {
	case Cut, Reset:
		return int(min(int64(have), f.remaining)), 0
	case Dribble:
		return int(min(int64(have), max(f.do.Chunk, 1))), f.do.Pause
	}
	// Twenty pieces a second look like a slow line, and cost little.
	chunk = int(min(int64(have), max(f.do.Rate/20, 1)))
	return chunk, time.Duration(float64(chunk) / float64(max(f.do.Rate, 1)) * float64(time.Second))
}

// write passes bytes on piece by piece; the error is errEnded at the stream's end.
func (f *flow) write(p []byte, write func([]byte) (int, error), wait func(time.Duration) error) (written int, err error) {
	for len(p) > 0 {
		chunk, pause := f.portion(len(p))
		if chunk == 0 {
			return written, errEnded
		}
		n, err := write(p[:chunk])
		written += n
		f.remaining -= int64(n)
		if err != nil {
			return written, err
		}
		p = p[chunk:]
		if err := wait(pause); err != nil {
			return written, err
		}
	}
	return written, nil
}

// read reads the next piece; the error is errEnded at the stream's end.
func (f *flow) read(p []byte, read func([]byte) (int, error), wait func(time.Duration) error) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := wait(f.owed); err != nil {
		return 0, err
	}
	chunk, _ := f.portion(len(p))
	if chunk == 0 {
		return 0, errEnded
	}
	n, err := read(p[:chunk])
	f.remaining -= int64(n)
	_, f.owed = f.portion(max(n, 1))
	return n, err
}
