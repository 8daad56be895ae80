package emulator

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"zonedeck/internal/noerr"
)

// BenchmarkStart is from nothing to all listeners accepting, keys, CA and all.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Start(b.Context(), Options{ProxyAddr: "127.0.0.1:0"})
		noerr.Must(b, err)
		b.StopTimer()
		noerr.Must(b, s.Shutdown(b.Context()))
		b.StartTimer()
	}
}

// BenchmarkFetch compares POST /request of a page of about 1 KB, and the same page
// through the proxy, to a bare reverse proxy before the same site. Read the ratios of
// one run.
func BenchmarkFetch(b *testing.B) {
	g := start(b, Options{})
	site, err := url.Parse(g.r.LabDirect)
	noerr.Must(b, err)
	const page = "/json" // 1.1 KB
	rp := httputil.NewSingleHostReverseProxy(site)
	rp.Transport = &http.Transport{MaxIdleConnsPerHost: 32}
	bare := httptest.NewServer(rp)
	b.Cleanup(func() {
		bare.Close()
		rp.Transport.(*http.Transport).CloseIdleConnections()
	})
	run := func(b *testing.B, c *http.Client, send func() (*http.Request, error)) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				req, err := send()
				if err != nil {
					b.Error(err)
					return
				}
				resp, err := c.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				n, err := io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || n < 1000 {
					b.Error(err, resp.StatusCode, n)
					return
				}
			}
		})
	}
	tr := &http.Transport{MaxIdleConnsPerHost: 32}
	b.Cleanup(tr.CloseIdleConnections)
	c := &http.Client{Transport: tr}
	b.Run("bare-reverse-proxy", func(b *testing.B) {
		run(b, c, func() (*http.Request, error) { return http.NewRequest(http.MethodGet, bare.URL+page, nil) })
	})
	body := []byte(`{"zone":"datacenter_demo","url":"http://lab.test` + page + `","format":"raw"}`)
	b.Run("request", func(b *testing.B) {
		run(b, c, func() (*http.Request, error) {
			req, err := http.NewRequest(http.MethodPost, g.r.API+"/request", bytes.NewReader(body))
			if err == nil {
				req.Header.Set("Authorization", "Bearer "+g.key("batch-user"))
				req.Header.Set("Content-Type", "application/json")
			}
			return req, err
		})
	})
	p := g.through("datacenter_demo")
	p.Transport.(*http.Transport).DisableKeepAlives = false
	p.Transport.(*http.Transport).MaxIdleConnsPerHost = 32
	b.Run("proxy", func(b *testing.B) {
		run(b, p, func() (*http.Request, error) { return http.NewRequest(http.MethodGet, "http://lab.test"+page, nil) })
	})
}
