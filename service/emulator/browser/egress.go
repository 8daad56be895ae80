package browser

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"
)

// Dial opens a connection to a target for a session of the browser: it decides
// whether the target may be reached and where the connection leaves from. Its
// errors come back in a [PageError].
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

const (
	headerWait  = 30 * time.Second // for a request's header at the egress
	idleWait    = 90 * time.Second // of a connection between requests
	dialWait    = 60 * time.Second // for a connection to a target
	maxHeader   = 256 << 10        // of a request at the egress, in bytes
	keptRefused = 16               // refused addresses that a seat remembers
)

// egress is the one way out for every Chromium: a proxy on a loopback port that
// knows nobody without the login of a seat.
type egress struct {
	ctx context.Context // ends with the pool's work
	ln  net.Listener
	srv *http.Server

	mu    sync.Mutex
	seats map[string]*seat
	ended chan struct{}
}

// seat is one session's place at the egress: a login, and what may be reached.
type seat struct {
	egress   *egress
	user     string
	password string
	dial     Dial
	ctx      context.Context
	cancel   context.CancelFunc
	proxy    *httputil.ReverseProxy
	idle     func()
	requests sync.WaitGroup // in work, tunnels among them

	sent, received atomic.Int64 // bytes to and from targets
	active         func()       // called when bytes moved

	mu      sync.Mutex
	refused map[string]error // the last failure per authority
}

func openEgress(ctx context.Context) (*egress, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening the browser's way out: %w", err)
	}
	e := &egress{ctx: ctx, ln: ln, seats: map[string]*seat{}, ended: make(chan struct{})}
	e.srv = &http.Server{
		Handler: e, ReadHeaderTimeout: headerWait, IdleTimeout: idleWait, MaxHeaderBytes: maxHeader,
		// A browser that goes away in the middle is no news.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(e.ended)
		// Serve ends by close, and only so.
		_ = e.srv.Serve(ln)
	}()
	return e, nil
}

func (e *egress) addr() string { return e.ln.Addr().String() }

// close ends every connection. The seats have been left before.
func (e *egress) close() {
	// An error is the listener's, which is gone either way.
	_ = e.srv.Close()
	<-e.ended
}

// sit opens a seat. active may be nil.
func (e *egress) sit(dial Dial, active func()) *seat {
	if active == nil {
		active = func() {}
	}
	s := &seat{egress: e, user: rand.Text(), password: rand.Text(), dial: dial, active: active, refused: map[string]error{}}
	s.ctx, s.cancel = context.WithCancel(e.ctx)
	tr := &http.Transport{
		DialContext: s.connect, DisableCompression: true,
		MaxIdleConnsPerHost: 6, IdleConnTimeout: idleWait, ForceAttemptHTTP2: false,
	}
	s.idle = tr.CloseIdleConnections
	s.proxy = &httputil.ReverseProxy{
		Transport: tr,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Proxy-Authorization")
			r.Out.Header.Del("Proxy-Connection")
		},
		ErrorLog: log.New(io.Discard, "", 0),
		// No page of ours in the target's name: the connection ends, and the browser
		// reports it as it reports a target that ends it.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seats[s.user] = s
	return s
}

// leave ends the seat, its connections and its login.
func (s *seat) leave() {
	s.egress.mu.Lock()
	delete(s.egress.seats, s.user)
	s.egress.mu.Unlock()
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.requests.Wait()
	s.idle()
}

// enter counts a request in, unless the seat was left.
func (s *seat) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.requests.Add(1)
	return true
}

// secret is the login as it stands in a Proxy-Authorization header.
func (s *seat) secret() string {
	return base64.StdEncoding.EncodeToString([]byte(s.user + ":" + s.password))
}

func (s *seat) bytes() int64 { return s.sent.Load() + s.received.Load() }

// failure is the last failure to reach an authority (host:port), nil for none.
func (s *seat) failure(authority string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[authority]
}

// connect is the seat's dialer: it counts bytes and remembers failures.
func (s *seat) connect(ctx context.Context, network, addr string) (net.Conn, error) {
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
	return &counted{Conn: conn, seat: s}, nil
}

// counted is a connection to a target whose bytes count for the seat.
type counted struct {
	net.Conn
	seat *seat
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.seat.received.Add(int64(n))
	c.seat.active()
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.seat.sent.Add(int64(n))
	c.seat.active()
	return n, err
}

// who finds the seat of a request by its login, in constant time per seat.
func (e *egress) who(r *http.Request) *seat {
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

// ServeHTTP forwards what a seat's browser asks for and asks everybody else for a login.
func (e *egress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := e.who(r)
	if s == nil {
		w.Header().Set("Proxy-Authenticate", `Basic realm="browser"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.requests.Done()
	switch {
	case r.Method == http.MethodConnect:
		s.tunnel(w, r)
	case r.URL.Host == primeHost:
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		s.proxy.ServeHTTP(w, r.WithContext(ctx))
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// tunnel answers a CONNECT. A target that cannot be reached is a 502, which the
// browser shows as net::ERR_TUNNEL_CONNECTION_FAILED.
func (s *seat) tunnel(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	target, err := s.connect(ctx, "tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		target.Close()
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	// The header's deadline is still on the connection.
	if err := client.SetDeadline(time.Time{}); err != nil {
		client.Close()
		target.Close()
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		client.Close()
		target.Close()
		return
	}
	defer context.AfterFunc(s.ctx, func() {
		client.Close()
		target.Close()
	})()
	splice(client, buffered.Reader, target)
}

// splice copies both ways and ends both when either ends.
func splice(client net.Conn, fromClient io.Reader, target net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := io.Copy(target, fromClient)
		halfClose(target, err)
	})
	_, err := io.Copy(client, target)
	halfClose(client, err)
	wg.Wait()
	client.Close()
	target.Close()
}

// halfClose passes an end on: in one direction where the connection can do that and
// nothing went wrong, else in both.
func halfClose(c net.Conn, err error) {
	if counting, ok := c.(*counted); ok {
		c = counting.Conn
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && (err == nil || errors.Is(err, io.EOF)) {
		if half.CloseWrite() == nil {
			return
		}
	}
	c.Close()
}

// proxyLogin reads a Basic login.
func proxyLogin(header string) (user, password string, ok bool) {
	r := http.Request{Header: http.Header{"Authorization": {header}}}
	return r.BasicAuth()
}
