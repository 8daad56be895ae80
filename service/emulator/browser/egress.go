package browser

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"zonedeck/service/emulator/native"
)

// Dial opens a connection to a target for a session of the browser. It decides whether the
// target is allowed, and which exit to use. A [PageError] wraps its errors.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Count receives the bytes to and from a target (host:port), before they are passed on.
type Count func(addr string, up, down int)

const (
	headerWait  = 30 * time.Second // for a request's header at the egress
	idleWait    = 90 * time.Second // of a connection between requests
	dialWait    = 60 * time.Second // for a connection to a target
	maxHeader   = 256 << 10        // of a request at the egress, in bytes
	keptRefused = 16               // refused addresses that a seat remembers
)

// egress is the proxy of every Chromium: that of native access, on a separate loopback port,
// for clients with the login of a seat.
type egress struct {
	ctx    context.Context // ends with the pool's work
	ln     net.Listener
	srv    *http.Server
	guests *native.Guests

	mu    sync.Mutex
	seats map[string]*seat
	ended chan struct{}
}

// seat is one session at the egress: its login, and its dialer. It is a [native.Guest].
type seat struct {
	egress   *egress
	user     string
	password string
	dial     Dial
	count    Count
	ctx      context.Context
	cancel   context.CancelFunc
	requests sync.WaitGroup // running ones, with tunnels
	bytes    atomic.Int64   // to and from targets
	*http.Transport

	mu      sync.Mutex
	refused map[string]error // the last failure per authority
}

func (b *Browsers) openEgress() (*egress, error) {
	ln, err := (&net.ListenConfig{}).Listen(b.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening the browser's way out: %w", err)
	}
	e := &egress{ctx: b.ctx, ln: ln, guests: native.NewGuests(b.ctx, b.cfg.Log), seats: map[string]*seat{}, ended: make(chan struct{})}
	e.srv = &http.Server{
		Handler: e, ReadHeaderTimeout: headerWait, IdleTimeout: idleWait, MaxHeaderBytes: maxHeader,
		// A browser may end during a request.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(e.ended)
		// Only close ends Serve.
		_ = e.srv.Serve(ln)
	}()
	return e, nil
}

func (e *egress) addr() string { return e.ln.Addr().String() }

// close ends every connection. All seats have been left before.
func (e *egress) close() {
	// An error is about the listener, which is closed either way.
	_ = e.srv.Close()
	<-e.ended
}

// open gives a guest a seat. count may be nil.
func (e *egress) open(dial Dial, count Count) *seat {
	if count == nil {
		count = func(string, int, int) {}
	}
	s := &seat{egress: e, user: rand.Text(), password: rand.Text(), dial: dial, count: count, refused: map[string]error{}}
	s.ctx, s.cancel = context.WithCancel(e.ctx)
	s.Transport = &http.Transport{
		DialContext: s.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 6, IdleConnTimeout: idleWait,
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seats[s.user] = s
	return s
}

// close ends the seat, its connections and its login.
func (s *seat) close() {
	s.egress.mu.Lock()
	delete(s.egress.seats, s.user)
	s.egress.mu.Unlock()
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.requests.Wait()
}

// beginRequest registers a request, unless the seat is closed.
func (s *seat) beginRequest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.requests.Add(1)
	return true
}

// secret is the login in the form of a Proxy-Authorization header.
func (s *seat) secret() string {
	return base64.StdEncoding.EncodeToString([]byte(s.user + ":" + s.password))
}

// failure returns the last error of dialling an authority (host:port), or nil.
func (s *seat) failure(authority string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[authority]
}

// DialContext dials a target. It counts the connection's bytes, remembers failures, and closes
// the connection with the seat.
func (s *seat) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	conn, err := s.dial(ctx, network, addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if len(s.refused) >= keptRefused {
			clear(s.refused)
		}
		s.refused[addr] = err
		return nil, err
	}
	delete(s.refused, addr)
	return &counted{conn, s, addr, context.AfterFunc(s.ctx, func() { conn.Close() })}, nil
}

type counted struct {
	net.Conn
	seat *seat
	addr string
	stop func() bool
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.count(0, n)
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.count(n, 0)
	return n, err
}

func (c *counted) count(up, down int) {
	if up+down > 0 {
		c.seat.bytes.Add(int64(up + down))
		c.seat.count(c.addr, up, down)
	}
}

func (c *counted) Close() error {
	c.stop()
	return c.Conn.Close()
}

// CloseWrite half-closes the connection, as tunnels need.
func (c *counted) CloseWrite() error { return native.CloseWrite(c.Conn) }

// seat finds the seat of a request by its login. It compares passwords in constant time.
func (e *egress) seat(r *http.Request) *seat {
	user, password, ok := proxyLogin(r.Header.Get("Proxy-Authorization"))
	if !ok {
		return nil
	}
	e.mu.Lock()
	s := e.seats[user]
	e.mu.Unlock()
	if s == nil || subtle.ConstantTimeCompare([]byte(s.password), []byte(password)) != 1 {
		return nil
	}
	return s
}

// ServeHTTP serves the requests of a seat's browser through the proxy, and asks other clients
// for a login. For a target that cannot be reached the browser shows
// net::ERR_TUNNEL_CONNECTION_FAILED, or an empty answer.
func (e *egress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := e.seat(r)
	if s == nil {
		w.Header().Set("Proxy-Authenticate", `Basic realm="browser"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if !s.beginRequest() {
		panic(http.ErrAbortHandler)
	}
	defer s.requests.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	switch {
	case r.URL.Host == primeHost:
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodConnect, r.URL.Scheme == "http" && r.URL.Host != "":
		e.guests.Serve(w, r.WithContext(ctx), s)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func proxyLogin(header string) (user, password string, ok bool) {
	r := http.Request{Header: http.Header{"Authorization": {header}}}
	return r.BasicAuth()
}

// primeHost is the host that a browser context requests to learn its login. The egress answers
// it.
const primeHost = "egress.invalid"

var emptyParams = cdp.Empty{}

// prime gives the browser context of a tab the login of its seat: it answers the egress's demand
// for a login once. From then on Chromium's network stack sends the login with every request of
// that browser context (pages, workers, sockets). Until then the context has no network access.
func (s *seat) prime(tab context.Context) error {
	var answers sync.WaitGroup
	defer answers.Wait()
	ctx, cancel := context.WithCancel(tab)
	defer cancel()
	// If an answer fails, so does the navigation.
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *fetch.EventRequestPaused:
			answers.Go(func() {
				_, _ = chromedp.Call(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
			})
		case *fetch.EventAuthRequired:
			answers.Go(func() {
				_, _ = chromedp.Call(ctx, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{
					RequestID: ev.RequestID,
					AuthChallengeResponse: &fetch.AuthChallengeResponse{
						Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: s.user, Password: s.password,
					},
				})
			})
		}
	})
	if err != nil {
		return err
	}
	target := "http://" + primeHost + "/"
	if _, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{{URLPattern: target + "*"}}, HandleAuthRequests: new(true),
	}); err != nil {
		return err
	}
	// A 204 does not navigate, which the browser calls aborted.
	res, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: target})
	if err != nil {
		return err
	}
	if res.ErrorText != "net::ERR_ABORTED" {
		return fmt.Errorf("the browser did not find its way out: %q", res.ErrorText)
	}
	_, err = chromedp.Call(ctx, fetch.Disable, emptyParams)
	return err
}
