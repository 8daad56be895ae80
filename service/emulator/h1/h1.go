// Package h1 is the HTTP/1.1 side towards targets: requests without a body run in the
// goroutine of their caller, over connections that are kept. Against [http.Transport],
// which has two goroutines for each connection, that halves what a small page costs.
// Everything else (bodies, upgrades, HTTP/2) is another transport's work.
//
// The dialer in exits calls it. A [Client] is safe for concurrent use; it has no
// goroutine of its own, and [Client.CloseIdleConnections] leaves nothing behind but
// requests that run.
package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// MaxIdle is how many connections are kept for one target.
	MaxIdle = 32
	// MaxKept is how many are kept in all: the one that was not used for the longest time
	// makes room.
	MaxKept = 256
	// idleTime is how long they are kept without use.
	idleTime = 30 * time.Second
	// tlsTimeout bounds a handshake.
	tlsTimeout = 10 * time.Second
	// maxInformational bounds the 1xx answers before the final one.
	maxInformational = 8
	// DefaultHeaderTimeout is how long a target may take to begin its answer, and how long
	// it may be silent in the middle of one.
	DefaultHeaderTimeout = 150 * time.Second
	// DefaultHeaderBytes bounds the head of an answer.
	DefaultHeaderBytes = 256 << 10
)

// ErrHeaderTooLarge is an answer whose head is beyond the bound.
var ErrHeaderTooLarge = errors.New("the head of the target's answer is too large")

// ErrNoAnswer is a target that closed the connection instead of answering.
var ErrNoAnswer = errors.New("the target closed the connection without an answer")

// Config is what a Client stands on.
type Config struct {
	// Dial opens a connection to "host:port".
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// TLS verifies https targets; nil trusts what the system does.
	TLS *tls.Config
	// Other gets the requests that this client is not for; Other1 those of them that are
	// to be sent by HTTP/1.1 ([Wish.HTTP1]), Other where it is nil. HeaderTimeout holds for
	// them, too.
	Other, Other1 http.RoundTripper
	// HeaderTimeout and HeaderBytes are bounds; 0 is the default.
	HeaderTimeout time.Duration
	HeaderBytes   int64
}

// Client sends requests. Redirects are the caller's matter.
type Client struct {
	conf Config

	mu     sync.Mutex
	idle   map[string][]*conn // by scheme and address, the last used at the end
	kept   int
	reaper *time.Timer // runs while connections are kept
}

// New makes a client.
func New(conf Config) *Client {
	if conf.HeaderTimeout == 0 {
		conf.HeaderTimeout = DefaultHeaderTimeout
	}
	if conf.HeaderBytes == 0 {
		conf.HeaderBytes = DefaultHeaderBytes
	}
	return &Client{conf: conf, idle: map[string][]*conn{}}
}

// Wish is what a caller may want beyond [http.RoundTripper].
type Wish struct {
	// Informational is told of 1xx answers, but for 100 and 101.
	Informational func(code int, h http.Header)
	// HTTP1 has https requests sent by HTTP/1.1; without it they are the other
	// transport's, which speaks HTTP/2 where the target does.
	HTTP1 bool
}

type wishKey struct{}

// Context is a request's context with a wish.
type Context struct {
	context.Context
	Wish Wish
}

// Value implements [context.Context].
func (c *Context) Value(key any) any {
	if key == (wishKey{}) {
		return &c.Wish
	}
	return c.Context.Value(key)
}

// Takes reports whether a request with this wish is one that a Client sends itself.
func (w *Wish) Takes(r *http.Request) bool {
	if r.Body != nil && r.Body != http.NoBody || r.ContentLength != 0 || len(r.Header["Upgrade"]) > 0 || r.Method == http.MethodConnect || len(r.Trailer) > 0 {
		return false
	}
	if r.URL.Scheme == "https" {
		return w.HTTP1
	}
	return r.URL.Scheme == "http"
}

// wishOf is a request's wish, or the wish for nothing.
func wishOf(r *http.Request) *Wish {
	if w, ok := r.Context().Value(wishKey{}).(*Wish); ok {
		return w
	}
	return &Wish{}
}

func (c *Client) other(r *http.Request) http.RoundTripper {
	if c.conf.Other1 != nil && wishOf(r).HTTP1 {
		return c.conf.Other1
	}
	return c.conf.Other
}

