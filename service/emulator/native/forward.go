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
	// headWait is how long the head of an answer waits for the first bytes of its body.
	headWait = 2 * time.Millisecond
)

// forward sends one request to its target and the answer back. It streams both bodies.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, v *Visit) {
	defer p.conf.Route.Hold(v.Zone, v.Flags)()
	upgrade := upgradeOf(r.Header)
	fwd := p.outgoing(w, r, v, upgrade)
	defer fwd.end()
	resp, err := p.transport(v, r.ProtoMajor).RoundTrip(r.WithContext(fwd.trace(r.Context(), upgrade != "")))
	fwd.answer()
	if err != nil {
		p.refuse(w, v, fwd.refusal(err))
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		p.switchProtocols(w, v, resp, upgrade, fwd)
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
		// The listener sets a write deadline on connections of HTTP/1.1. A stream of HTTP/2
		// whose client stops reading has only this one.
		patient := answer.NewPatient(w)
		defer patient.Done()
		out = patient
	}
	down, err := p.copyBody(out, resp, &fwd.bill)
	o := Outcome{Status: resp.StatusCode, Up: fwd.up.Load(), Down: down, Cut: err != nil}
	p.stages.Done(v, o)
	if err != nil {
		p.conf.Log.Debug("an answer was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that the client sees the cut
	}
	if len(resp.Trailer) > 0 {
		sendTrailers(w, resp.Trailer, announced)
	}
}

// forwarding is the state of one request while it is forwarded.
type forwarding struct {
	w http.ResponseWriter

	up       atomic.Int64 // bytes of the request's body
	bodyLost atomic.Bool  // the client's body broke off, or was invalid
	conn     net.Conn     // the target's connection, for a request to switch protocols
	bill     bill

	clientTrace httptrace.ClientTrace

	// net/http may still use the request after it has returned an answer or an error, and
	// even after the handler has returned.
	mu            sync.Mutex
	informational int  // informational answers so far
	answered      bool // informational answers come too late
	ended         bool // the handler has returned: do not touch its writer
}

// answer drops informational answers from now on.
func (f *forwarding) answer() {
	f.mu.Lock()
	f.answered = true
	f.mu.Unlock()
}

// end drops whatever net/http still does with the request.
func (f *forwarding) end() {
	f.mu.Lock()
	f.answered, f.ended = true, true
	f.mu.Unlock()
}

// refusal names what failed: the client's body, or the target.
func (f *forwarding) refusal(err error) answer.Refusal {
	if f.bodyLost.Load() {
		return answer.NewRefusal(http.StatusBadRequest, "proxy_error", "the request's body could not be read", answer.BasisTarget)
	}
	return route.RefusalOf(err)
}

// outgoing turns the client's request into the one that the target gets.
func (p *Proxy) outgoing(w http.ResponseWriter, r *http.Request, v *Visit, upgrade string) *forwarding {
	fwd := &forwarding{w: w, bill: p.bill(v, r.URL.Scheme == "https")}
	r.Close = false
	r.RequestURI = ""
	if r.ContentLength != 0 {
		r.Body = &idleBody{ReadCloser: r.Body, rc: http.NewResponseController(w), fwd: fwd}
	} else {
		// A request of HTTP/2 has an empty body that net/http's transport does not recognise.
		r.Body = http.NoBody // the server still closes the original
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
		r.Header["User-Agent"] = nil // keeps net/http from adding its default
	}
	if v.Flags.UA == "mobile" {
		r.Header["User-Agent"] = []string{mobileUA}
	}
	return fwd
}

// transport returns the client side for a visit's target, with the client's version of HTTP.
func (p *Proxy) transport(v *Visit, version int) http.RoundTripper {
	switch {
	case v.guest != nil:
		return v.guest
	case version == 1:
		return p.stages.Transport(v, p.conf.Route.Dialer.TransportHTTP1(v.Host, v.Exit))
	}
	return p.stages.Transport(v, p.conf.Route.Dialer.Transport(v.Host, v.Exit))
}

func (f *forwarding) trace(ctx context.Context, upgrade bool) context.Context {
	f.clientTrace.Got1xxResponse = f.passInformational
	if upgrade {
		f.clientTrace.GotConn = func(i httptrace.GotConnInfo) { f.conn = i.Conn }
	}
	return httptrace.WithClientTrace(ctx, &f.clientTrace)
}

// passInformational passes on the target's informational answers, such as 103 Early Hints.
// The server itself sends 100 when the handler first reads the body.
func (f *forwarding) passInformational(code int, target textproto.MIMEHeader) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.informational++; f.informational > maxInformational {
		return errors.New("the target sent too many informational answers")
	}
	if f.answered || code == http.StatusContinue {
		return nil
	}
	h := f.w.Header()
	final := maps.Clone(h) // stages set headers of the final answer
	clear(h)
	from := http.Header(target)
	stripHop(from)
	for name, vs := range from {
		if !serviceHeader(name) {
			h[name] = vs
		}
	}
	f.w.WriteHeader(code)
	clear(h)
	maps.Copy(h, final)
	return nil
}

