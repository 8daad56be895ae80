package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/cascadia"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/page"
)

const (
	// expectTimeout is how long an expected element may take to come (public
	// documentation: 30 to 150 s).
	expectTimeout = 30 * time.Second
	renderTimeout = time.Minute
)

// rendered is the page in Chromium after its scripts ran, or its picture.
func (t *task) rendered(ctx context.Context) (*http.Response, error) {
	c := &t.call
	if refused := t.refused(c.url.Hostname(), c.url.Port()); refused != nil {
		return nil, *refused
	}
	at := c.url
	if c.labPage != nil {
		at = c.labPage
	}
	req := browser.Request{
		URL: at.String(), Header: c.header, Timeout: renderTimeout,
		Expect: c.expect.Expect, Dial: t.dial,
	}
	if !c.expect.empty() {
		req.Timeout = expectTimeout
	}
	open := t.f.conf.Browser.Render
	if c.form == formScreenshot {
		open = t.f.conf.Browser.Screenshot
	}
	got, err := open(ctx, req)
	if err != nil {
		return nil, renderRefusal(ctx, err)
	}
	if t.next == nil { // native access counts by itself
		use := t.use
		use.Down = got.Bytes
		t.f.conf.Meter.Record(use)
	}
	return t.renderedAnswer(ctx, got)
}

// dial is the browser's dialer: it checks every connection and uses the task's exit.
func (t *task) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if refused := t.refused(host, port); refused != nil {
		return nil, *refused
	}
	return t.f.conf.Route.Dialer.Dial(ctx, address, t.exit)
}

func (t *task) renderedAnswer(ctx context.Context, got browser.Result) (*http.Response, error) {
	h := got.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Del("Etag") // it describes the bytes of the target
	switch {
	case t.call.form == formScreenshot:
		h.Set("Content-Type", "image/png")
	case strings.Contains(strings.ToLower(h.Get("Content-Type")), "html"):
		h.Set("Content-Type", "text/html; charset=utf-8") // the document is UTF-8 now, whatever it was
		if b := page.Detect(got.Status, h, got.Body); b.Kind == page.Captcha || b.Kind == page.Challenge {
			return nil, answer.NewRefusal(http.StatusBadGateway, "resolve_failed_"+string(b.Kind),
				"the target shows a challenge to the browser ("+b.Mark+")", answer.BasisUnlocker)
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(got.Body)))
	at, err := url.Parse(got.URL)
	if err != nil {
		at = t.call.url
	}
	req := (&http.Request{Method: http.MethodGet, URL: at}).WithContext(ctx)
	return &http.Response{
		StatusCode: got.Status, Header: h, Request: req, ContentLength: int64(len(got.Body)),
		Body: io.NopCloser(bytes.NewReader(got.Body)),
	}, nil
}

// renderRefusal maps a browser's error to the codes of public documentation.
func renderRefusal(ctx context.Context, err error) error {
	var failed *browser.PageError
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, browser.ErrNoChromium):
		return answer.NewRefusal(http.StatusBadRequest, "feature_not_active", err.Error(), answer.BasisNoProduct)
	case errors.As(err, &failed):
		if failed.Err != nil { // the dialer's own refusal says more
			return failed.Err
		}
		return answer.NewRefusal(http.StatusBadGateway, failed.Code, failed.Text, answer.BasisUnlocker)
	default:
		return answer.NewRefusal(http.StatusBadGateway, "document_load_failed", "the browser could not open the page", answer.BasisUnlocker)
	}
}

// expected checks an unlocked page by x-unblock-expect. If it does not contain what is expected,
// a browser runs its scripts and waits.
func (t *task) expected(ctx context.Context, resp *http.Response) (*http.Response, error) {
	original := *resp
	original.Header = resp.Header.Clone()
	body, err := whole(resp)
	if err != nil {
		return nil, err
	}
	if t.call.expect.met(body) {
		out := replaced(&original, body, "")
		if ct := out.Header.Get("Content-Type"); isText(out.Header) && ct != "" {
			media, _, _ := strings.Cut(ct, ";")
			out.Header.Set("Content-Type", strings.TrimSpace(media)+"; charset=utf-8")
		}
		return out, nil
	}
	missing := answer.NewRefusal(http.StatusBadGateway, "expect_element", "the page has no "+t.call.expect.String(), answer.BasisUnlocker)
	if t.call.method != http.MethodGet {
		return nil, missing
	}
	got, err := t.rendered(ctx)
	var refused answer.Refusal
	if errors.As(err, &refused) && refused.Code == "feature_not_active" {
		missing.Msg += "; its scripts were not run: " + refused.Msg
		return nil, missing
	}
	return got, err
}

const maxExpectBytes = 1024

// expectation is what a page must contain to count as complete. The zero value expects nothing.
type expectation struct{ browser.Expect }

func (e expectation) empty() bool { return e == expectation{} }

func (e expectation) String() string {
	if e.Element != "" {
		return "element " + e.Element
	}
	return "text " + e.Text
}

// parseExpectation reads {"element":"…"} or {"text":"…"}; its error continues the header's name.
func parseExpectation(v string) (expectation, error) {
	form := errors.New(`must be {"element":"a CSS selector"} or {"text":"…"}`)
	var fields map[string]string
	if len(v) > maxExpectBytes || json.Unmarshal([]byte(v), &fields) != nil || len(fields) != 1 {
		return expectation{}, form
	}
	e := expectation{browser.Expect{Element: fields["element"], Text: fields["text"]}}
	if e.empty() {
		return e, form
	}
	if _, err := cascadia.ParseGroup(e.Element); err != nil && e.Element != "" {
		return expectation{}, errors.New("element is not a CSS selector")
	}
	return e, nil
}

// met reports whether a page in UTF-8 contains the expected element or text.
func (e expectation) met(body []byte) bool {
	if e.empty() {
		return true
	}
	doc, err := page.Parse(body)
	if err != nil {
		return false
	}
	if e.Text != "" {
		return strings.Contains(page.TextOf(doc), e.Text)
	}
	group, err := cascadia.ParseGroup(e.Element)
	return err == nil && cascadia.Query(doc, group) != nil
}
