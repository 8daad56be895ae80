package browser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	// defaultTimeout is the time for a page if the request sets none.
	defaultTimeout = time.Minute
	// maxTimeout bounds the time for a page. Public documentation mentions waits of up to
	// 150 s for an expected element.
	maxTimeout = 3 * time.Minute
	// maxBody bounds a page's body and its picture, in bytes.
	maxBody = 32 << 20
	// maxPixels bounds width and height of a picture, in pixels.
	maxPixels = 16 << 10

	// windowWidth and windowHeight are the window's, in pixels.
	windowWidth, windowHeight = 1280, 720

	// quietWait is how long a loaded page may continue to fetch before it counts as complete.
	quietWait = 2 * time.Second
)

// Request is one page to open.
type Request struct {
	// URL is absolute, http or https.
	URL string
	// Header is sent with the request for the document, not with those of the page's
	// resources. User-Agent and Accept-Language hold for all of them.
	Header http.Header
	// Expect is what a complete page contains.
	Expect Expect
	// Timeout bounds everything; 0 is [defaultTimeout].
	Timeout time.Duration
	// Dial reaches the targets. It must not be nil.
	Dial Dial
}

// Expect names an element by a CSS selector, or a text. Both empty expect nothing.
// It is the x-unblock-expect header of public documentation.
type Expect struct {
	Element string `json:"element,omitempty"`
	Text    string `json:"text,omitempty"`
}

// Result is an opened page, with any status.
type Result struct {
	// Status and Header are the document's, without the headers that described its
	// original bytes.
	Status int
	Header http.Header
	// URL is the final address of the page.
	URL string
	// Body is the document after its scripts ran, in UTF-8, the bytes of a document that is
	// not HTML, or the PNG of a screenshot. It is empty if the document had no content.
	Body []byte
	// Bytes counts the traffic with targets in both directions, with handshakes.
	Bytes int64
}

// Render opens a page, runs its scripts and returns the resulting document. Its error is a
// [*PageError], [ErrNoChromium], [errClosed] or the context's.
func (b *Browsers) Render(ctx context.Context, req Request) (Result, error) {
	return b.open(ctx, req, (*tab).document)
}

// Screenshot is Render with a PNG of the whole page in Body, at most [maxPixels] wide and long.
func (b *Browsers) Screenshot(ctx context.Context, req Request) (Result, error) {
	return b.open(ctx, req, (*tab).picture)
}

type tab struct {
	ctx    context.Context // chromedp's, with the timeout of the page
	req    Request
	seat   *seat
	chrom  *chromium
	events *events
}

func (r Request) check() (Request, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return r, fmt.Errorf("a page's address is an absolute http or https URL, not %q", r.URL)
	}
	if r.Dial == nil {
		return r, fmt.Errorf("a page needs a way to its target")
	}
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	r.Timeout = min(r.Timeout, maxTimeout)
	return r, nil
}

func (b *Browsers) open(ctx context.Context, req Request, take func(*tab) ([]byte, error)) (res Result, err error) {
	if req, err = req.check(); err != nil {
		return Result{}, err
	}
	if err := b.begin(); err != nil {
		return Result{}, err
	}
	defer b.work.Done()
	ctx, cancel := context.WithTimeoutCause(ctx, req.Timeout, errTimeIsUp)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	select {
	case b.pages <- struct{}{}:
		defer func() { <-b.pages }()
	case <-ctx.Done():
		return Result{}, explain(ctx, true, "waiting for a free browser", ctx.Err())
	}
	w, err := b.borrow(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, explain(ctx, true, "starting the browser", err)
		}
		return Result{}, err
	}
	defer b.giveBack(w)
	seat := b.egress.open(req.Dial, nil)
	defer seat.close()

	tabCtx, closeTab := chromedp.NewContext(w.ctx, chromedp.WithNewBrowserContext())
	defer closeTab()
	runCtx, stop := context.WithCancel(tabCtx)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	defer context.AfterFunc(w.chrom.mux.ctx, stop)()
	if err := chromedp.Do(tabCtx); err != nil { // opens the tab, which lasts as long as tabCtx
		return Result{}, explain(ctx, w.chrom.alive(), "opening a page", err)
	}
	t := &tab{ctx: runCtx, req: req, seat: seat, chrom: w.chrom}
	res, err = t.run(take)
	res.Bytes = seat.bytes.Load()
	return res, explain(ctx, w.chrom.alive(), "opening the page", err)
}

