package fetch

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/servicetest"

	"zonedeck/model"
)

// asTarget makes the test binary the target of a benchmark, in a process of its own.
const asTarget = "ZONEDECK_BENCH_TARGET"

// page1KB is a small page of a shop, of about 1 KB.
const page1KB = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Oak chair, natural - The Shop</title><link rel="stylesheet" href="/s/main.css"></head>
<body><nav><a href="/">Home</a> <a href="/chairs">Chairs</a> <a href="/tables">Tables</a> <a href="/cart">Cart (2)</a></nav>
<h1>Oak chair, natural</h1><img src="/i/chair-17.jpg" alt="An oak chair from the side"><p class="price" data-sku="1745">$149.00</p>
<p>A chair of solid oak with a seat of woven paper cord. It is made in one workshop, and it comes assembled.</p>
<ul><li>Height 80 cm, width 48 cm, depth 51 cm</li><li>The seat is 45 cm above the floor</li><li>Oiled, not lacquered</li></ul>
<p>Delivery takes three to five days. You may send it back within 30 days; we collect it.</p>
<h2>Others bought</h2><a href="/p/18">Oak stool</a> <a href="/p/22">Round table, 110 cm</a> <a href="/p/31">Felt pads, 16 pieces</a>
<form action="/cart" method="post"><button name="add" value="1745">Add to cart</button></form>
<footer><a href="/terms">Terms</a> <a href="/privacy">Privacy</a> © The Shop</footer></body></html>`

// serveTarget answers every request with a page until standard input ends, if this process is a target.
func serveTarget() {
	if os.Getenv(asTarget) == "" {
		return
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page1KB)
	}))
	_, _ = io.WriteString(os.Stdout, s.URL+"\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// BenchmarkFetch compares one fetch by API of a page of 1 KiB with a bare net/http
// exchange on a new connection: the difference is the cost of the verdict, the bounded
// body and its checksum.
func BenchmarkFetch(b *testing.B) {
	body := bytes.Repeat([]byte("<p>0123456789</p>"), 60)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	b.Cleanup(s.Close)
	p := servicetest.Profile(s.URL)
	p.Local = true // no rate limit applies on loopback
	b.Run("service", func(b *testing.B) {
		c := newFetcher(b, p)
		for b.Loop() {
			if res, err := c.Fetch(b.Context(), askFor(p, "unlocker1"), nil); err != nil || res.Diagnosis.Class != model.ClassOK {
				b.Fatal(res.Diagnosis, err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		t := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: -1}
		for b.Loop() {
			req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL, bytes.NewReader(body))
			res, err := t.RoundTrip(req)
			noerr.Must(b, err)
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	})
}
