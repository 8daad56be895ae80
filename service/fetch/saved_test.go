package fetch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/model/modeltest"
	"zonedeck/service/exchange"
)

func diagnose(t *testing.T, answer string, change ...func(*Saved)) (model.FetchResult, error) {
	t.Helper()
	s := Saved{Answer: strings.NewReader(answer), Bodies: exchange.Bodies{Dir: t.TempDir()}}
	for _, f := range change {
		f(&s)
	}
	return Diagnose(t.Context(), s)
}

func TestASavedAnswerHasTheDiagnosisThatItHadWhenItCame(t *testing.T) {
	n := 0
	for _, c := range answeredCases(t) {
		if c.raw { // an answer of a target has its status
			continue
		}
		n++
		var answer bytes.Buffer
		fmt.Fprintf(&answer, "HTTP/2 %d\n", c.Outcome.TargetStatus)
		noerr.Must(t, c.header.Write(&answer))
		answer.WriteString("\n")
		answer.Write(c.bytes)
		res, err := diagnose(t, answer.String())
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		got, want := modeltest.WantOf(res.Diagnosis, c.Outcome.BodyHead), c.Want
		got.Evidence, want.Evidence = inner(got.Evidence), inner(want.Evidence)
		got.Steps, want.Steps = nil, nil
		if got, want := got.String(), want.String(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.Name, got, want)
		}
	}
	if n < 100 {
		t.Errorf("%d cases, fewer than 100", n)
	}
}

func TestASavedAnswerIsReadHoweverItWasSaved(t *testing.T) {
	pack := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, s); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	deflate := func(s string) string {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		if _, err := io.WriteString(w, s); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	page := "<html><head><title>x</title></head><body><p class=price>7</p>" + strings.Repeat("word ", 100) + "</body></html>"
	for name, c := range map[string]struct {
		answer string
		change func(*Saved)
		class  model.Class
		rule   string
		status int
	}{
		"line feeds alone":          {"HTTP/1.1 200 OK\nContent-Type: text/html\n\n" + page, nil, model.ClassOK, "", 200},
		"HTTP/2, no reason":         {"HTTP/2 403\r\n\r\nno", nil, model.ClassAccessRestricted, "target_403", 403},
		"a length of the wire":      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n" + page, nil, model.ClassOK, "", 200},
		"compressed":                {"HTTP/2 200\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\n\r\n" + pack(page), func(s *Saved) { s.Required = []string{".price"} }, model.ClassOK, "", 200},
		"compressed twice":          {"HTTP/2 200\r\ncontent-type: text/html\r\ncontent-encoding: gzip, deflate\r\n\r\n" + deflate(pack(page)), func(s *Saved) { s.Required = []string{".price"} }, model.ClassOK, "", 200},
		"inflated by curl":          {"HTTP/2 200\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\n\r\n" + page, func(s *Saved) { s.Required = []string{".price"} }, model.ClassOK, "", 200},
		"compressed with brotli":    {"HTTP/2 200\r\ncontent-type: text/html\r\ncontent-encoding: br\r\n\r\n\x8b\x02\x80hello\x03", nil, model.ClassOutside, "undecodable", 200},
		"brotli inflated by curl":   {"HTTP/2 200\r\ncontent-type: text/html\r\ncontent-encoding: br\r\n\r\n" + page, nil, model.ClassOK, "", 200},
		"after a proxy's head":      {"HTTP/1.0 200 Connection established\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many\r\nRetry-After: 7\r\n\r\n", nil, model.ClassTooFast, "", 429},
		"after redirects":           {"HTTP/1.1 301 Moved\r\nLocation: /a\r\n\r\nHTTP/1.1 403 Forbidden\r\n\r\nno", nil, model.ClassAccessRestricted, "target_403", 403},
		"a head without a body":     {"HTTP/1.1 200 OK\r\nServer: x", nil, model.ClassOutside, "empty_body", 200},
		"by API, of the service":    {"HTTP/1.1 401 Unauthorized\r\n\r\nwrong key", func(s *Saved) { s.Via = model.ViaAPI }, model.ClassOutside, "", 0},
		"by API, of a dialect":      {"HTTP/1.1 200 OK\r\nx-brd-status-code: 404\r\n\r\ngone", func(s *Saved) { s.Via, s.Dialect = model.ViaAPI, "brightdata" }, model.ClassOutside, "", 404},
		"of the proxy":              {"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", nil, model.ClassOutside, "", 0},
		"a required field":          {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page, func(s *Saved) { s.Required = []string{".price"} }, model.ClassOK, "", 200},
		"a missing required field":  {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page, func(s *Saved) { s.Required = []string{".cost"} }, model.ClassParsingDrift, "", 200},
		"larger than memory":        {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page + strings.Repeat("more words ", 200_000), func(s *Saved) { s.Required = []string{".price"} }, model.ClassOK, "", 200},
		"a redirect to a challenge": {"HTTP/1.1 302 Found\r\nLocation: https://geo.captcha-delivery.com/captcha/?x=1\r\n\r\n", nil, model.ClassCaptcha, "", 302},
	} {
		t.Run(name, func(t *testing.T) {
			change := c.change
			if change == nil {
				change = func(*Saved) {}
			}
			res, err := diagnose(t, c.answer, change)
			noerr.Must(t, err)
			if d := res.Diagnosis; d.Class != c.class || c.rule != "" && d.Rule != c.rule || res.Status != c.status {
				t.Errorf("%s by rule %s, status %d: %v", d.Class, d.Rule, res.Status, d.Evidence)
			}
		})
	}
}

func TestWhatIsNotASavedAnswerIsNamed(t *testing.T) {
	for answer, want := range map[string]string{
		"":                               "it is empty",
		"\n\n":                           "it is empty",
		"<html>":                         `line 1 is "<html>"; expected a status line`,
		"HTTP/1.1 OK\n\n":                `line 1 is "HTTP/1.1 OK"`,
		"HTTP/1.1 200 OK\nno header\n\n": `line 2 is "no header"; expected a header`,
		"HTTP/1.1 200 OK\nx\x1b[2J: y\n": "expected a header",
		"HTTP/1.1 200 OK\nX: " + strings.Repeat("y", 5000): "longer than",
		strings.Repeat("HTTP/1.1 200 OK\n", 70_000):        "longer than",
	} {
		_, err := diagnose(t, answer)
		if !errors.Is(err, ErrNotSaved) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%.40q: %v", answer, err)
		}
	}
}

func FuzzDiagnoseASavedAnswer(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>x</p>", "HTTP/1.1 100 Continue\n\nHTTP/2 403\n\n", "HTTP/1.1 200 OK\nContent-Encoding: gzip\n\n\x1f\x8b", "x"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, answer string, native bool) {
		s := Saved{Answer: strings.NewReader(answer), Via: model.ViaAPI}
		if native {
			s.Via = model.ViaNative
		}
		res, err := Diagnose(t.Context(), s)
		if err != nil && !errors.Is(err, ErrNotSaved) {
			t.Errorf("%q: %v", answer, err)
		}
		if err == nil && res.Diagnosis.Class == "" {
			t.Errorf("%q has no class", answer)
		}
	})
}