// run opens the page and returns its document or picture.
func (t *tab) run(take func(*tab) ([]byte, error)) (Result, error) {
	if err := t.prepare(); err != nil {
		return Result{}, err
	}
	if err := t.load(); err != nil {
		return Result{}, err
	}
	body, err := take(t)
	if err != nil {
		return Result{}, err
	}
	res := Result{Body: body}
	t.events.describe(&res)
	return res, nil
}

// prepare sets up the tab: proxy login, no downloads, window, language, the request's header.
func (t *tab) prepare() error {
	if err := denyDownloads(t.ctx, chromedp.FromContext(t.ctx).BrowserContextID); err != nil {
		return err
	}
	if err := t.seat.prime(t.ctx); err != nil {
		return err
	}
	if err := chromedp.Do(t.ctx, chromedp.EmulateViewport(windowWidth, windowHeight)); err != nil {
		return err
	}
	if err := t.setHeader(); err != nil {
		return err
	}
	var err error
	t.events, err = listen(t.ctx)
	return err
}

func (t *tab) load() error {
	nav, err := chromedp.Call(t.ctx, page.Navigate, page.NavigateParams{URL: t.req.URL})
	if err != nil {
		return err
	}
	if nav.IsDownload {
		return netError("net::ERR_ABORTED", nil)
	}
	if nav.ErrorText != "" && !t.events.answered(nav.LoaderID) {
		return netError(nav.ErrorText, t.refusal(t.req.URL))
	}
	if nav.ErrorText != "" || nav.LoaderID == "" {
		return nil // an answer without a document: 204, or an error status with no body
	}
	if err := t.waitLoaded(); err != nil {
		return err
	}
	return t.expect()
}

// refusal returns the dialer's error for the host of an address, or nil.
func (t *tab) refusal(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return nil //nolint:nilerr // an invalid address was never dialled
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return t.seat.failure(net.JoinHostPort(u.Hostname(), port))
}

// lookEvery is how often a page is checked for its expected content.
const lookEvery = 100 * time.Millisecond

