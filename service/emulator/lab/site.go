package lab

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MaxLargeMB bounds /large.
const MaxLargeMB = 1024

const (
	maxSlow      = 120 * time.Second
	maxEchoBytes = 64 << 10
)

// Handler answers the site's pages. Paths and their meaning are stable: screens,
// goldens and documents name them.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", index)
	mux.HandleFunc("/ok", ok)
	mux.HandleFunc("/json", jsonPage)
	mux.HandleFunc("/large", large)
	mux.HandleFunc("/forbidden", forbidden)
	mux.HandleFunc("/too-fast", tooFast)
	mux.HandleFunc("/captcha", captcha)
	mux.HandleFunc("/slow", slow)
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	})
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) {
		page(w, http.StatusInternalServerError, "Something broke", "<h1>500</h1>\n<p>The lab's server broke, as asked.</p>\n")
	})
	mux.HandleFunc("/shop", shop)
	mux.HandleFunc("/product/{n}", productPage)
	mux.HandleFunc("/search", search)
	mux.HandleFunc("/whoami", whoami)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		page(w, http.StatusNotFound, "Not found", "<h1>404</h1>\n<p>The lab has no page "+html.EscapeString(r.URL.Path)+".</p>\n")
	})
	return mux
}

func page(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	// A failed write means that the client left; there is nobody to tell.
	_, _ = io.WriteString(w, "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>"+
		html.EscapeString(title)+"</title></head>\n<body>\n"+body+"</body>\n</html>\n")
}

func index(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	b.WriteString("<h1>The lab</h1>\n<p>One page for each way a fetch can end.</p>\n<ul>\n")
	for _, p := range [...][2]string{
		{"/ok", "a page that works"},
		{"/json", "a JSON document"},
		{"/large?mb=8", "a large body"},
		{"/forbidden", "403"},
		{"/too-fast", "429 with Retry-After"},
		{"/captcha", "200 with a CAPTCHA"},
		{"/slow?s=5", "an answer that takes its time"},
		{"/empty", "200 without a body"},
		{"/error", "500"},
		{"/shop", "a shop"},
		{"/shop?v=2", "the same shop after its markup changed"},
		{"/search?q=lamp", "search results"},
		{"/whoami", "what the site saw of you"},
	} {
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a> %s</li>\n", p[0], p[0], p[1])
	}
	b.WriteString("</ul>\n")
	page(w, http.StatusOK, "The lab", b.String())
}

func ok(w http.ResponseWriter, _ *http.Request) {
	page(w, http.StatusOK, "It works", "<h1>It works</h1>\n<p>This page answers 200 with a body, every time.</p>\n"+
		"<p>If you read this through a zone, the zone, its credential and the way to the target are fine.</p>\n")
}

func jsonPage(w http.ResponseWriter, _ *http.Request) {
	type item struct {
		SKU     string  `json:"sku"`
		Name    string  `json:"name"`
		Price   float64 `json:"price"`
		InStock bool    `json:"in_stock"`
	}
	items := make([]item, 0, Products)
	for n := range Products {
		p, _ := productAt(n + 1)
		items = append(items, item{p.sku, p.name, float64(p.cents) / 100, p.stock > 0})
	}
	writeJSON(w, map[string]any{"site": "lab.test", "products": items})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v)
}

func forbidden(w http.ResponseWriter, _ *http.Request) {
	page(w, http.StatusForbidden, "Access denied", "<h1>Access denied</h1>\n<p>You do not have permission to view this page.</p>\n")
}

func tooFast(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "1")
	page(w, http.StatusTooManyRequests, "Too many requests", "<h1>Too many requests</h1>\n<p>Slow down and come back in a second.</p>\n")
}

func captcha(w http.ResponseWriter, _ *http.Request) {
	page(w, http.StatusOK, "Are you a robot?", `<h1>Please verify you are a human</h1>
<p>Our systems have detected unusual traffic from your network.</p>
<form action="/captcha" method="post">
<div class="g-recaptcha" data-sitekey="6LeLabLabLabLabLabLabLabLabLabLabLabLabLa"></div>
<noscript>Turn on JavaScript to solve the challenge.</noscript>
<button type="submit">Continue</button>
</form>
`)
}

// slow answers after s seconds (decimals allowed, at most 120), or not at all when
// the client leaves first.
func slow(w http.ResponseWriter, r *http.Request) {
	s, err := strconv.ParseFloat(orElse(r.URL.Query().Get("s"), "5"), 64)
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

// large streams mb MiB of numbered lines, 64 bytes each; nothing is held in memory.
func large(w http.ResponseWriter, r *http.Request) {
	mb, err := strconv.Atoi(orElse(r.URL.Query().Get("mb"), "1"))
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
	block := []byte(strings.Repeat(fmt.Sprintf("%-*s\n", line-1, "000000000 the quick brown fox jumps over the lazy dog"), perBlock))
	for n, left := 0, mb<<20; left > 0; left -= len(block) {
		for i := range perBlock {
			putNumber(block[i*line:i*line+9], n)
			n++
		}
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func putNumber(dst []byte, n int) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
}

func whoami(w http.ResponseWriter, r *http.Request) {
	// What cannot be read was not seen; the echo shows the part that was.
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxEchoBytes))
	address := r.RemoteAddr
	if i := strings.LastIndexByte(address, ':'); i > 0 {
		address = address[:i]
	}
	writeJSON(w, map[string]any{
		"address": strings.Trim(address, "[]"),
		"method":  r.Method,
		"host":    r.Host,
		"path":    r.URL.RequestURI(),
		"proto":   r.Proto,
		"tls":     r.TLS != nil,
		"headers": r.Header,
		"body":    strings.ToValidUTF8(string(body), "\uFFFD"),
	})
}

func search(w http.ResponseWriter, r *http.Request) {
	q := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("q")))
	start, err := strconv.Atoi(orElse(r.URL.Query().Get("start"), "0"))
	if err != nil || start < 0 {
		start = 0
	}
	const perPage = 5
	var hits []product
	for n := range Products {
		p, _ := productAt(n + 1)
		if q != "" && strings.Contains(strings.ToLower(p.name), q) {
			hits = append(hits, p)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>Results for <q>%s</q></h1>\n<p class=\"count\">%d results</p>\n<ol class=\"results\" start=\"%d\">\n",
		html.EscapeString(q), len(hits), start+1)
	for i := start; i < len(hits) && i < start+perPage; i++ {
		p := hits[i]
		fmt.Fprintf(&b, "<li class=\"result\"><a href=\"/product/%d\">%s</a><p class=\"snippet\">%s, %s, %s.</p></li>\n",
			p.n, p.name, p.name, p.price(), strings.ToLower(p.availability()))
	}
	b.WriteString("</ol>\n")
	if start+perPage < len(hits) {
		fmt.Fprintf(&b, "<a class=\"next\" href=\"/search?q=%s&amp;start=%d\">Next</a>\n", url.QueryEscape(q), start+perPage)
	}
	page(w, http.StatusOK, "Search", b.String())
}

func orElse(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
