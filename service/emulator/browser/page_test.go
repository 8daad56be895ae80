package browser

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestRenderedPages(t *testing.T) {
	b := browsers(t)
	mux := http.NewServeMux()
	html := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Write([]byte(body))
		})
	}
	html("/late", `<p>a</p><script>setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<b id=late>came late</b>"), 1200)</script>`)
	html("/leads", `<script>location.replace("/end")</script>`)
	html("/end", `<p>the end</p>`)
	html("/dialog", `<script>alert("x"); document.write("<p>" + confirm("y") + "</p>")</script>`)
	html("/meddles", `<p>true</p><script>Object.defineProperty(Element.prototype, "outerHTML", {get: () => "false"}); document.querySelector = () => ({})</script>`)
	html("/empty", "")
	html("/fetches", `<p id=x></p><script>fetch("/json").then(r => r.json()).then(j => document.getElementById("x").textContent = "n is " + j.n)</script>`)
	gone := httptest.NewServer(nil)
	gone.Close()
	html("/leads-nowhere", `<script>location.replace("`+gone.URL+`/")</script>`)
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/end", http.StatusFound) })
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	mux.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte("<p>no such page"))
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"n":7}`))
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	for _, c := range []struct {
		path   string
		expect Expect
		status int
		end    string
		body   string // a part, or all of it after "="
	}{
		{"/late", Expect{Element: "#late"}, 200, "/late", "came late"},
		{"/late", Expect{Text: "came late"}, 200, "/late", "came late"},
		{"/leads", Expect{}, 200, "/end", "the end"},
		{"/redirect", Expect{}, 200, "/end", "the end"},
		{"/dialog", Expect{}, 200, "/dialog", "<p>true</p>"},
		{"/meddles", Expect{}, 200, "/meddles", "<p>true</p>"},
		{"/fetches", Expect{}, 200, "/fetches", "n is 7"},
		{"/json", Expect{}, 200, "/json", `={"n":7}`},
		{"/empty", Expect{}, 200, "/empty", "="},
		{"/none", Expect{}, 204, "/none", "="},
		{"/gone", Expect{}, 410, "/gone", "="},
		{"/missing", Expect{}, 404, "/missing", "no such page"},
	} {
		t.Run(c.path+c.expect.Text, func(t *testing.T) {
			t.Parallel()
			res, err := b.Render(t.Context(), Request{URL: ts.URL + c.path, Dial: dial, Expect: c.expect})
			noerr.Must(t, err)
			whole, exact := strings.CutPrefix(c.body, "=")
			if res.Status != c.status || res.URL != ts.URL+c.end || !strings.Contains(string(res.Body), whole) || exact && string(res.Body) != whole {
				t.Errorf("%d %s\n%s", res.Status, res.URL, res.Body)
			}
		})
	}
	_, err := b.Render(t.Context(), Request{URL: ts.URL + "/leads-nowhere", Dial: dial})
	var page *PageError
	if !errors.As(err, &page) || page.Code != codeProxy {
		t.Errorf("%v", err)
	}
	for _, bad := range []Request{{URL: "file:///etc/passwd", Dial: dial}, {URL: "chrome://gpu", Dial: dial}, {URL: "/x", Dial: dial}, {URL: ts.URL}} {
		if _, err := b.Render(t.Context(), bad); err == nil {
			t.Errorf("%q was rendered", bad.URL)
		}
	}
}

func TestTheHeaderGoesToTheDocumentAlone(t *testing.T) {
	b := browsers(t)
	seen := make(chan http.Header, 2)
	var page string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		w.Header().Set("Content-Type", "text/javascript")
	}))
	t.Cleanup(elsewhere.Close)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		all, err := json.Marshal(r.Header)
		noerr.Want(t, err)
		fmt.Fprintf(w, page, all)
	}))
	t.Cleanup(ts.Close)
	page = `<script src="` + elsewhere.URL + `/x.js"></script><pre>%s</pre><i id=ua></i><script>document.getElementById("ua").textContent = navigator.userAgent + navigator.language</script>`
	res, err := b.Render(t.Context(), Request{URL: ts.URL, Dial: dial, Header: http.Header{
		"X-Mine": {"yes"}, "Cookie": {"a=b"}, "User-Agent": {"Tester/1"}, "Accept-Language": {"de-DE"},
	}})
	noerr.Must(t, err)
	for _, part := range []string{`"X-Mine":["yes"]`, `"Cookie":["a=b"]`, `"User-Agent":["Tester/1"]`, `"de-DE`, "Tester/1de-DE"} {
		if !strings.Contains(string(res.Body), part) {
			t.Errorf("no %s in %s", part, res.Body)
		}
	}
	if h := <-seen; h.Get("X-Mine") != "" || h.Get("Cookie") != "" || h.Get("User-Agent") != "Tester/1" {
		t.Errorf("%v", h)
	}
	if strings.Contains(string(res.Body), "Proxy-") || strings.Contains(string(res.Body), "Headless") {
		t.Errorf("%s", res.Body)
	}
}

func TestPagesDoNotShareCookies(t *testing.T) {
	b := browsers(t)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1", MaxAge: 1000})
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>cookies: %d", len(r.Cookies()))
	}))
	t.Cleanup(ts.Close)
	for range 2 {
		res, err := b.Render(t.Context(), Request{URL: ts.URL, Dial: dial})
		if err != nil || !strings.Contains(string(res.Body), "cookies: 0") {
			t.Errorf("%v %s", err, res.Body)
		}
	}
}

func TestATrustedAuthority(t *testing.T) {
	ts := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<p>signed"))
	}))
	t.Cleanup(ts.Close)
	b := open(t, Config{Trust: []*x509.Certificate{ts.Certificate()}})
	res, err := b.Render(t.Context(), Request{URL: ts.URL, Dial: dial})
	if err != nil || !strings.Contains(string(res.Body), "signed") {
		t.Errorf("%v %s", err, res.Body)
	}
}

func BenchmarkRender(b *testing.B) {
	if _, err := Find(""); err != nil {
		b.Skip("no Chromium: install the package chromium")
	}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<p>x"))
	}))
	defer ts.Close()
	pool := Open(b.Context(), Config{})
	defer pool.Close()
	for b.Loop() {
		noerr.Must(b, noerr.From(pool.Render(b.Context(), Request{URL: ts.URL, Dial: dial})))
	}
}
