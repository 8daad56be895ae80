package native

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/route"
)

// mobileUA is what -ua-mobile sends (an assumption: the public documentation names the
// flag alone).
const mobileUA = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"

const (
	// maxInformational bounds the 1xx answers before the final one.
	maxInformational = 8
	// headWait is how long the head of an answer waits for the beginning of the body.
	headWait = 2 * time.Millisecond
)

// forward passes one request on and its answer back. Neither body is collected.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, v *Visit) {
	defer p.conf.Route.Hold(v.Zone, v.Flags)()
	upgrade := upgradeOf(r.Header)
	seen := p.outgoing(w, r, v, upgrade)
	defer seen.end()
	resp, err := p.transport(v, r.ProtoMajor).RoundTrip(r.WithContext(seen.trace(r.Context(), upgrade != "")))
	seen.answer()
	if err != nil {
		p.refuse(w, v, seen.refusal(err))
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		p.switchProtocols(w, v, resp, upgrade, seen)
		return
	}
	if resp.StatusCode < 200 || resp.StatusCode > 999 {
		p.refuse(w, v, answer.NewRefusal(http.StatusBadGateway, "document_load_failed", "the target answered with no HTTP status", answer.BasisProxyRefused))
		return
	}
	p.copyHeader(w.Header(), resp.Header, v)
	announced := announceTrailers(w.Header(), resp.Trailer)
	if announced > 0 && r.ProtoMajor == 1 {
		w.Header().Del("Content-Length") // HTTP/2 has both, HTTP/1.1 one of them
	}
	w.WriteHeader(resp.StatusCode)
	out := w
	if r.ProtoMajor > 1 {
		// Connections of HTTP/1.1 keep a deadline for writing of their own; a stream of
		// HTTP/2 whose client lets no more come has none but this.
		patient := answer.NewPatient(w)
		defer patient.Done()
		out = patient
	}
	down, err := p.copyBody(out, resp, &seen.bill)
	o := Outcome{Status: resp.StatusCode, Up: seen.up.Load(), Down: down, Cut: err != nil}
	p.conf.Hooks.done(v, o)
	if err != nil {
		p.conf.Log.Debug("an answer was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that the client sees the cut
	}
	if len(resp.Trailer) > 0 {
		sendTrailers(w, resp.Trailer, announced)
	}
}

// sent is what is learned while a request is on its way.
type sent struct {
	w http.ResponseWriter

	up   atomic.Int64 // bytes of the body
	torn atomic.Bool  // the client's body broke off, or was invalid
	conn net.Conn     // of the target, where protocols are to be switched
	bill bill

	clientTrace httptrace.ClientTrace

	// net/http may still be at work on the request when it has given an answer or an
	// error, and even when the handler has returned.
	mu            sync.Mutex
	informational int  // how many informational answers came
	answered      bool // they are too late
	ended         bool // the handler has returned: its writer must not be touched
}

// answer ends the time of informational answers; end that of everything.
func (s *sent) answer() {
	s.mu.Lock()
	s.answered = true
	s.mu.Unlock()
}

func (s *sent) end() {
	s.mu.Lock()
	s.answered, s.ended = true, true
	s.mu.Unlock()
}

// refusal names what went wrong: with the client's own body, or with the target.
func (s *sent) refusal(err error) answer.Refusal {
	if s.torn.Load() {
		return answer.NewRefusal(http.StatusBadRequest, "proxy_error", "the request's body could not be read", answer.BasisTarget)
	}
	return route.RefusalOf(err)
}

// outgoing makes the request what the target gets.
func (p *Proxy) outgoing(w http.ResponseWriter, r *http.Request, v *Visit, upgrade string) *sent {
	seen := &sent{w: w, bill: p.bill(v, r.URL.Scheme == "https")}
	r.Close = false
	r.RequestURI = ""
	if r.ContentLength != 0 {
		r.Body = &idleBody{ReadCloser: r.Body, rc: http.NewResponseController(w), seen: seen}
	} else {
		// A request of HTTP/2 has a body that is empty, and who comes next would not know.
		r.Body = http.NoBody // the server has kept its own
	}
	trailers := httpguts.HeaderValuesContainsToken(r.Header["Te"], "trailers")
	stripHop(r.Header)
	if trailers {
		r.Header["Te"] = []string{"trailers"}
	}
	if upgrade != "" {
		r.Header["Connection"] = []string{"Upgrade"}
		r.Header["Upgrade"] = []string{upgrade}
	}
	if _, ok := r.Header["User-Agent"]; !ok {
		r.Header["User-Agent"] = nil // or net/http would add its own
	}
	if v.Flags.UA == "mobile" {
		r.Header["User-Agent"] = []string{mobileUA}
	}
	return seen
}

