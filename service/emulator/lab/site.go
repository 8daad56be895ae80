// Package lab is the small web site that the emulator fetches: one page for each
// way a fetch can end (fine, forbidden, too fast, CAPTCHA, slow, empty, broken)
// and a shop whose markup changes on demand.
//
// Static pages are files in pages, documents are lines of documents.ndjson.
//
// The emulator serves it and resolves lab.test to it; nothing else calls it. The handler keeps no
// state and is safe for concurrent use. [Split] serves http and https on one port, so that both
// addresses work with any port.
package lab

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxLargeMB bounds /large.
const maxLargeMB = 1024

const (
	maxSlow      = 120 * time.Second
	maxEchoBytes = 64 << 10
)

// Origin is the location and network of a visitor's address.
type Origin struct {
	// Country is two lower-case letters; "" is unknown.
	Country string
	// Network is the product whose exit the address is: datacenter, isp, residential, mobile, …
	Network string
}

// Options connect the site to the emulator. The zero value is ready to use.
type Options struct {
	// Now is the clock for the expiry of challenges; nil is time.Now.
	Now func() time.Time
	// Secret signs challenges and clearances; empty is a random one, so that they end with the
	// process.
	Secret []byte
	// Origin returns the origin of an address; nil knows none.
	Origin func(netip.Addr) Origin
	// Drifted reports whether the shop shows this request its changed markup, which ?v=2 also
	// does. Nil is never.
	Drifted func(*http.Request) bool
}

// site is the handler: options, and an index built on first use.
type site struct {
	Options
	index func() *index
}

// New makes the site. Its paths are stable, because screens, goldens and documents name them.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Secret) == 0 {
		o.Secret = make([]byte, 32)
		_, _ = rand.Read(o.Secret) // it never fails (crypto/rand)
	}
	if o.Origin == nil {
		o.Origin = func(netip.Addr) Origin { return Origin{} }
	}
	if o.Drifted == nil {
		o.Drifted = func(*http.Request) bool { return false }
	}
	s := &site{Options: o, index: sync.OnceValue(newIndex)}
	mux := http.NewServeMux()
	s.failures(mux)
	s.shopPages(mux)
	s.searchPages(mux)
	s.crawlPages(mux)
	s.otherPages(mux)
	mux.HandleFunc("/", notFound)
	return mux
}

// failures are the pages for the possible ends of a fetch.
func (s *site) failures(mux *http.ServeMux) {
	mux.Handle("/{$}", file("home.html", typeHTML))
	mux.Handle("/ok", file("ok.html", typeHTML))
	mux.HandleFunc("/large", large)
	mux.HandleFunc("/slow", slow)
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	})
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) {
		page(w, http.StatusInternalServerError, "Something broke", "<h1>500</h1>\n<p>The lab's server broke, as asked.</p>\n")
	})
	mux.HandleFunc("/whoami", whoami)
	s.blocks(mux)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The lab has no page "+html.EscapeString(r.URL.Path)+".</p>\n")
}

func jsonPage(w http.ResponseWriter, _ *http.Request) {
	type item struct {
		SKU     string  `json:"sku"`
		Name    string  `json:"name"`
		Price   float64 `json:"price"`
		InStock bool    `json:"in_stock"`
	}
	items := make([]item, 0, Products)
	for _, p := range catalog()[:Products] {
		items = append(items, item{p.SKU, p.Name, float64(p.Cents) / 100, p.Available()})
	}
	writeJSON(w, map[string]any{"site": "lab.test", "products": items})
}

func writeJSON(w http.ResponseWriter, v any) { writeStatus(w, http.StatusOK, v) }

func writeStatus(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v)
}

// slow answers after s seconds (decimals allowed, at most 120), unless the client leaves first.
func slow(w http.ResponseWriter, r *http.Request) {
	s, err := strconv.ParseFloat(cmp.Or(r.URL.Query().Get("s"), "5"), 64)
	d := time.Duration(s * float64(time.Second))
	if err != nil || !(s >= 0) || s > maxSlow.Seconds() {
		page(w, http.StatusBadRequest, "Bad request", "<p>s: seconds from 0 to 120.</p>\n")
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		page(w, http.StatusOK, "At last", fmt.Sprintf("<h1>At last</h1>\n<p>This took %s.</p>\n", d))
	case <-r.Context().Done():
	}
}

