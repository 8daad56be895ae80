package record

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ownKey   = "0123456789abcdef-own-key"
	otherKey = "fedcba9876543210-other-key"
)

func journal(conf Config) *Journal {
	if conf.Now == nil {
		conf.Now = func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }
	}
	return New(conf)
}

// do sends a request through the journal to a handler and gives its entry.
func do(t *testing.T, j *Journal, r *http.Request, h http.HandlerFunc) Entry {
	t.Helper()
	func() {
		defer func() {
			if v := recover(); v != nil {
				if err, ok := v.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
					panic(v)
				}
			}
		}()
		j.Handler("api", h).ServeHTTP(httptest.NewRecorder(), r)
	}()
	p := j.Read(Query{Limit: 1})
	if len(p.Requests) != 1 {
		t.Fatal("nothing was recorded")
	}
	return p.Requests[0]
}

func TestAnEntryIsWhatTheClientSent(t *testing.T) {
	j := journal(Config{})
	r := httptest.NewRequest(http.MethodPost, "/request?async=true", strings.NewReader(`{"zone":"z","url":"http://lab.test/ok"}`))
	r.Header.Set("Authorization", "Bearer "+ownKey)
	r.Header.Set("User-Agent", "client/1")
	e := do(t, j, r, func(w http.ResponseWriter, r *http.Request) {
		x := FromContext(r.Context())
		_, _ = io.Copy(io.Discard, r.Body)
		x.Set(func(e *Entry) {
			e.Zone, e.Key, e.Target = "z", "ci-fetch", "http://user:pw@lab.test/ok?token=abc&q=1"
		})
		w.Header().Set("x-brd-status-code", "403")
		w.Header().Set("x-brd-error-code", "reject_block")
		w.Header().Set("x-emulator-basis", "contract 4.1")
		w.Header().Set("x-emulator-fault", "f1, f2")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "four")
	})
	e.DurationMS = 0
	got, err := json.Marshal(e)
	noerr.Must(t, err)
	const want = `{"seq":1,"time":"2026-11-21T12:00:00Z","point":"api","method":"POST","url":"/request?async=true","target":"http://user:****@lab.test/ok?token=****\u0026q=1","remote":"192.0.2.1:1234","zone":"z","key":"ci-fetch","header":{"Authorization":"Bearer ****","User-Agent":"client/1"},"body":"{\"zone\":\"z\",\"url\":\"http://lab.test/ok\"}","status":200,"inner_status":403,"code":"reject_block","fault":"f1, f2","bytes_in":39,"bytes_out":4,"duration_ms":0,"basis":"contract 4.1"}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if line, want := e.Line(), `12:00:00.000 api POST /request?async=true zone=z key=ci-fetch target=http://user:****@lab.test/ok?token=****&q=1 200 inner=403 code=reject_block fault=f1,f2 in=39 out=4 0.0ms`; line != want {
		t.Errorf("the line is\n%s\nwant\n%s", line, want)
	}
}

