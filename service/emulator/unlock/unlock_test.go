package unlock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/page"
	"zonedeck/service/emulator/unlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve is a real server and a way to it that follows no redirects.
func serve(t *testing.T, h http.Handler) (string, *http.Transport) {
	t.Helper()
	s := httptest.NewServer(h)
	tr := &http.Transport{}
	t.Cleanup(func() { tr.CloseIdleConnections(); s.Close() })
	return s.URL, tr
}

// doer is a function as an [http.RoundTripper].
type doer func(*http.Request) (*http.Response, error)

func (f doer) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func fetch(t *testing.T, tr *http.Transport, method, address, body string) (*http.Response, string, unlock.Outcome) {
	t.Helper()
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, b)
	noerr.Must(t, err)
	resp, out, err := unlock.Fetch(t.Context(), tr, req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	noerr.Must(t, err)
	return resp, string(got), out
}

func TestTheLabsBlocks(t *testing.T) {
	base, tr := serve(t, lab.New(lab.Options{}))
	for _, c := range []struct {
		path    string
		status  int
		text    string
		kind    page.BlockKind
		cleared bool
		code    string
	}{
		{"/captcha", 200, `class="behind"`, page.Captcha, true, ""},
		{"/forbidden", 200, `class="behind"`, page.Forbidden, true, ""},
		{"/too-fast", 200, `class="behind"`, page.TooFast, true, ""},
		{"/captcha?hard=1", 200, "g-recaptcha", page.Captcha, false, "resolve_failed_captcha"},
		{"/forbidden?hard=1", 403, "Access denied", page.Forbidden, false, "reject_block"},
		{"/too-fast?hard=1", 429, "Slow down", page.TooFast, false, "sr_rate_limit"},
		{"/ok", 200, "It works", page.NotBlocked, true, ""},
		{"/nowhere", 404, "404", page.NotBlocked, true, ""},
		{"/error", 500, "broke", page.NotBlocked, true, ""},
		{"/empty", 200, "", page.NotBlocked, true, ""},
		{"/large?mb=1", 200, "quick brown fox", page.NotBlocked, true, ""},
	} {
		resp, body, out := fetch(t, tr, "GET", base+c.path, "")
		_, code := out.Failure()
		if resp.StatusCode != c.status || !strings.Contains(body, c.text) || out.Kind != c.kind || out.Cleared != c.cleared || code != c.code {
			t.Errorf("%s: %d %+v %s %.200s", c.path, resp.StatusCode, out, code, body)
		}
		if want := c.cleared && c.kind != page.NotBlocked; (out.Rounds == 1) != want || (out.Reason == "") != c.cleared {
			t.Errorf("%s: %+v", c.path, out)
		}
	}
}

func TestABodyIsSentAgain(t *testing.T) {
	var seen []string
	site := lab.New(lab.Options{})
	base, tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/captcha" {
			b, err := io.ReadAll(r.Body)
			seen = append(seen, r.Method+" "+string(b))
			noerr.Want(t, err)
		}
		site.ServeHTTP(w, r)
	}))
	if _, body, out := fetch(t, tr, "POST", base+"/captcha", "a=b"); !out.Cleared || !strings.Contains(body, "behind") {
		t.Errorf("%+v %s", out, body)
	}
	if strings.Join(seen, ";") != "POST a=b;POST a=b" {
		t.Error(seen)
	}
}

func TestChallengesThatAreNotTaken(t *testing.T) {
	const block = `<title>Just a moment</title><script data-challenge="%s"></script>`
	for name, c := range map[string]struct{ at, puzzle, reason string }{
		"on another host":       {"http://other.test/p", "", "own host"},
		"no address":            {"::", "", "own host"},
		"too hard":              {"/p", `{"algorithm":"sha256","difficulty":64,"token":"x"}`, "too hard"},
		"a token too long":      {"/p", `{"algorithm":"sha256","difficulty":1,"token":"` + strings.Repeat("x", 2<<10) + `"}`, "too hard"},
		"an unknown kind":       {"/p", `{"algorithm":"md5","difficulty":1,"token":"x"}`, "not known"},
		"not JSON":              {"/p", `hello`, "reading the puzzle"},
		"cut":                   {"/p", `{"algorithm":"sha256","token":"` + strings.Repeat("x", 1<<20), "reading the puzzle"},
		"an answer for nothing": {"/p", `{"algorithm":"sha256","difficulty":1,"token":"x"}`, "nothing for it"},
	} {
		base, tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/p" && r.Method == http.MethodGet:
				_, _ = io.WriteString(w, c.puzzle)
			case r.URL.Path == "/p":
			default:
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, strings.Replace(block, "%s", c.at, 1))
			}
		}))
		resp, _, out := fetch(t, tr, "GET", base+"/", "")
		_, code := out.Failure()
		if resp.StatusCode != http.StatusOK || out.Cleared || code != "resolve_failed_challenge" || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestATargetThatNeverHasEnough(t *testing.T) {
	asked := 0
	site := lab.New(lab.Options{})
	base, tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/captcha" {
			asked++
			r.Header.Del("Cookie")
		}
		site.ServeHTTP(w, r)
	}))
	_, _, out := fetch(t, tr, "GET", base+"/captcha", "")
	if out.Cleared || out.Rounds != 3 || asked != 4 || !strings.Contains(out.Reason, "again") {
		t.Errorf("%+v after %d", out, asked)
	}
}

func TestTheContextEndsTheWork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	base, tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/p" {
			_, _ = io.WriteString(w, `{"algorithm":"sha256","difficulty":20,"token":"x"}`)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<script data-challenge="/p"></script>`)
	}))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base, nil)
	noerr.Must(t, err)
	n := 0
	_, _, err = unlock.Fetch(ctx, doer(func(r *http.Request) (*http.Response, error) {
		if n++; n == 2 {
			defer cancel() // the puzzle has come, its body not
		}
		return tr.RoundTrip(r)
	}), req)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAStreamIsNotHeldBack(t *testing.T) {
	release := make(chan struct{})
	base, tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, nil)
	noerr.Must(t, err)
	resp, _, err := unlock.Fetch(t.Context(), tr, req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	got := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != "first" {
		t.Errorf("%q %v", got, err)
	}
	close(release)
	_, _ = io.Copy(io.Discard, resp.Body)
}

func TestADeadTargetIsTheTransportsError(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	ln.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ln.Addr().String(), nil)
	noerr.Must(t, err)
	if _, _, err := unlock.Fetch(t.Context(), &http.Transport{}, req); err == nil {
		t.Error("no error")
	}
}

func FuzzSolve(f *testing.F) {
	f.Add([]byte(`<script data-challenge="/p"></script>`), []byte(`{"algorithm":"sha256","difficulty":3,"token":"x"}`))
	f.Add([]byte(`<a data-challenge="//x"><p data-challenge="%zz">`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, body, puzzle []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lab.test/a", nil)
		noerr.Must(t, err)
		calls := 0
		_, _ = unlock.Solve(ctx, doer(func(r *http.Request) (*http.Response, error) {
			if calls++; r.URL.Host != "lab.test" || calls > 2 {
				t.Errorf("call %d to %s", calls, r.URL)
			}
			// The work itself is not tested here.
			if strings.Contains(string(puzzle), "difficulty") && calls == 1 {
				cancel()
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(puzzle)))}, nil
		}), req, body)
	})
}