// transport is the way to a visit's target, where a request keeps the client's version of
// HTTP.
func (p *Proxy) transport(v *Visit, version int) http.RoundTripper {
	switch {
	case v.guest != nil:
		return v.guest
	case version == 1:
		return p.conf.Hooks.transport(v, p.conf.Route.Dialer.TransportHTTP1(v.Host, v.Exit))
	}
	return p.conf.Hooks.transport(v, p.conf.Route.Dialer.Transport(v.Host, v.Exit))
}

func (s *sent) trace(ctx context.Context, upgrade bool) context.Context {
	s.clientTrace.Got1xxResponse = s.passInformational
	if upgrade {
		s.clientTrace.GotConn = func(i httptrace.GotConnInfo) { s.conn = i.Conn }
	}
	return httptrace.WithClientTrace(ctx, &s.clientTrace)
}

// passInformational passes the target's informational answers on (103 Early Hints and the
// like; 100 the server sends itself when the body is asked for).
func (s *sent) passInformational(code int, target textproto.MIMEHeader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.informational++; s.informational > maxInformational {
		return errors.New("the target sent too many informational answers")
	}
	if s.answered || code == http.StatusContinue {
		return nil
	}
	h := s.w.Header()
	final := maps.Clone(h) // what a hook has set is for the final answer
	clear(h)
	from := http.Header(target)
	stripHop(from)
	for name, vs := range from {
		if !ownHeader(name) {
			h[name] = vs
		}
	}
	s.w.WriteHeader(code)
	clear(h)
	maps.Copy(h, final)
	return nil
}

// upgradeOf is the protocol a request wants to switch to, "" for none.
func upgradeOf(h http.Header) string {
	if len(h["Upgrade"]) == 0 || !httpguts.HeaderValuesContainsToken(h["Connection"], "Upgrade") {
		return ""
	}
	return h.Get("Upgrade")
}

// stripHop takes off what is between two hops only (RFC 9110 7.6.1).
func stripHop(h http.Header) {
	stripNamed(h)
	for name := range h {
		if hopByHop(name) {
			delete(h, name)
		}
	}
}

// stripNamed takes off what the Connection header names.
func stripNamed(h http.Header) {
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			if name = textproto.TrimString(name); name != "" {
				h.Del(name)
			}
		}
	}
}

func hopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// copyHeader gives the client the target's header, less what only the service says.
func (p *Proxy) copyHeader(dst, src http.Header, v *Visit) {
	stripNamed(src)
	for name, vs := range src {
		if !hopByHop(name) && (v.guest != nil || !ownHeader(name)) {
			dst[name] = vs
		}
	}
	p.describe(dst, v)
}

// ownHeader reports whether a header is the service's to say: a target's is not passed on.
func ownHeader(name string) bool {
	return name == "Proxy-Status" || strings.HasPrefix(name, "X-Brd-") || strings.HasPrefix(name, "X-Emulator-")
}

// passesAsTrailer reports whether a target's trailer is passed on: not what is the
// service's, and nothing that frames a message (RFC 9110 6.5.1).
func passesAsTrailer(name string) bool {
	return httpguts.ValidTrailerHeader(name) && !ownHeader(name)
}

