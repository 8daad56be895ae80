package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
	"zonedeck/internal/schematest"
	"zonedeck/model"
)

func inMemory(b model.BodyRef) (io.ReadCloser, error) {
	if b.File != "" {
		return nil, errors.New("it is gone")
	}
	return io.NopCloser(bytes.NewReader(b.Bytes)), nil
}

// harOf writes results and gives the file's entries, checked against the schema.
func harOf(t noerr.T, results ...model.FetchResult) (string, []harEntry) {
	t.Helper()
	var b strings.Builder
	n, err := HAR(&b, "1.0", func(yield func(model.FetchResult, error) bool) {
		for _, r := range results {
			if !yield(r, nil) {
				return
			}
		}
	}, inMemory)
	if err != nil || n != len(results) {
		t.Fatal(n, err)
	}
	noerr.Must(t, schematest.Check("../../docs/schema/har.json", []byte(b.String())))
	var file struct{ Log struct{ Entries []harEntry } }
	noerr.Must(t, json.Unmarshal([]byte(b.String()), &file))
	return b.String(), file.Log.Entries
}

func harResult(body []byte, contentType string) model.FetchResult {
	return model.FetchResult{
		ID: "f_1", Started: time.Unix(1_700_000_000, 0).UTC(), Status: 200, ContentType: contentType,
		Request: model.FetchRequest{Zone: model.Zone{Name: "z"}, Via: model.ViaNative, URL: "http://lab.test/"},
		Body:    model.BodyRef{Bytes: body, Size: int64(len(body))}, Diagnosis: model.Diagnosis{Class: model.ClassOK},
		Timing: model.Timing{DNS: -1, Connect: 2 * time.Millisecond, ProxyConnect: 3 * time.Millisecond, TLS: 4 * time.Millisecond, FirstByte: 10 * time.Millisecond, Transfer: 1500 * time.Microsecond, Total: 25 * time.Millisecond},
	}
}

func TestAHARFileHoldsNoCredential(t *testing.T) {
	r := harResult([]byte("ok"), "text/plain")
	r.Request.URL = "http://me:hunter2@lab.test/x?a=1&api_key=hunter2&access%5Ftoken=hunter2&key=hunter2&sig=hunter2&auth=hunter2&pwd=hunter2#f"
	r.Request.Header = http.Header{"Authorization": {"Bearer hunter2"}, "Proxy-Authorization": {"Basic hunter2"}, "Cookie": {"sid=hunter2"}, "X-Api-Key": {"hunter2"}, "Referer": {"http://a:hunter2@b/"}, "X-A": {"1"}}
	r.Header = http.Header{"Set-Cookie": {"sid=hunter2; Path=/", "b=hunter2"}, "Location": {"http://x/?token=hunter2#/a?access_token=hunter2&b=1"}}
	r.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	r.Request.Body = "user=me&pass=hunter2"
	text, entries := harOf(t, r)
	if strings.Contains(text, "hunter2") {
		t.Errorf("the file is %s", text)
	}
	e := entries[0]
	if e.Request.URL != "http://REDACTED@lab.test/x?a=1&api_key=REDACTED&access%5Ftoken=REDACTED&key=REDACTED&sig=REDACTED&auth=REDACTED&pwd=REDACTED#f" || len(e.Request.Query) != 7 || e.Request.Query[0].Value != "1" {
		t.Errorf("URL %s, query %v", e.Request.URL, e.Request.Query)
	}
	if len(e.Response.Cookies) != 2 || e.Response.Cookies[0] != (harPair{"sid", harMasked}) || e.Response.Redirect != "http://x/?token=REDACTED#/a?access_token=REDACTED&b=1" {
		t.Errorf("cookies %v, to %s", e.Response.Cookies, e.Response.Redirect)
	}
	if e.Request.Post.Text != "user=me&pass=REDACTED" {
		t.Errorf("body %s", e.Request.Post.Text)
	}
}

func TestWhatWasNotMeasuredIsNotATime(t *testing.T) {
	_, entries := harOf(t, harResult([]byte("ok"), "text/plain"), model.FetchResult{Request: model.FetchRequest{URL: "http://a/"}, Timing: model.Timing{DNS: -1, Connect: -1, ProxyConnect: -1, TLS: -1, FirstByte: -1, Transfer: -1, Total: -1}})
	got := entries[0].Timings
	got.Comment = ""
	if want := (harTimings{Blocked: -1, DNS: -1, Connect: 9, TLS: 4, Send: -1, Wait: 10, Receive: 1.5}); got != want || entries[0].Time != 20.5 {
		t.Errorf("%+v, in all %v", got, entries[0].Time)
	}
	if e := entries[1]; e.Time != 0 || e.Timings.Wait != -1 || !strings.Contains(e.Comment, "the target's status is not known") {
		t.Errorf("%+v", e)
	}
}