func TestNoSecretIsKept(t *testing.T) {
	basic := "Basic dXNlci1uYW1lOnByb3h5LXBhc3N3b3Jk" // user-name:proxy-password
	for name, build := range map[string]func() *http.Request{
		"Authorization": func() *http.Request { return withHeader("Authorization", "Bearer "+ownKey) },
		"a bare token":  func() *http.Request { return withHeader("Authorization", ownKey) },
		"its key again in another header": func() *http.Request {
			r := withHeader("Authorization", "Bearer "+ownKey)
			r.Header.Set("X-Note", "key="+ownKey)
			return r
		},
		"Proxy-Authorization": func() *http.Request { return withHeader("Proxy-Authorization", basic) },
		"a login without a colon": func() *http.Request {
			return withHeader("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(ownKey)))
		},
		"cookies":                 func() *http.Request { return withHeader("Cookie", "sid="+ownKey+"; "+ownKey) },
		"the page before":         func() *http.Request { return withHeader("Referer", "http://u:"+ownKey+"@x/?token="+ownKey) },
		"a header of keys":        func() *http.Request { return withHeader("X-Api-Key", ownKey) },
		"the acting key":          func() *http.Request { return withHeader("X-Acting-Key", ownKey) },
		"a query":                 func() *http.Request { return withURL("/mcp?token=" + ownKey + "&a=b") },
		"an escaped query":        func() *http.Request { return withURL("/x?auth%5Fheader=" + ownKey) },
		"a webhook's header":      func() *http.Request { return withURL("/x?webhook_header_Authorization=" + ownKey) },
		"another key in path":     func() *http.Request { return withURL("/x/" + otherKey + "?a=b") },
		"a URL's login":           func() *http.Request { return withURL("http://user:" + ownKey + "@lab.test/") },
		"another key in body":     func() *http.Request { return withBody(`say ` + otherKey) },
		"another key in a path":   func() *http.Request { return withURL("/x/" + otherKey) },
		"another key in a header": func() *http.Request { return withHeader("Foo", otherKey) },
		"another key as a name":   func() *http.Request { return withHeader("User-Agent", otherKey) },
		"a key over a body's end": func() *http.Request { return withBody(strings.Repeat("x", bodyPrefix-20) + otherKey + "yyy") },
		"a key over a text's end": func() *http.Request { return withHeader("Foo", strings.Repeat("x", maxHeaderText-20)+otherKey) },
		"a target's login": func() *http.Request {
			return withBody(`{"url":"http://user:` + ownKey + `@lab.test/","b":"http:\/\/user:` + ownKey + `@lab.test"}`)
		},
		"a target's login in a query": func() *http.Request {
			return withURL("/request?url=http%3A%2F%2Fuser%3A" + ownKey + "%40lab.test%2F&b=http://user:" + ownKey + "@lab.test")
		},
		"a form": func() *http.Request {
			r := withBody("user=me&password=" + ownKey)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
			return r
		},
		"a form that is spelled differently": func() *http.Request {
			r := withBody("user=me&password=" + ownKey)
			r.Header.Set("Content-Type", "Application/X-WWW-Form-URLEncoded")
			return r
		},
		"a field": func() *http.Request { return withBody(`{"auth_header" : "` + ownKey + `"}`) },
		"a list": func() *http.Request {
			return withBody(`{"zone":"z","password":["` + ownKey + `","` + ownKey + `"],"a":1}`)
		},
		"inner headers": func() *http.Request {
			return withBody(`{"headers":{"Authorization":"Bearer ` + ownKey + `","Cookie":"a=` + ownKey + `"}}`)
		},
		"a cut body":           func() *http.Request { return withBody(`{"password":"` + ownKey) },
		"an escaped string":    func() *http.Request { return withBody(`{"password":"a\"` + ownKey + `"}`) },
		"an object of secrets": func() *http.Request { return withBody(`{"token":{"a":["` + ownKey + `"]},"b":1}`) },
		"a login in a refused": func() *http.Request {
			r := withHeader("Proxy-Authorization", basic)
			r.URL.RawQuery, r.RequestURI = "p=proxy-password", "http://lab.test/?p=proxy-password"
			return r
		},
	} {
		j := journal(Config{Secrets: func() []string { return []string{otherKey, "short"} }})
		e := do(t, j, build(), func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		b, err := json.Marshal(e)
		noerr.Must(t, err)
		for _, secret := range []string{ownKey, otherKey, otherKey[:10], "proxy-password", "dXNlci1"} {
			if strings.Contains(string(b), secret) {
				t.Errorf("%s: %s is in %s", name, secret, b)
			}
		}
		if name == "Proxy-Authorization" && e.User != "user-name" {
			t.Errorf("the username is %q", e.User)
		}
		if name == "a list" && e.Body != `{"zone":"z","password":"****","a":1}` {
			t.Errorf("the body became %s", e.Body)
		}
	}
}

func withHeader(name, v string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set(name, v)
	return r
}

func withURL(u string) *http.Request { return httptest.NewRequest(http.MethodGet, u, nil) }

func withBody(b string) *http.Request {
	return httptest.NewRequest(http.MethodPost, "/", strings.NewReader(b))
}

func TestHowAnAnswerEndedIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		h      http.HandlerFunc
		status int
		cut    bool
	}{
		"nothing said": {func(http.ResponseWriter, *http.Request) {}, 200, false},
		"a status": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			w.WriteHeader(http.StatusInternalServerError)
		}, 404, false},
		"an early hint": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusCreated)
		}, 201, false},
		"no answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, true},
		"a cut":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a")); panic(http.ErrAbortHandler) }, 200, true},
		"a stream":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("abc")) }, 200, false},
		"flushed":   {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }, 200, false},
	} {
		if e := do(t, journal(Config{}), withURL("/"), c.h); e.Status != c.status || e.Cut != c.cut {
			t.Errorf("%s: %d, cut %t", name, e.Status, e.Cut)
		}
	}
}