// RoundTrip implements [http.RoundTripper].
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	wish := wishOf(r)
	if strings.Contains(r.URL.RawQuery, " ") {
		// net/url lets them pass, and the request's line would have a word too many. Browsers
		// and curl write them so.
		u := *r.URL
		u.RawQuery = strings.ReplaceAll(u.RawQuery, " ", "%20")
		other := *r
		other.URL = &u
		r = &other
	}
	if !wish.Takes(r) {
		return c.pass(c.other(r), r)
	}
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	return c.Send(r, wish)
}

// Send is RoundTrip for a request that the wish [Wish.Takes], and that a server has read
// from the wire: what stands in it is not checked again.
func (c *Client) Send(r *http.Request, wish *Wish) (*http.Response, error) {
	key := keyOf(r)
	for {
		cn, reused, err := c.conn(r, key)
		if errors.Is(err, errOtherProtocol) {
			return c.pass(c.conf.Other, r)
		}
		if err != nil {
			return nil, err
		}
		resp, err := c.exchange(cn, r, wish)
		if err == nil {
			return resp, nil
		}
		cn.end()
		if cause := context.Cause(r.Context()); cause != nil {
			return nil, cause
		}
		if !reused || !errors.Is(err, ErrNoAnswer) || !repeatable(r.Method) {
			return nil, err
		}
		// The target had closed a kept connection; a new one is tried.
	}
}

// repeatable methods may be sent again after a connection was lost (RFC 9110 9.2.2).
func repeatable(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	default:
		return false
	}
}

// keyOf is scheme and address: what a kept connection can be used for again.
func keyOf(r *http.Request) string {
	host := r.URL.Host
	if r.URL.Port() == "" {
		port := "80"
		if r.URL.Scheme == "https" {
			port = "443"
		}
		host = net.JoinHostPort(r.URL.Hostname(), port)
	}
	if r.URL.Scheme == "https" {
		return "s" + host
	}
	return "p" + host
}

// exchange sends a request and reads the head of the answer. The connection is the
// answer's afterwards; after an error it is the caller's.
func (c *Client) exchange(cn *conn, r *http.Request, wish *Wish) (*http.Response, error) {
	stop := watch(r.Context(), cn)
	resp, err := c.head(cn, r, wish)
	if err != nil {
		stop()
		return nil, err
	}
	b := &body{client: c, cn: cn, stop: stop, left: -1}
	reusable := !resp.Close && !r.Close
	switch {
	case resp.Body == http.NoBody || resp.ContentLength == 0 || r.Method == http.MethodHead:
		b.finish(reusable)
		resp.Body = http.NoBody
		return resp, nil
	case resp.ContentLength > 0 && len(resp.TransferEncoding) == 0:
		b.left = resp.ContentLength
	default:
		b.coded = resp.Body
	}
	b.reusable = reusable
	resp.Body = b
	return resp, nil
}

// watch ends the connection with the request's context.
func watch(ctx context.Context, cn *conn) (stop func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() { cn.end() })
}

// head sends a request and reads answers up to the final one.
func (c *Client) head(cn *conn, r *http.Request, wish *Wish) (*http.Response, error) {
	if err := cn.patience(c.conf.HeaderTimeout); err != nil {
		return nil, noAnswer(err)
	}
	cn.limit = c.conf.HeaderBytes
	if err := writeRequest(cn.bw, r); err != nil {
		return nil, noAnswer(err)
	}
	if _, err := cn.br.Peek(1); err != nil {
		return nil, noAnswer(err)
	}
	for range maxInformational {
		resp, err := http.ReadResponse(cn.br, r)
		if err != nil {
			if cn.limit <= 0 {
				return nil, ErrHeaderTooLarge
			}
			return nil, fmt.Errorf("reading the target's answer: %w", err)
		}
		if resp.StatusCode >= 200 || resp.StatusCode < 100 {
			cn.limit = unlimited
			return resp, nil
		}
		switch {
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("the target switched protocols without being asked")
		case resp.StatusCode != http.StatusContinue && wish.Informational != nil:
			wish.Informational(resp.StatusCode, resp.Header)
		}
	}
	return nil, errors.New("the target sent too many informational answers")
}