// setHeader sets the header of the request on the tab.
func (t *tab) setHeader() error {
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
			p.Headers = mergeHeaders(paused.Request.Headers, h)
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

// mergeHeaders replaces the browser's headers by those of h with the same name.
func mergeHeaders(had network.Headers, h http.Header) []*fetch.HeaderEntry {
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

// waitLoaded waits until the page has fired its load event and has stopped fetching, at most
// [quietWait] after the event. It follows the page's navigations.
func (t *tab) waitLoaded() error {
	late := time.NewTimer(time.Hour)
	defer late.Stop()
	over, waiting := false, false
	for {
		p := t.events.progress()
		switch {
		case p.loaded && p.failed:
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

// inspect evaluates an expression in an isolated world, which the page's scripts cannot manipulate.
func inspect[T any](ctx context.Context, expression string) (T, error) {
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
		return &PageError{Code: codeExpectElement, Text: fmt.Sprintf("%q is not a CSS selector", want.Element)}
	case there:
		return nil
	case !t.chrom.alive():
		return errChromiumGone
	default:
		return &PageError{Code: codeExpectElement, Text: fmt.Sprintf("what was expected did not appear on the page: %s", quoted(want.Element+want.Text))}
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
		return checkSize(raw.Body)
	}
	html, err := inspect[*string](t.ctx, fmt.Sprintf("%s(%d)", markup, maxBody))
	if err != nil {
		return nil, err
	}
	if html == nil {
		return nil, errTooLong()
	}
	return checkSize([]byte(*html))
}

func checkSize(body []byte) ([]byte, error) {
	if len(body) > maxBody {
		return nil, errTooLong()
	}
	return body, nil
}

func errTooLong() error {
	return &PageError{Code: codeDocumentLoad, Text: fmt.Sprintf("the page is longer than %d MiB", maxBody>>20)}
}

func (t *tab) picture() ([]byte, error) {
	m, err := chromedp.Call(t.ctx, page.GetLayoutMetrics, emptyParams)
	if err != nil {
		return nil, err
	}
	p := page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: new(true),
		Clip: &page.Viewport{
			Width: math.Min(m.CSSContentSize.Width, maxPixels), Height: math.Min(m.CSSContentSize.Height, maxPixels), Scale: 1,
		},
	}
	shot, err := chromedp.Call(t.ctx, page.CaptureScreenshot, p)
	if err != nil {
		return nil, err
	}
	return checkSize(shot.Data)
}

// events is the history of a tab's main frame, by its messages. A loader identifies each
// document.
type events struct {
	main    cdp.FrameID
	changed chan struct{} // has a token after a change

	mu        sync.Mutex
	documents map[cdp.LoaderID]*document
	current   cdp.LoaderID
	address   string
	pending   map[cdp.LoaderID]bool // requested, but not yet there
	failed    bool                  // the current document is the browser's error page
}

type document struct {
	response *network.Response
	failure  string // Chromium's error text
	loaded   bool   // its load event fired
	quiet    bool   // nothing was on its way for half a second
}

// listen follows a tab from now on. It accepts dialogs, for which a page would otherwise wait
// forever.
func listen(ctx context.Context) (*events, error) {
	e := &events{
		main:      cdp.FrameID(chromedp.FromContext(ctx).Target.TargetID),
		changed:   make(chan struct{}, 1),
		documents: map[cdp.LoaderID]*document{}, pending: map[cdp.LoaderID]bool{},
	}
	return e, chromedp.Listen(ctx, func(ev any) {
		if _, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			go func() {
				// Fails if the dialog has closed.
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}()
			return
		}
		e.note(ev)
	})
}

func (e *events) document(id cdp.LoaderID) *document {
	d := e.documents[id]
	if d == nil {
		d = &document{}
		e.documents[id] = d
	}
	return d
}

func (e *events) note(ev any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if ev.FrameID != e.main || ev.Type != network.ResourceTypeDocument || string(ev.RequestID) != string(ev.LoaderID) {
			return
		}
		e.pending[ev.LoaderID] = true
	case *network.EventResponseReceived:
		if ev.FrameID != e.main || ev.Type != network.ResourceTypeDocument {
			return
		}
		e.document(ev.LoaderID).response = ev.Response
	case *network.EventLoadingFailed:
		id := cdp.LoaderID(ev.RequestID)
		if ev.Type != network.ResourceTypeDocument || !e.pending[id] {
			return
		}
		delete(e.pending, id)
		e.document(id).failure = ev.ErrorText
	case *page.EventFrameNavigated:
		if ev.Frame.ID != e.main {
			return
		}
		e.current, e.failed = ev.Frame.LoaderID, ev.Frame.UnreachableURL != ""
		e.address = ev.Frame.URL + ev.Frame.URLFragment
		if e.failed {
			e.address = ev.Frame.UnreachableURL
		}
		clear(e.pending)
	case *page.EventNavigatedWithinDocument:
		if ev.FrameID != e.main {
			return
		}
		e.address = ev.URL
	case *page.EventLifecycleEvent:
		if ev.FrameID != e.main {
			return
		}
		switch ev.Name {
		case "load":
			e.document(ev.LoaderID).loaded = true
		case "networkIdle":
			e.document(ev.LoaderID).quiet = true
		}
	default:
		return
	}
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// answered reports whether a document's address returned an HTTP answer.
func (e *events) answered(id cdp.LoaderID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.document(id).response != nil
}

// progress is the state of the current document.
type progress struct {
	document
	id      cdp.LoaderID // also identifies its request in the network domain
	address string
	failed  bool
}

func (e *events) progress() progress {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := progress{document: *e.document(e.current), id: e.current, address: e.address}
	p.failed = e.failed && p.response == nil
	p.loaded = p.loaded && len(e.pending) == 0
	return p
}

// describe sets the status and headers of the page.
func (e *events) describe(res *Result) {
	p := e.progress()
	res.URL = p.address
	if p.response == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, d := range e.documents { // an answer without a document: there is one
			if d.response != nil {
				p.response, res.URL = d.response, d.response.URL
			}
		}
	}
	if p.response == nil {
		return
	}
	res.Status = int(p.response.Status)
	res.Header = http.Header{}
	for name, value := range p.response.Headers {
		for line := range strings.SplitSeq(fmt.Sprint(value), "\n") {
			res.Header.Add(name, line)
		}
	}
	for _, name := range [...]string{"Content-Encoding", "Content-Length", "Transfer-Encoding", "Connection"} {
		res.Header.Del(name)
	}
}

// The codes of a [PageError], which are those of the unlocker (public documentation).
const (
	codeNavigationTimeout = "navigation_timeout"
	codeExpectElement     = "expect_element"
	codeDocumentLoad      = "document_load_failed"
	codeProxy             = "proxy_error"
	codeDisconnected      = "browser_disconnected"
	codeClosed            = "net_err_closed"
)

// PageError is the reason why a page could not be opened. Its Code is an x-brd-error-code of the
// public documentation: one of the constants above, or the browser's error in the form
// net_err_cert_authority_invalid.
type PageError struct {
	Code string
	// Text is for people; it contains no secrets.
	Text string
	// Err is the error of the seat's [Dial], if the target could not be reached.
	Err error
}

func (e *PageError) Error() string { return e.Code + ": " + e.Text }

// Unwrap returns the dialer's error.
func (e *PageError) Unwrap() error { return e.Err }

// netError turns Chromium's error text ("net::ERR_CERT_DATE_INVALID") into a
// PageError. dialed is the dialer's error for the page's address, or nil.
func netError(text string, dialed error) *PageError {
	if dialed != nil {
		return &PageError{Code: codeProxy, Text: "the target could not be reached: " + dialed.Error(), Err: dialed}
	}
	name, ok := strings.CutPrefix(text, "net::ERR_")
	if !ok {
		return &PageError{Code: codeDocumentLoad, Text: text}
	}
	switch name {
	case "ABORTED":
		return &PageError{Code: codeDocumentLoad, Text: "the target sent no document that a browser shows"}
	case "CONNECTION_CLOSED", "EMPTY_RESPONSE":
		return &PageError{Code: codeClosed, Text: "the target ended the connection (" + text + ")"}
	case "TIMED_OUT", "CONNECTION_TIMED_OUT":
		return &PageError{Code: codeNavigationTimeout, Text: text}
	default:
		return &PageError{Code: "net_err_" + strings.ToLower(name), Text: text}
	}
}

// explain finds the reason of an error: the time is over, the caller has left, or the browser has
// crashed. It returns any other error unchanged, and a PageError unless the caller has left.
func explain(ctx context.Context, alive bool, during string, err error) error {
	var page *PageError
	timeIsUp := errors.Is(context.Cause(ctx), errTimeIsUp)
	switch {
	case err == nil, errors.As(err, &page) && (ctx.Err() == nil || timeIsUp):
		return err
	case timeIsUp:
		return &PageError{Code: codeNavigationTimeout, Text: during + " took longer than allowed"}
	case ctx.Err() != nil:
		return ctx.Err()
	case !alive:
		return &PageError{Code: codeDisconnected, Text: "the browser ended during " + during}
	default:
		return fmt.Errorf("%s: %w", during, err)
	}
}

// errTimeIsUp is the cause of a context whose page has reached its time limit.
var errTimeIsUp = errors.New("the page's time is up")
