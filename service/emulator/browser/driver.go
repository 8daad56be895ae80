package browser

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/tidwall/gjson"
)

// drive connects chromedp to the driver's plane of a Chromium and returns the context for
// opening pages. That context lasts until stop or the end of the process, even after ctx
// has ended, because closing pages needs it.
func drive(ctx context.Context, p *plane) (tabs context.Context, stop func(), err error) {
	ctx, cancelAttachment := chromedp.NewAllocatorContext(context.WithoutCancel(ctx), attachment{p})
	ctx, cancelBrowser := chromedp.NewContext(ctx)
	stop = func() {
		cancelBrowser()
		cancelAttachment()
	}
	// The first call attaches chromedp.
	if _, err := chromedp.CallBrowser(ctx, target.GetBrowserContexts, emptyParams); err != nil {
		stop()
		return nil, nil, err
	}
	return ctx, stop, nil
}

// attachment is chromedp's allocator for a running Chromium.
type attachment struct{ plane *plane }

func (a attachment) Allocate(ctx context.Context, opts ...chromedp.BrowserOption) (*chromedp.Browser, error) {
	// chromedp logs unknown events, which do not matter here.
	silent := func(string, ...any) {}
	opts = append(opts, chromedp.WithBrowserLogf(silent), chromedp.WithBrowserErrorf(silent))
	return chromedp.NewBrowserTransport(ctx, transport(a), opts...)
}

func (attachment) Wait()          {}
func (attachment) Attaches() bool { return true }

// transport carries chromedp's messages over a plane, whose session chromedp takes for the
// browser.
type transport struct{ plane *plane }

// Read skips the events of the DOM. From them chromedp maintains a copy of the document, which
// nothing here uses, and which two of its goroutines access without a lock while it attaches
// to an existing page.
func (t transport) Read(ctx context.Context, msg *cdproto.Message) error {
	raw, err := t.plane.receive(ctx)
	for err == nil && strings.HasPrefix(gjson.GetBytes(raw, "method").String(), "DOM.") {
		raw, err = t.plane.receive(ctx)
	}
	if err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(raw, msg, chromedp.DefaultUnmarshalOptions); err != nil {
		return err
	}
	if msg.SessionID == target.SessionID(t.plane.session) {
		msg.SessionID = ""
	}
	return nil
}

func (t transport) Write(_ context.Context, msg *cdproto.Message) error {
	out := *msg
	if out.SessionID == "" {
		out.SessionID = target.SessionID(t.plane.session)
	}
	raw, err := jsonv2.Marshal(&out, chromedp.DefaultMarshalOptions)
	if err != nil {
		return err
	}
	return t.plane.mux.send(raw)
}

func (t transport) Close() error {
	t.plane.drop()
	return nil
}
