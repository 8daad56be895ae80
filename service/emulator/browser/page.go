package browser

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	// DefaultTimeout is the time for a page if the request sets none.
	DefaultTimeout = time.Minute
	// MaxTimeout bounds the time for a page. Public documentation mentions waits of up to
	// 150 s for an expected element.
	MaxTimeout = 3 * time.Minute
	// MaxBody bounds a page's body and its picture, in bytes.
	MaxBody = 32 << 20
	// MaxPixels bounds width and height of a picture, in pixels.
	MaxPixels = 16 << 10

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
	// Timeout bounds everything; 0 is [DefaultTimeout].
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
// [*PageError], [ErrNoChromium], [ErrClosed] or the context's.
func (b *Browsers) Render(ctx context.Context, req Request) (Result, error) {
	return b.open(ctx, req, (*tab).document)
}

// Screenshot is Render with a PNG of the whole page in Body, at most [MaxPixels] wide and long.
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
		r.Timeout = DefaultTimeout
	}
	r.Timeout = min(r.Timeout, MaxTimeout)
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
	defer b.give(w)
	seat := b.egress.sit(req.Dial, nil)
	defer seat.leave()

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
	if err := t.furnish(); err != nil {
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

// furnish prepares the tab: proxy login, no downloads, window, language, the request's header.
func (t *tab) furnish() error {
	if err := denyDownloads(t.ctx, chromedp.FromContext(t.ctx).BrowserContextID); err != nil {
		return err
	}
	if err := t.seat.prime(t.ctx); err != nil {
		return err
	}
	if err := chromedp.Do(t.ctx, chromedp.EmulateViewport(windowWidth, windowHeight)); err != nil {
		return err
	}
	if err := t.dress(); err != nil {
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
	if err := t.settle(); err != nil {
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
