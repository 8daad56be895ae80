package lab

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
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

// MaxLargeMB bounds /large.
const MaxLargeMB = 1024

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
	if err != nil || mb < 0 || mb > MaxLargeMB {
		page(w, http.StatusBadRequest, "Bad request", fmt.Sprintf("<p>mb: MiB from 0 to %d.</p>\n", MaxLargeMB))
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