func TestATakenOverConnectionHasTheStatusItIsGiven(t *testing.T) {
	j := journal(Config{})
	var served sync.WaitGroup // a server does not wait for connections that were taken over
	recorded := j.Handler("proxy", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		c.Close()
		if r.URL.Path == "/told" {
			FromContext(r.Context()).Set(func(e *Entry) { e.Status, e.BytesIn, e.BytesOut = 200, 3, 4 })
		}
	}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer served.Done()
		recorded.ServeHTTP(w, r)
	}))
	for _, path := range []string{"/", "/told"} {
		served.Add(1)
		resp, err := http.Get(srv.URL + path)
		noerr.Must(t, err)
		resp.Body.Close()
		served.Wait()
	}
	srv.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	p := j.Read(Query{})
	if len(p.Requests) != 2 || p.Requests[0].Status != 0 || p.Requests[1].Status != 200 || p.Requests[1].BytesOut != 4 {
		t.Errorf("recorded %+v", p.Requests)
	}
}

func TestOnlyTheBeginningOfABodyIsKept(t *testing.T) {
	j := journal(Config{})
	e := do(t, j, withBody(strings.Repeat("x", 3*bodyPrefix)), func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	if len(e.Body) != bodyPrefix || !e.BodyCut || e.BytesIn != 3*bodyPrefix {
		t.Errorf("kept %d bytes of %d, cut %t", len(e.Body), e.BytesIn, e.BodyCut)
	}
	e = do(t, j, withBody(strings.Repeat("x", bodyPrefix)), func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	if e.BodyCut {
		t.Error("a body that fits is called cut")
	}
	e = do(t, j, withBody("unread"), func(http.ResponseWriter, *http.Request) {})
	if e.Body != "" || e.BytesIn != 0 {
		t.Errorf("a body that nobody read: %q", e.Body)
	}
}

func TestAfterTheEndNothingChanges(t *testing.T) {
	j := journal(Config{})
	x := j.Begin(time.Now(), "socks", "CONNECT", "lab.test:443")
	x.Set(func(e *Entry) { e.Zone, e.User, e.Code, e.Status = "z", "u", "client_10000", 407 })
	x.End()
	x.Set(func(e *Entry) { e.Zone = "other" })
	x.End()
	if p := j.Read(Query{}); len(p.Requests) != 1 || p.Requests[0].Zone != "z" || p.Requests[0].Code != "client_10000" {
		t.Errorf("recorded %+v", p.Requests)
	}
	var none *Exchange
	none.Set(func(e *Entry) { e.Zone = "z" })
	none.End()
	if FromContext(context.Background()) != nil {
		t.Error("a context of nothing has an exchange")
	}
}

// put adds entries; zones alternate.
func put(j *Journal, n int) {
	for i := range n {
		x := j.Begin(time.Now(), []string{"api", "proxy"}[i%2], "GET", fmt.Sprintf("/%d", i+1))
		x.Set(func(e *Entry) { e.Zone = []string{"a", "b", "c"}[i%3] })
		x.End()
	}
}

func seqs(p Page) string {
	var out []uint64
	for _, e := range p.Requests {
		out = append(out, e.Seq)
	}
	return fmt.Sprint(out, p.Last, p.Lost)
}

func TestWhatAQueryFinds(t *testing.T) {
	j := journal(Config{Entries: 10})
	put(j, 25) // 16 to 25 are there
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{}, "[16 17 18 19 20 21 22 23 24 25] 25 0"},
		{Query{Limit: 3}, "[23 24 25] 25 0"},
		{Query{Since: 22}, "[23 24 25] 25 0"},
		{Query{Since: 25}, "[] 25 0"},
		{Query{Since: 99}, "[] 99 0"},
		{Query{Since: math.MaxUint64}, "[] 18446744073709551615 0"},
		{Query{Since: 5}, "[16 17 18 19 20 21 22 23 24 25] 25 10"},
		{Query{Since: 17, Limit: 2}, "[18 19] 19 0"},
		{Query{Since: 15, Zone: "a"}, "[16 19 22 25] 25 0"},
		{Query{Since: 15, Zone: "a", Limit: 2}, "[16 19] 21 0"},
		{Query{Point: "proxy", Limit: 2}, "[22 24] 25 0"},
		{Query{Zone: "none"}, "[] 25 0"},
	} {
		if got := seqs(j.Read(c.q)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
	if got := seqs(journal(Config{}).Read(Query{})); got != "[] 0 0" {
		t.Errorf("an empty journal: %s", got)
	}
}

func TestTheJournalIsBoundedInBytes(t *testing.T) {
	j := journal(Config{Bytes: 100_000})
	for range 1000 {
		x := j.Begin(time.Now(), "api", "GET", "/"+strings.Repeat("x", 1000))
		x.End()
	}
	if n := len(j.Read(Query{Limit: MaxLimit}).Requests); n == 0 || n*1000 > 100_000 || j.Read(Query{}).Last != 1000 {
		t.Errorf("%d entries are there after %d", n, j.Read(Query{}).Last)
	}
}

func TestPagingFindsEveryEntryOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.IntRange(1, 70).Draw(t, "entries")
		n := rapid.IntRange(0, 200).Draw(t, "n")
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		zone := rapid.SampledFrom([]string{"", "a", "c"}).Draw(t, "zone")
		j := journal(Config{Entries: entries})
		put(j, n)
		var want, got []uint64
		for seq := max(n-entries, 0) + 1; seq <= n; seq++ {
			if zone == "" || zone == []string{"a", "b", "c"}[(seq-1)%3] {
				want = append(want, uint64(seq))
			}
		}
		since := uint64(max(n-entries, 0))
		for since < uint64(n) {
			p := j.after(Query{Since: since, Zone: zone, Limit: limit})
			for _, e := range p.Requests {
				got = append(got, e.Seq)
			}
			if p.Last <= since {
				t.Fatalf("no way on from %d", since)
			}
			since = p.Last
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestAFollowerGetsEveryEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal(Config{Entries: 10})
		put(j, 15) // 6 to 15 are there
		var got []string
		ended := make(chan error, 1)
		go func() {
			ended <- j.Follow(t.Context(), Query{}, func(e *Entry, lost uint64) error {
				got = append(got, fmt.Sprintf("%d/%d", e.Seq, lost))
				return nil
			})
		}()
		synctest.Wait()
		put(j, 2)
		synctest.Wait()
		j.Close()
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("it ended with %v", err)
		}
		if want := "[6/5 7/0 8/0 9/0 10/0 11/0 12/0 13/0 14/0 15/0 16/0 17/0]"; fmt.Sprint(got) != want {
			t.Errorf("it got %v, want %s", got, want)
		}
	})
}

