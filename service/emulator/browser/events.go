package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

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
	lost      bool                  // the current document is the browser's error page
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
		e.current, e.lost = ev.Frame.LoaderID, ev.Frame.UnreachableURL != ""
		e.address = ev.Frame.URL + ev.Frame.URLFragment
		if e.lost {
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
	lost    bool
}

func (e *events) progress() progress {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := progress{document: *e.document(e.current), id: e.current, address: e.address}
	p.lost = e.lost && p.response == nil
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
