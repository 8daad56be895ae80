package fetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/page"
)

func pressed(t testing.TB, encoding string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw deflate":
		f, err := flate.NewWriter(&out, flate.BestCompression)
		noerr.Must(t, err)
		w = f
	default:
		return b
	}
	noerr.Must(t, noerr.From(w.Write(b)))
	noerr.Must(t, w.Close())
	return out.Bytes()
}

func answerOf(contentType, encoding string, body []byte) *http.Response {
	h := http.Header{"Content-Type": {contentType}}
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	u := &url.URL{Scheme: "http", Host: "t.test", Path: "/"}
	return &http.Response{
		StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: (&http.Request{URL: u, Method: http.MethodGet}).WithContext(context.Background()),
	}
}

func TestPagesBecomeUTF8(t *testing.T) {
	late := strings.Repeat(" ", 2000) + "é"
	for name, c := range map[string]struct {
		contentType, encoding, press string
		body                         []byte
		want                         string
	}{
		"gzip":                   {"text/html; charset=utf-8", "gzip", "gzip", []byte("é"), "é"},
		"deflate":                {"text/html; charset=utf-8", "deflate", "deflate", []byte("é"), "é"},
		"bare deflate":           {"text/html; charset=utf-8", "deflate", "raw deflate", []byte("é"), "é"},
		"gzip of nothing":        {"text/html", "gzip", "", nil, ""},
		"latin1 by its type":     {"text/html; charset=iso-8859-1", "", "", []byte("\xe9"), "é"},
		"shift_jis by its meta":  {"text/html", "", "", append([]byte(`<meta charset="shift_jis">`), 0x83, 0x65), `<meta charset="shift_jis">テ`},
		"UTF-8 that is not said": {"text/html", "", "", []byte(late), late},
		"not text":               {"image/png", "", "", []byte("\xe9"), "\xe9"},
	} {
		body := pressed(t, c.press, c.body)
		got, err := whole(answerOf(c.contentType, c.encoding, body))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if c.contentType == "image/png" {
			continue
		}
		streamed, err := io.ReadAll(inUTF8(answerOf(c.contentType, c.encoding, body)))
		if err != nil || string(streamed) != c.want {
			t.Errorf("%s, streamed: %q, %v", name, streamed, err)
		}
	}
}

func TestBombsAndCutBodiesAreRefused(t *testing.T) {
	bomb := pressed(t, "gzip", make([]byte, 64<<20))
	good := pressed(t, "gzip", []byte(strings.Repeat("some text that is not the same all over ", 100)))
	for name, c := range map[string]struct {
		body []byte
		enc  string
		code string
	}{
		"a bomb":       {bomb, "gzip", "document_load_failed"},
		"too large":    {make([]byte, page.MaxBytes+1), "", "document_load_failed"},
		"cut":          {good[:len(good)/2], "gzip", "net_err_closed"},
		"not gzip":     {[]byte("plain"), "gzip", "net_err_closed"},
		"not deflated": {[]byte{0x06, 0xff, 0xff}, "deflate", "net_err_closed"},
	} {
		_, err := whole(answerOf("text/html", c.enc, c.body))
		var refused answer.Refusal
		if !errors.As(err, &refused) || refused.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A bomb in a wrapped answer ends as a cut, after a bounded part of it.
	n, err := io.Copy(io.Discard, inUTF8(answerOf("text/html; charset=utf-8", "gzip", bomb)))
	if !errors.Is(err, errBomb) || n > 20<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// silent is the body of a target that says nothing more, until its connection ends.
type silent struct {
	ctx     context.Context
	reading bool
	t       *testing.T
}

func (s *silent) Read([]byte) (int, error) {
	s.reading = true
	<-s.ctx.Done()
	s.reading = false
	return 0, net.ErrClosed
}

func (s *silent) Close() error {
	if s.reading {
		s.t.Error("closed while it was read")
	}
	return nil
}

func TestATargetThatNeverEndsIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			leaves time.Duration // the client
			code   string
		}{"the client waits": {time.Hour, "net_err_closed"}, "the client leaves": {time.Second, ""}} {
			client, leave := context.WithTimeout(t.Context(), c.leaves)
			ctx, cancel := context.WithCancelCause(client)
			resp := answerOf("text/html", "", nil)
			resp.Request = resp.Request.WithContext(ctx)
			resp.Body = &released{&silent{ctx: ctx, t: t}, cancel}
			began := time.Now()
			_, err := whole(resp)
			var refused answer.Refusal
			if errors.As(err, &refused); refused.Code != c.code || c.code == "" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			if took, want := time.Since(began), min(c.leaves, readTimeout); took != want {
				t.Errorf("%s: after %s", name, took)
			}
			if ctx.Err() == nil {
				t.Errorf("%s: the fetch's context goes on", name)
			}
			leave()
		}
	})
}

func TestExpectationsAreRead(t *testing.T) {
	html := []byte("<h1 class=a>One</h1><p hidden>two</p>")
	for v, met := range map[string]bool{
		`{"element":"h1.a"}`: true, `{"element":"h2, h1"}`: true, `{"element":"h2"}`: false,
		`{"text":"One"}`: true, `{"text":"two"}`: false, `{"text":"h1"}`: false,
	} {
		e, err := parseExpectation(v)
		if err != nil || e.met(html) != met {
			t.Errorf("%s: %v, %v", v, e.met(html), err)
		}
	}
	for _, v := range []string{"", "h1", "{}", "null", `{"element":""}`, `{"element":"h1","text":"a"}`, `{"element":">>"}`, `{"colour":"red"}`, `{"text":"` + strings.Repeat("a", 2000) + `"}`} {
		if e, err := parseExpectation(v); err == nil {
			t.Errorf("%s is taken: %+v", v, e)
		}
	}
	if !(expectation{}).met(nil) {
		t.Error("nothing is expected, and not met")
	}
}

func TestTheBrowsersFailuresHaveTheirCodes(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		code   string
		status int
	}{
		"no Chromium":  {browser.ErrNoChromium, "feature_not_active", 400},
		"expectation":  {&browser.PageError{Code: "expect_element", Text: "x"}, "expect_element", 502},
		"too slow":     {&browser.PageError{Code: "navigation_timeout", Text: "x"}, "navigation_timeout", 502},
		"the dialer's": {&browser.PageError{Code: "proxy_error", Err: answer.NewRefusal(403, "policy_20020", "", "")}, "policy_20020", 403},
		"any other":    {errors.New("x"), "document_load_failed", 502},
	} {
		var refused answer.Refusal
		if err := renderRefusal(t.Context(), c.err); !errors.As(err, &refused) || refused.Code != c.code || refused.Status != c.status {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzInflate(f *testing.F) {
	f.Add(pressed(f, "gzip", []byte("text")), "gzip")
	f.Add(pressed(f, "deflate", []byte("text")), "deflate")
	f.Add([]byte{}, "x-gzip")
	f.Fuzz(func(t *testing.T, b []byte, encoding string) {
		resp := answerOf("text/html", "", b)
		resp.Header["Content-Encoding"] = []string{encoding}
		inflated(resp)
		n, err := io.Copy(io.Discard, resp.Body)
		if n > freeInflated && n > maxRatio*int64(len(b))+1 {
			t.Fatalf("%d bytes became %d, %v", len(b), n, err)
		}
	})
}
