package fetch

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/servicetest"

	"zonedeck/model"
)

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