func TestAnEntrySaysHowItWasFetched(t *testing.T) {
	r := harResult([]byte("ok"), "text/plain")
	r.Request.Country, r.Request.Session, r.Request.Method, r.Request.Body, r.Request.Via = "de", "s1", "post", "a=é", ""
	r.Request.Header = http.Header{"Content-Type": {"text/plain"}, "X-A": {"1", "2"}}
	r.Header, r.Status = http.Header{"Server": {"x"}}, http.StatusNotFound
	r.Diagnosis = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseTargetError}
	r.Attempts = make([]model.Attempt, 3)
	_, entries := harOf(t, r)
	e := entries[0]
	if want := (harOwn{ID: "f_1", Zone: "z", Via: "api", Country: "de", Session: "s1", Class: "outside", Cause: "target_error", Attempts: 3}); e.Zonedeck != want {
		t.Errorf("%+v", e.Zonedeck)
	}
	q, a := e.Request, e.Response
	if q.Method != http.MethodPost || q.BodySize != 4 || q.Post == nil || q.Post.Type != "text/plain" || q.Post.Text != "a=é" || len(q.Headers) != 3 || q.Headers[2] != (harPair{"X-A", "2"}) {
		t.Errorf("request %+v", q)
	}
	if a.Status != 404 || a.StatusText != "Not Found" || len(a.Headers) != 1 || a.Headers[0] != (harPair{"Server", "x"}) || a.Redirect != "" {
		t.Errorf("answer %+v", a)
	}
	if e.Comment != "through zone z by API: target error" || e.Started != "2023-11-14T22:13:20Z" {
		t.Errorf("%q at %s", e.Comment, e.Started)
	}
}

func TestABodyOfAHARFile(t *testing.T) {
	long := bytes.Repeat([]byte("é"), HARBody)
	gone, cut := harResult(nil, ""), harResult([]byte("a"), "text/plain")
	gone.Body = model.BodyRef{File: "/nowhere", Size: 5}
	cut.Body.Cut, cut.Body.Incomplete = true, true
	for name, c := range map[string]struct {
		r    model.FetchResult
		want harContent
	}{
		"text":         {harResult([]byte("<p>é"), "text/html; charset=utf-8"), harContent{Size: 5, Type: "text/html; charset=utf-8", Text: "<p>é"}},
		"binary":       {harResult([]byte{0xff, 0xfe}, ""), harContent{Size: 2, Type: "x-unknown", Text: "//4=", Encoding: "base64"}},
		"another code": {harResult([]byte("ab"), "text/html; charset=utf-16"), harContent{Size: 2, Type: "text/html; charset=utf-16", Text: "ab"}},
		"none":         {harResult(nil, "text/plain"), harContent{Type: "text/plain"}},
		"gone":         {gone, harContent{Size: 5, Type: "x-unknown", Comment: "the body is no longer there"}},
		"lost":         {cut, harContent{Size: 1, Type: "text/plain", Text: "a", Comment: "the rest was lost when it was received; the connection ended before all of it had come"}},
		"long":         {harResult(append([]byte("x"), long...), "text/plain"), harContent{Size: 2*HARBody + 1, Type: "text/plain", Text: "x" + string(long[:HARBody-2]), Comment: "cut: the first 1048576 of 2097153 bytes"}},
	} {
		_, entries := harOf(t, c.r)
		if got := entries[0].Response.Content; got != c.want {
			t.Errorf("%s: %.200v\nwant %.200v", name, got, c.want)
		}
	}
}

func TestAnErrorOfTheResultsEndsTheFile(t *testing.T) {
	n, err := HAR(io.Discard, "1", func(yield func(model.FetchResult, error) bool) {
		_ = yield(harResult(nil, ""), nil) && yield(model.FetchResult{}, errors.New("no more"))
	}, inMemory)
	if n != 1 || err == nil || err.Error() != "no more" {
		t.Errorf("%d, %v", n, err)
	}
}

// Whatever bytes came, the file is one of the format, and its text gives them back.
func TestEveryBodyStandsInAHARFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		r := harResult(body, rapid.String().Draw(t, "type"))
		r.Request.URL = "http://lab.test/" + rapid.String().Draw(t, "url")
		r.Header = http.Header{rapid.String().Draw(t, "name"): {rapid.String().Draw(t, "value")}}
		_, entries := harOf(t, r)
		c := entries[0].Response.Content
		got := []byte(c.Text)
		if c.Encoding == "base64" {
			var err error
			if got, err = base64.StdEncoding.DecodeString(c.Text); err != nil {
				t.Fatal(err)
			}
		} else if !utf8.Valid(body) {
			t.Fatal("it is no text")
		}
		if !bytes.Equal(got, body) {
			t.Fatalf("%q, want %q", got, body)
		}
	})
}

func TestACallOfAToolHasAnAddressInAHARFile(t *testing.T) {
	r := harResult([]byte("{}"), "application/json")
	r.Request = model.FetchRequest{Via: model.ViaAgent, Tool: "scrape", Args: "{}"}
	_, entries := harOf(t, r)
	if e := entries[0]; e.Request.URL != "mcp:scrape" || e.Zonedeck.Tool != "scrape" || e.Zonedeck.Via != "agent" {
		t.Errorf("%+v", e)
	}
}