func TestAFollowerEndsWithItsContextAndItsOwnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal(Config{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- j.Follow(ctx, Query{}, func(*Entry, uint64) error { return nil }) }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		put(j, 2)
		full := errors.New("the disk is full")
		n := 0
		if err := j.Follow(t.Context(), Query{}, func(*Entry, uint64) error { n++; return full }); !errors.Is(err, full) || n != 1 {
			t.Errorf("it ended with %v after %d", err, n)
		}
	})
}

func TestALineNeverSteersATerminal(t *testing.T) {
	e := Entry{Method: "GET", URL: "/\x1b[31m\u009b\u202e", Zone: "a\nb"}
	if line := e.Line(); strings.ContainsAny(line, "\x1b\n\u009b\u202e") {
		t.Errorf("%q", line)
	}
}

func FuzzMask(f *testing.F) {
	f.Add(`{"a":{"password": ["x", "y"]},"token":"z"}`, "http://u:p@h/p?token=x&y")
	f.Add(`"password":`, "://@?=")
	f.Add(`{"password"`, "?%")
	f.Fuzz(func(t *testing.T, body, u string) {
		const secret = "a-secret-value-0"
		for _, text := range []string{fields(body), address(u)} {
			if len(text) > 8*(len(body)+len(u))+64 {
				t.Errorf("%q grew to %q", body, text)
			}
		}
		if !strings.ContainsAny(body, `"\`) {
			if out := fields(`{"x":"` + body + `","password":"` + secret + `","y":1}`); strings.Contains(out, secret) || !strings.HasSuffix(out, `,"y":1}`) {
				t.Errorf("%q became %q", body, out)
			}
		}
	})
}

func BenchmarkHandler(b *testing.B) {
	secrets := make([]string, 21)
	for i := range secrets {
		secrets[i] = fmt.Sprintf("%064d", i)
	}
	h := func(w http.ResponseWriter, r *http.Request) {
		FromContext(r.Context()).Set(func(e *Entry) { e.Zone = "z" })
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
	}
	const body = `{"zone":"unlocker_demo","url":"http://lab.test/ok","format":"raw"}`
	run := func(b *testing.B, body string, next http.Handler) {
		b.ReportAllocs()
		rw := &nowhere{h: http.Header{}}
		for b.Loop() {
			r := &http.Request{Method: http.MethodPost, RequestURI: "/request", Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{
				"Authorization": {"Bearer " + ownKey}, "User-Agent": {"client/1"}, "Accept": {"*/*"}, "Content-Type": {"application/json"},
				"Accept-Encoding": {"gzip"}, "Content-Length": {"66"},
			}}
			next.ServeHTTP(rw, r)
		}
	}
	for name, sent := range map[string]string{"body": body, "no-body": ""} {
		b.Run("without/"+name, func(b *testing.B) { run(b, sent, http.HandlerFunc(h)) })
		b.Run("with/"+name, func(b *testing.B) {
			run(b, sent, journal(Config{Secrets: func() []string { return secrets }}).Handler("api", http.HandlerFunc(h)))
		})
	}
}

type nowhere struct{ h http.Header }

func (n *nowhere) Header() http.Header         { return n.h }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

func TestTheLineNamesALoginWithoutAZone(t *testing.T) {
	refused := Entry{Point: "socks", Method: "CONNECT", User: "brd-customer-a-zone-typo", Status: 407, Code: "client_10002"}
	if line, want := refused.Line(), `00:00:00.000 socks CONNECT user=brd-customer-a-zone-typo 407 code=client_10002 in=0 out=0 0.0ms`; line != want {
		t.Errorf("the line is\n%s\nwant\n%s", line, want)
	}
	refused.Zone = "z"
	if line := refused.Line(); strings.Contains(line, "user=") {
		t.Errorf("the zone says it already: %s", line)
	}
}

func TestPasswordsOfAddressesAreMaskedWhereverTheyStand(t *testing.T) {
	for in, want := range map[string]string{
		"http://u:hunter2@h.test/n":                                              "http://u:****@h.test/n",
		"/t?notify=http://u:hunter2@h.test/n&x=1":                                "/t?notify=http://u:****@h.test/n&x=1",
		"/t?notify=http%3A%2F%2Fu%3Ahunter2%40h.test%2Fn&x=1":                    "/t?notify=http%3A%2F%2Fu%3A****%40h.test%2Fn&x=1",
		"/t?notify=https%3a%2f%2fu:hunt%2540er2@h.test&x=1":                      "/t?notify=https%3a%2f%2fu:****@h.test&x=1",
		`[{"url":"http://u:hunter2@h.test/"},{"url":"http://v:hunter2@h.test"}]`: `[{"url":"http://u:****@h.test/"},{"url":"http://v:****@h.test"}]`,
		`{"url":"http:\/\/u:hunter2@h.test\/"}`:                                  `{"url":"http:\/\/u:****@h.test\/"}`,
		"url\nhttp://u:hunter2@h.test,2\n":                                       "url\nhttp://u:****@h.test,2\n",
		"http://u:hunt:er2@h.test":                                               "http://u:****@h.test",
		"http://h.test:8080/a@b":                                                 "http://h.test:8080/a@b",
		"http://h.test:8080/?mail=me@x.test":                                     "http://h.test:8080/?mail=me@x.test",
		"http://user@h.test/":                                                    "http://user@h.test/",
		"a%3A%2F%2F":                                                             "a%3A%2F%2F",
		"://@":                                                                   "://@",
		"://:@":                                                                  "://:@",
	} {
		if got := logins(in); got != want {
			t.Errorf("%s\nbecame %s\nnot    %s", in, got, want)
		}
	}
	if got := address("http://127.0.0.1:1/t?endpoint=http%3A%2F%2Fu%3Ahunter2%40h%2F"); strings.Contains(got, "hunter2") {
		t.Errorf("address %s", got)
	}
}