// upgradeOf returns the protocol that a request wants to switch to, "" for none.
func upgradeOf(h http.Header) string {
	if len(h["Upgrade"]) == 0 || !httpguts.HeaderValuesContainsToken(h["Connection"], "Upgrade") {
		return ""
	}
	return h.Get("Upgrade")
}

// stripHop removes the headers that are meant for one hop only (RFC 9110 7.6.1).
func stripHop(h http.Header) {
	stripNamed(h)
	for name := range h {
		if hopByHop(name) {
			delete(h, name)
		}
	}
}

// stripNamed removes the headers that the Connection header names.
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

// copyHeader copies the target's header to the client, without the headers that only the
// service sets.
func (p *Proxy) copyHeader(dst, src http.Header, v *Visit) {
	stripNamed(src)
	for name, vs := range src {
		if !hopByHop(name) && (v.guest != nil || !serviceHeader(name)) {
			dst[name] = vs
		}
	}
	p.describe(dst, v)
}

// serviceHeader reports whether only the service sets a header: a target's is dropped.
func serviceHeader(name string) bool {
	return name == "Proxy-Status" || strings.HasPrefix(name, "X-Brd-") || strings.HasPrefix(name, "X-Emulator-")
}

// passesAsTrailer reports whether to pass on a target's trailer: not the service's headers,
// and nothing that frames a message (RFC 9110 6.5.1).
func passesAsTrailer(name string) bool {
	return httpguts.ValidTrailerHeader(name) && !serviceHeader(name)
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

// firstRead reads the beginning of a body. If the target takes its time, the client gets the
// head first, unless the body is short and its length known.
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

// copyBody streams the body and flushes what a slow target has sent so far. It counts bytes
// before the client has them.
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
				return n, flush() // a short body would otherwise get a length and no trailers
			}
			return n, nil
		}
		if rerr != nil {
			_ = flush() // the client sees how far the body came
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
			b.countDown(m)
		}
	}
}

// idleBody drops a client that stops sending its request's body halfway.
type idleBody struct {
	io.ReadCloser
	rc    *http.ResponseController
	until time.Time
	fwd   *forwarding
}

func (b *idleBody) Read(p []byte) (int, error) {
	// The deadline moves once half of it has passed, not for every chunk.
	if now := time.Now(); b.until.Sub(now) < answer.BodyTimeout/2 {
		b.until = now.Add(answer.BodyTimeout)
		if err := b.deadline(b.until); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.fwd.up.Add(int64(n))
		b.fwd.bill.countUp(n)
	}
	switch {
	case errors.Is(err, io.EOF):
		_ = b.deadline(time.Time{}) // fails on a dead connection only
	case err != nil && !errors.Is(err, http.ErrBodyReadAfterClose): // the deadline stays: the server may still read the rest
		b.fwd.bodyLost.Store(true)
	}
	return n, err
}

func (b *idleBody) deadline(at time.Time) error {
	b.fwd.mu.Lock()
	defer b.fwd.mu.Unlock()
	if b.fwd.ended {
		return http.ErrBodyReadAfterClose
	}
	return b.rc.SetReadDeadline(at)
}

// switchProtocols joins client and target after a 101 (WebSocket), with the deadlines of a
// tunnel.
func (p *Proxy) switchProtocols(w http.ResponseWriter, v *Visit, resp *http.Response, asked string, fwd *forwarding) {
	target, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || fwd.conn == nil || !strings.EqualFold(asked, resp.Header.Get("Upgrade")) {
		p.refuse(w, v, answer.NewRefusal(http.StatusBadGateway, "target_40020", "the target switched to a protocol that was not asked for", answer.BasisProxyRefused))
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil { // a stream of HTTP/2 cannot be hijacked
		p.refuse(w, v, answer.NewRefusal(http.StatusBadGateway, "proxy_error", "protocols are switched over HTTP/1.1 only", answer.BasisProxyRefused))
		return
	}
	upgraded := &upgradedConn{Conn: fwd.conn, body: target}
	c := &tunnelled{Conn: conn, r: buffered.Reader, visit: v}
	if !p.tunnels.add(c, upgraded) {
		p.stages.Done(v, Outcome{Status: resp.StatusCode, Cut: true})
		return
	}
	h := http.Header{}
	upgrade := resp.Header.Get("Upgrade")
	p.copyHeader(h, resp.Header, v)
	h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{upgrade}
	if err := writeHead(conn, "101 Switching Protocols", h); err != nil {
		p.stages.Done(v, Outcome{Status: resp.StatusCode, Cut: true})
		p.tunnels.drop(c, upgraded)
		return
	}
	fwd.bill.request(true, 0)
	o := p.tunnels.pipe(c, upgraded, fwd.bill)
	o.Status = resp.StatusCode
	p.stages.Done(v, o)
	p.tunnels.drop(c, upgraded)
}