// large streams mb MiB of numbered lines, 64 bytes each.
func large(w http.ResponseWriter, r *http.Request) {
	mb, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("mb"), "1"))
	if err != nil || mb < 0 || mb > maxLargeMB {
		page(w, http.StatusBadRequest, "Bad request", fmt.Sprintf("<p>mb: MiB from 0 to %d.</p>\n", maxLargeMB))
		return
	}
	const line, perBlock = 64, 1024
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(mb<<20))
	if r.Method == http.MethodHead {
		return
	}
	block := bytes.Repeat(fmt.Appendf(nil, "%-*s\n", line-1, "000000000 the quick brown fox jumps over the lazy dog"), perBlock)
	for n, left := 0, mb<<20; left > 0; left -= len(block) {
		for i := range perBlock {
			copy(block[i*line:], fmt.Appendf(nil, "%09d", n))
			n++
		}
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func whoami(w http.ResponseWriter, r *http.Request) {
	// The answer shows the part of the body that could be read.
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxEchoBytes))
	writeJSON(w, map[string]any{
		"address": visitor(r),
		"method":  r.Method,
		"host":    r.Host,
		"path":    r.URL.RequestURI(),
		"proto":   r.Proto,
		"tls":     r.TLS != nil,
		"headers": r.Header,
		"body":    strings.ToValidUTF8(string(body), "\uFFFD"),
	})
}

// visitor is the client's address without its port.
func visitor(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return strings.Trim(r.RemoteAddr, "[]")
	}
	return host
}

// firstByteTimeout is how long a connection may stay silent before it is dropped.
const firstByteTimeout = 10 * time.Second

// recordTypeHandshake is the first byte of a TLS connection (RFC 8446 5.1).
const recordTypeHandshake = 0x16

// Split serves plain and TLS connections on one port, by the first byte of each. The TLS ones
// that it accepts are of type [*tls.Conn]. Close also drops the connections that are not yet
// accepted, and waits for its goroutines.
func Split(ln net.Listener, config *tls.Config) net.Listener {
	s := &splitter{Listener: ln, config: config, conns: make(chan net.Conn)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.run)
	return s
}

type splitter struct {
	net.Listener
	config *tls.Config
	conns  chan net.Conn
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func (s *splitter) run() {
	defer s.cancel()
	for {
		c, err := s.Listener.Accept()
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			continue
		}
		if err != nil {
			return
		}
		s.wg.Go(func() { s.sort(c) })
	}
}

// sort passes a connection on once its first byte has come.
func (s *splitter) sort(c net.Conn) {
	waits := context.AfterFunc(s.ctx, func() { c.Close() })
	r := bufio.NewReaderSize(c, 4096)
	_ = c.SetReadDeadline(time.Now().Add(firstByteTimeout)) // if this fails, so does the read
	first, err := r.Peek(1)
	if !waits() || err != nil {
		c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	var sorted net.Conn = &peeked{c, r}
	if first[0] == recordTypeHandshake {
		sorted = tls.Server(sorted, s.config)
	}
	select {
	case s.conns <- sorted:
	case <-s.ctx.Done():
		c.Close()
	}
}

func (s *splitter) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (s *splitter) Close() error {
	s.cancel()
	err := s.Listener.Close()
	s.wg.Wait()
	return err
}

// peeked is a connection whose first bytes are in r, which is dropped once it is empty.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (c *peeked) Read(p []byte) (int, error) {
	if c.r != nil && c.r.Buffered() > 0 {
		return c.r.Read(p)
	}
	c.r = nil
	return c.Conn.Read(p)
}

// NetConn returns the connection below, which a fault may reset.
func (c *peeked) NetConn() net.Conn { return c.Conn }
