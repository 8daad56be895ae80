package browser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// lookEvery is how often a page is checked for its expected content.
const lookEvery = 100 * time.Millisecond

// dress sets the header of the request on the tab.
func (t *tab) dress() error {
	h := t.req.Header.Clone()
	ua, lang := h.Get("User-Agent"), h.Get("Accept-Language")
	if ua != "" || lang != "" {
		if ua == "" {
			v, err := chromedp.Run(t.ctx, chromedp.Evaluate[string]("navigator.userAgent"))
			if err != nil {
				return err
			}
			ua = v
		}
		if _, err := chromedp.Call(t.ctx, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: ua, AcceptLanguage: lang}); err != nil {
			return err
		}
	}
	h.Del("User-Agent")
	h.Del("Accept-Language")
	if len(h) == 0 {
		return nil
	}
	return t.addHeader(h)
}

// addHeader adds h to the request for the document, but not to those of the page's resources.
func (t *tab) addHeader(h http.Header) error {
	done := false
	err := chromedp.Listen(t.ctx, func(ev any) {
		paused, ok := ev.(*fetch.EventRequestPaused)
		if !ok {
			return
		}
		p := fetch.ContinueRequestParams{RequestID: paused.RequestID}
		if !done {
			done = true
			p.Headers = merged(paused.Request.Headers, h)
		}
		go func() {
			// Fails if the request has ended.
			_, _ = chromedp.Call(t.ctx, fetch.ContinueRequest, p)
		}()
	})
	if err != nil {
		return err
	}
	_, err = chromedp.Call(t.ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{ResourceType: network.ResourceTypeDocument}}})
	return err
}

// merged replaces the browser's headers by those of h with the same name.
func merged(had network.Headers, h http.Header) []*fetch.HeaderEntry {
	var all []*fetch.HeaderEntry
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if _, replaced := h[http.CanonicalHeaderKey(name)]; !replaced {
			all = append(all, &fetch.HeaderEntry{Name: name, Value: fmt.Sprint(had[name])})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			all = append(all, &fetch.HeaderEntry{Name: name, Value: v})
		}
	}
	return all
}

// settle waits until the page has fired its load event and has stopped fetching, at most
// [quietWait] after the event. It follows the page's navigations.
func (t *tab) settle() error {
	late := time.NewTimer(time.Hour)
	defer late.Stop()
	over, waiting := false, false
	for {
		p := t.events.progress()
		switch {
		case p.loaded && p.lost:
			return netError(p.failure, t.refusal(p.address))
		case p.loaded && (p.quiet || over):
			return nil
		case p.loaded && !waiting:
			waiting = true
			late.Reset(quietWait)
		case !p.loaded:
			waiting, over = false, false
		}
		select {
		case <-t.events.changed:
		case <-late.C:
			over = waiting
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
}

// look evaluates an expression in an isolated world, which the page's scripts cannot manipulate.
func look[T any](ctx context.Context, expression string) (T, error) {
	var zero T
	frame := cdp.FrameID(chromedp.FromContext(ctx).Target.TargetID)
	world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: frame, WorldName: "look"})
	if err != nil {
		return zero, err
	}
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) {
		p.ContextID = world.ExecutionContextID
	}))
}

func (t *tab) expect() error {
	var found string
	want := t.req.Expect
	switch {
	case want.Element != "":
		found = fmt.Sprintf("document.querySelector(%s) !== null", quoted(want.Element))
	case want.Text != "":
		found = fmt.Sprintf("document.body !== null && document.body.innerText.includes(%s)", quoted(want.Text))
	default:
		return nil
	}
	there, err := watch[bool](t.ctx, t.req.Timeout, found)
	var thrown *chromedp.ExceptionError
	switch {
	case errors.As(err, &thrown):
		return &PageError{Code: CodeExpectElement, Text: fmt.Sprintf("%q is not a CSS selector", want.Element)}
	case there:
		return nil
	case !t.chrom.alive():
		return errChromiumGone
	default:
		return &PageError{Code: CodeExpectElement, Text: fmt.Sprintf("what was expected did not appear on the page: %s", quoted(want.Element+want.Text))}
	}
}

// markup returns the document's HTML, "" for a document without content, and null for one that
// is too long.
const markup = `(bound => {
	const root = document.documentElement;
	if (!root || (!root.attributes.length && document.body && !document.body.attributes.length && !document.head?.childNodes.length && !document.body.childNodes.length)) return "";
	const html = root.outerHTML;
	if (html.length > bound) return null;
	return (document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : "") + html;
})`

func (t *tab) document() ([]byte, error) {
	p := t.events.progress()
	if p.response == nil || p.response.MimeType == "" {
		return nil, nil // no document
	}
	if p.response.MimeType != "text/html" && p.response.MimeType != "application/xhtml+xml" {
		raw, err := chromedp.Call(t.ctx, network.GetResponseBody, network.GetResponseBodyParams{RequestID: network.RequestID(p.id)})
		if err != nil {
			return nil, err
		}
		return bounded(raw.Body)
	}
	html, err := look[*string](t.ctx, fmt.Sprintf("%s(%d)", markup, MaxBody))
	if err != nil {
		return nil, err
	}
	if html == nil {
		return nil, errTooLong()
	}
	return bounded([]byte(*html))
}

func bounded(body []byte) ([]byte, error) {
	if len(body) > MaxBody {
		return nil, errTooLong()
	}
	return body, nil
}

func errTooLong() error {
	return &PageError{Code: CodeDocumentLoad, Text: fmt.Sprintf("the page is longer than %d MiB", MaxBody>>20)}
}

func (t *tab) picture() ([]byte, error) {
	m, err := chromedp.Call(t.ctx, page.GetLayoutMetrics, emptyParams)
	if err != nil {
		return nil, err
	}
	p := page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: new(true),
		Clip: &page.Viewport{
			Width: math.Min(m.CSSContentSize.Width, MaxPixels), Height: math.Min(m.CSSContentSize.Height, MaxPixels), Scale: 1,
		},
	}
	shot, err := chromedp.Call(t.ctx, page.CaptureScreenshot, p)
	if err != nil {
		return nil, err
	}
	return bounded(shot.Data)
}