func announceTrailers(h, trailer http.Header) int {
	names := make([]string, 0, len(trailer))
	for name := range trailer {
		if passesAsTrailer(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return 0
	}
	slices.Sort(names)
	h.Set("Trailer", strings.Join(names, ", "))
	return len(names)
}

func sendTrailers(w http.ResponseWriter, trailer http.Header, announced int) {
	maps.DeleteFunc(trailer, func(name string, _ []string) bool { return !passesAsTrailer(name) })
	prefix := http.TrailerPrefix
	if len(trailer) == announced {
		prefix = ""
	}
	for name, vs := range trailer {
		w.Header()[prefix+name] = vs
	}
}

// firstRead reads the beginning of a body. A target may let its client wait for that: then
// the client gets the head on its own, unless the body is a short one of a known length.
func firstRead(flush func() error, resp *http.Response, buf []byte) (int, error) {
	if resp.ContentLength >= 0 && resp.ContentLength <= tunnelBuffer {
		return resp.Body.Read(buf)
	}
	done := make(chan struct{})
	head := time.AfterFunc(headWait, func() {
		_ = flush() // a dead client shows in the next write
		close(done)
	})
	n, err := resp.Body.Read(buf)
	if !head.Stop() {
		<-done
	}
	return n, err
}

// copyBody streams; what a slow target sent so far is not held back.
// Bytes are counted before the client has them.
func (p *Proxy) copyBody(out http.ResponseWriter, resp *http.Response, b *bill) (n int64, err error) {
	billable := resp.StatusCode >= 200 && resp.StatusCode < 300
	if resp.ContentLength == 0 || resp.Request.Method == http.MethodHead {
		b.request(billable, 0)
		return 0, nil
	}
	flush := http.NewResponseController(out).Flush
	pool := &p.tunnels.bufs
	buf := pool.get(tunnelBuffer)
	defer func() { pool.put(buf) }()
	m, rerr := firstRead(flush, resp, *buf)
	b.request(billable, m)
	for {
		if m > 0 {
			if _, err := out.Write((*buf)[:m]); err != nil {
				return n, err
			}
			n += int64(m)
		}
		if errors.Is(rerr, io.EOF) {
			if len(resp.Trailer) > 0 {
				return n, flush() // or a short body would get a length, and no trailers
			}
			return n, nil
		}
		if rerr != nil {
			_ = flush() // the client sees how far it came
			return n, rerr
		}
		if m > 0 && n != resp.ContentLength {
			if err := flush(); err != nil {
				return n, err
			}
		}
		if m == tunnelBuffer && pool != &p.tunnels.large { // a large body
			pool.put(buf)
			pool = &p.tunnels.large
			buf = pool.get(largeBuffer)
		}
		if m, rerr = resp.Body.Read(*buf); m > 0 {
			b.down(m)
		}
	}
}

// idleBody drops a client that stops sending its request's body halfway.
type idleBody struct {
	io.ReadCloser
	rc    *http.ResponseController
	until time.Time
	seen  *sent
}

func (b *idleBody) Read(p []byte) (int, error) {
	// Not moved for every chunk: half the patience is kept in any case.
	if now := time.Now(); b.until.Sub(now) < answer.BodyTimeout/2 {
		b.until = now.Add(answer.BodyTimeout)
		if err := b.deadline(b.until); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.seen.up.Add(int64(n))
		b.seen.bill.up(n)
	}
	switch {
	case errors.Is(err, io.EOF):
		_ = b.deadline(time.Time{}) // fails on a dead connection only
	case err != nil && !errors.Is(err, http.ErrBodyReadAfterClose): // the deadline stays, for what the server still reads
		b.seen.torn.Store(true)
	}
	return n, err
}

func (b *idleBody) deadline(at time.Time) error {
	b.seen.mu.Lock()
	defer b.seen.mu.Unlock()
	if b.seen.ended {
		return http.ErrBodyReadAfterClose
	}
	return b.rc.SetReadDeadline(at)
}

// switchProtocols joins client and target after a 101 (WebSocket). The deadlines of
// tunnels hold.
func (p *Proxy) switchProtocols(w http.ResponseWriter, v *Visit, resp *http.Response, asked string, seen *sent) {
	target, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || seen.conn == nil || !strings.EqualFold(asked, resp.Header.Get("Upgrade")) {
		p.refuse(w, v, answer.NewRefusal(http.StatusBadGateway, "target_40020", "the target switched to a protocol that was not asked for", answer.BasisProxyRefused))
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2 inside has no connection to take over
		p.refuse(w, v, answer.NewRefusal(http.StatusBadGateway, "proxy_error", "protocols are switched over HTTP/1.1 only", answer.BasisProxyRefused))
		return
	}
	upgraded := &upgradedConn{Conn: seen.conn, body: target}
	c := &tunnelled{Conn: conn, r: buffered.Reader, visit: v}
	if !p.tunnels.add(c, upgraded) {
		p.conf.Hooks.done(v, Outcome{Status: resp.StatusCode, Cut: true})
		return
	}
	h := http.Header{}
	upgrade := resp.Header.Get("Upgrade")
	p.copyHeader(h, resp.Header, v)
	h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{upgrade}
	if err := writeHead(conn, "101 Switching Protocols", h); err != nil {
		p.conf.Hooks.done(v, Outcome{Status: resp.StatusCode, Cut: true})
		p.tunnels.drop(c, upgraded)
		return
	}
	seen.bill.request(true, 0)
	o := p.tunnels.pipe(c, upgraded, seen.bill)
	o.Status = resp.StatusCode
	p.conf.Hooks.done(v, o)
	p.tunnels.drop(c, upgraded)
}
