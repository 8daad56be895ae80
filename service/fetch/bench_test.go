package fetch

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/servicetest"

	"zonedeck/model"
)

// asTarget makes the test binary the target of a benchmark, in a process of its own.
const asTarget = "ZONEDECK_BENCH_TARGET"

// page1KB is an ordinary page of about 1 KB.
var page1KB = bytes.Replace([]byte(servicetest.Page), []byte("</p>"), []byte(strings.Repeat(" It is a good day to read on.", 32)+"</p>"), 1)

// serveTarget answers every request with a page until standard input ends, if this process is a target.
func serveTarget() {
	if os.Getenv(asTarget) == "" {
		return
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(page1KB)
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
			if res, err := c.Fetch(b.Context(), servicetest.Ask(p, "unlocker1"), nil); err != nil || res.Diagnosis.Class != model.ClassOK {
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
