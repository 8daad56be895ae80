package lab

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// visitorOf plays a visitor at an address, with cookies.
type visitorOf struct {
	h       http.Handler
	address string
	cookies []*http.Cookie
}

func (v *visitorOf) do(t *testing.T, method, target string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
	r.RemoteAddr = v.address + ":4711"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range v.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	v.cookies = append(v.cookies, w.Result().Cookies()...)
	return w
}

func (v *visitorOf) puzzle(t *testing.T, block string) (token, answer string) {
	t.Helper()
	var p struct{ Token string }
	w := v.do(t, "GET", "/challenge?for="+block, nil)
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Token == "" {
		t.Fatalf("%v %s", err, w.Body)
	}
	for n := range 1 << 20 {
		if a := strconv.Itoa(n); solves(p.Token, a) {
			return p.Token, a
		}
	}
	t.Fatal("no answer in a million tries")
	return "", ""
}

func TestAClearanceIsEarnedBoundAndExpires(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := New(Options{Now: func() time.Time { return now }})
	for _, c := range []struct {
		block   string
		blocked int
	}{{"captcha", 200}, {"forbidden", 403}, {"too-fast", 429}} {
		v := &visitorOf{h: h, address: "127.10.1.1"}
		behindIt := func(v *visitorOf) bool {
			w := v.do(t, "GET", "/"+c.block, nil)
			is := strings.Contains(w.Body.String(), `class="behind"`)
			if is != (w.Code == 200 && !strings.Contains(w.Body.String(), "data-challenge")) || !is && w.Code != c.blocked {
				t.Errorf("%s: %d %s", c.block, w.Code, w.Body)
			}
			return is
		}
		token, answer := v.puzzle(t, c.block)
		form := url.Values{"for": {c.block}, "token": {token}, "answer": {answer}, "return": {"/" + c.block}}
		for name, change := range map[string]url.Values{
			"a wrong answer":        {"answer": {"x"}},
			"a token changed":       {"token": {"x" + token}},
			"a token for another":   {"for": {map[string]string{"captcha": "forbidden"}[c.block]}},
			"no token":              {"token": {""}},
			"the answer as a token": {"token": {answer}},
		} {
			bad := url.Values{}
			for k, x := range form {
				bad[k] = x
			}
			for k, x := range change {
				bad[k] = x
			}
			if w := v.do(t, "POST", "/challenge", bad); w.Code != 403 || len(v.cookies) != 0 {
				t.Errorf("%s: %d %v", name, w.Code, v.cookies)
			}
		}
		if stranger := (&visitorOf{h: h, address: "127.10.1.2"}); stranger.do(t, "POST", "/challenge", form).Code != 403 {
			t.Error("a puzzle was answered from elsewhere")
		}
		if behindIt(v) {
			t.Error("behind without an answer")
		}
		if w := v.do(t, "POST", "/challenge", form); w.Code != 303 || w.Header().Get("Location") != "/"+c.block {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if !behindIt(v) {
			t.Errorf("%s: the clearance was not honoured", c.block)
		}
		if behindIt(&visitorOf{h: h, address: "127.10.1.2", cookies: v.cookies}) {
			t.Error("a clearance was used from elsewhere")
		}
		if w := v.do(t, "GET", "/"+c.block+"?hard=1", nil); strings.Contains(w.Body.String(), `class="behind"`) {
			t.Error("past a hard block")
		}
		now = now.Add(clearanceLife)
		if behindIt(v) {
			t.Error("a clearance outlived its time")
		}
		if v.do(t, "POST", "/challenge", form).Code != 403 {
			t.Error("an answer was taken after its time")
		}
	}
}

func TestAnAnswerNeverSendsElsewhere(t *testing.T) {
	for _, to := range []string{"https://evil.test/", "//evil.test/", "/\\evil.test", "", "ok", "/a\r\nb"} {
		v := &visitorOf{h: New(Options{}), address: "127.0.0.1"}
		token, answer := v.puzzle(t, "captcha")
		w := v.do(t, "POST", "/challenge", url.Values{"for": {"captcha"}, "token": {token}, "answer": {answer}, "return": {to}})
		if w.Code != 204 || w.Header().Get("Location") != "" {
			t.Errorf("%q: %d %v", to, w.Code, w.Header())
		}
	}
}

func TestAHardBlockHandsOutNoPuzzle(t *testing.T) {
	for _, block := range []string{"captcha-hard", "", "forbidden?hard=1"} {
		if w := get(t, "/challenge?for="+url.QueryEscape(block)); w.Code != 403 {
			t.Errorf("%s: %d", block, w.Code)
		}
	}
	if w := get(t, "/forbidden?hard=1"); w.Code != 403 || strings.Contains(w.Body.String(), "challenge") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