// noAnswer marks what shows that the target had gone before it answered.
func noAnswer(err error) error {
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNoAnswer, err)
}

// conn takes a kept connection, or opens one.
func (c *Client) conn(r *http.Request, key string) (cn *conn, reused bool, err error) {
	for {
		cn := c.take(key)
		if cn == nil {
			break
		}
		if cn.alive() {
			return cn, true, nil
		}
		cn.end()
	}
	address := key[1:]
	raw, err := c.conf.Dial(r.Context(), address)
	if err != nil {
		return nil, false, err
	}
	if key[0] == 's' {
		raw, err = c.secure(r.Context(), raw, address)
		if err != nil {
			return nil, false, err
		}
	}
	return newConn(raw, key), false, nil
}

// errOtherProtocol is a target that does not speak HTTP/1.1.
var errOtherProtocol = errors.New("the target does not speak HTTP/1.1")

func (c *Client) secure(ctx context.Context, raw net.Conn, address string) (net.Conn, error) {
	conf := &tls.Config{}
	if c.conf.TLS != nil {
		conf = c.conf.TLS.Clone()
	}
	conf.NextProtos = []string{"http/1.1"}
	if conf.ServerName == "" {
		host, _, _ := net.SplitHostPort(address)
		conf.ServerName = strings.TrimSuffix(host, ".")
	}
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	tc := tls.Client(raw, conf)
	if err := tc.HandshakeContext(ctx); err != nil {
		raw.Close()
		// The alert no_application_protocol (RFC 7301 3.2); crypto/tls has no name for it here.
		if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" && strings.Contains(op.Err.Error(), "no application protocol") {
			return nil, errOtherProtocol
		}
		return nil, fmt.Errorf("TLS with the target: %w", err)
	}
	return tc, nil
}

func (c *Client) take(key string) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.idle[key]
	if len(list) == 0 {
		return nil
	}
	cn := list[len(list)-1]
	list[len(list)-1] = nil
	c.idle[key] = list[:len(list)-1]
	c.kept--
	return cn
}

func (c *Client) put(cn *conn) {
	cn.used = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.idle[cn.key]
	if len(list) >= MaxIdle {
		cn.end()
		return
	}
	if c.kept >= MaxKept {
		c.makeRoom()
		list = c.idle[cn.key]
	}
	c.idle[cn.key] = append(list, cn)
	c.kept++
	if c.reaper == nil {
		c.reaper = time.AfterFunc(idleTime, c.reap)
	}
}

// makeRoom drops the connection that was not used for the longest time; c is locked.
func (c *Client) makeRoom() {
	var oldest string
	for key, list := range c.idle {
		if len(list) > 0 && (oldest == "" || list[0].used.Before(c.idle[oldest][0].used)) {
			oldest = key
		}
	}
	list := c.idle[oldest]
	list[0].end()
	c.kept--
	if len(list) == 1 {
		delete(c.idle, oldest)
		return
	}
	c.idle[oldest] = slices.Delete(list, 0, 1)
}

// reap closes what was not used for a while. It comes back while something is kept.
func (c *Client) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaper == nil {
		return
	}
	now := time.Now()
	for key, list := range c.idle {
		old := 0
		for old < len(list) && now.Sub(list[old].used) >= idleTime {
			list[old].end()
			old++
		}
		c.kept -= old
		if old == len(list) {
			delete(c.idle, key)
			continue
		}
		clear(list[copy(list, list[old:]):])
		c.idle[key] = list[:len(list)-old]
	}
	if c.kept == 0 {
		c.reaper = nil
		return
	}
	c.reaper.Reset(idleTime)
}

// CloseIdleConnections closes the connections that are kept, here and in the other
// transport.
func (c *Client) CloseIdleConnections() {
	c.mu.Lock()
	for key, list := range c.idle {
		for _, cn := range list {
			cn.end()
		}
		delete(c.idle, key)
	}
	c.kept = 0
	if c.reaper != nil {
		c.reaper.Stop()
		c.reaper = nil
	}
	c.mu.Unlock()
	for _, other := range [...]http.RoundTripper{c.conf.Other, c.conf.Other1} {
		if t, ok := other.(interface{ CloseIdleConnections() }); ok {
			t.CloseIdleConnections()
		}
	}
}
