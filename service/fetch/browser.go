package fetch

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"zonedeck/model"
	"zonedeck/service/bodytext"
	"zonedeck/service/browse"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/fields"
)

// typePNG is the type of a screenshot.
const typePNG = "image/png"

// tryBrowser is one attempt in the remote browser: a session, a navigation, a screenshot,
// which is the body. The verdict is over the document that it shows.
func (f *flight) tryBrowser(ctx context.Context, now model.Attempt) (try, error) {
	v, err := browse.Page(ctx, browse.Place{Wire: f.ft.cfg.Wire, Profile: f.p, Login: f.login, Timer: f.ft.cfg.Timer}, f.written(f.r).URL)
	t := try{outcome: f.outcomeOf(), phases: v.Phases, timing: exchange.NoTiming()}
	o := &t.outcome
	if v.Trace != nil {
		t.timing = v.Trace.Timing()
		t.timing.Transfer = -1 // the steps say what it was
	}
	t.timing.Total, o.Elapsed = v.Total, v.Total
	if v.Header != nil {
		t.proxyHeader = f.mask.Header(v.Header)
		o.ServiceStatus = http.StatusSwitchingProtocols
	}
	if v.Refusal != 0 {
		f.readRefusal(&t, v)
		return t, nil
	}
	o.TargetStatus = v.Status
	if v.PageHeader != nil {
		t.header = f.mask.Header(v.PageHeader)
		citeTarget(o, t.header)
	}
	if err := f.browserBroke(o, v, err); err != nil {
		return t, err
	}
	if o.Broke == model.BreakNone && v.ErrorText == "" {
		f.keepShot(&t, v, now)
	}
	return t, nil
}

// readRefusal fills a try from the answer by which the browser was not opened.
func (f *flight) readRefusal(t *try, v browse.Visit) {
	o := &t.outcome
	o.ServiceStatus, o.ContentType = v.Refusal, v.RefusalType
	read(o, f.d.ReadHeader(t.proxyHeader, f.ft.cfg.Now()))
	text := f.mask.Bytes(v.RefusalText)
	if o.ServiceText == "" {
		o.ServiceText = dialect.ErrorText(o.ContentType, text)
	}
	t.body = exchange.Receive(f.sink(), bytes.NewReader(text), nil)
	t.readText()
}

// browserBroke fills an outcome from the error that ended a visit, or from the browser's
// reason why there is no page. It returns an error that is no outcome.
func (f *flight) browserBroke(o *model.Outcome, v browse.Visit, err error) error {
	var refused *browse.RefusedError
	var closed *browse.ClosedError
	switch {
	case errors.As(err, &refused):
		f.readText(o, refused.Text)
		return nil
	case errors.As(err, &closed):
		f.readText(o, closed.Text)
		o.Broke, o.BrokeText, o.Peer = model.BreakReset, f.mask.Text(closed.Error()), exchange.PeerService
		return nil
	case err != nil:
		over := broken(o, f.mask, v.Trace, err)
		o.Elapsed = v.Total
		return over
	case v.ErrorText == "":
		return nil
	}
	o.Peer, o.BrokeText = exchange.PeerTarget, f.mask.Text(v.ErrorText)
	o.Broke = netError(v.ErrorText)
	return nil
}

// readText fills an outcome from what the browser says of an error.
func (f *flight) readText(o *model.Outcome, text string) {
	r := f.d.ReadText(f.mask.Text(text))
	o.ServiceCode, o.ServiceText, o.ServiceClass, o.ServiceCause = r.Code, r.Text, r.Class, r.Cause
	o.Unanswered = r.Unanswered
}

// netError is what a reason of Chromium's network stack comes to.
func netError(text string) model.Breakage {
	for _, known := range []struct {
		part  string
		broke model.Breakage
	}{
		{"NAME_NOT_RESOLVED", model.BreakDNS},
		{"NAME_RESOLUTION", model.BreakDNS},
		{"CERT", model.BreakTLSTrust},
		{"SSL", model.BreakTLS},
		{"TIMED_OUT", model.BreakConnectTimeout},
		{"CONNECTION_REFUSED", model.BreakConnect},
		{"CONNECTION_FAILED", model.BreakConnect},
		{"UNREACHABLE", model.BreakConnect},
		{"INVALID", model.BreakMalformed},
		{"RESPONSE_HEADERS", model.BreakMalformed},
	} {
		if strings.Contains(text, known.part) {
			return known.broke
		}
	}
	return model.BreakReset
}

// keepShot keeps the screenshot, and gives the outcome the document that it shows.
func (f *flight) keepShot(t *try, v browse.Visit, now model.Attempt) {
	f.on(Event{Phase: PhaseReceiving, Attempt: now, Bytes: int64(len(v.PNG))})
	t.body = exchange.Receive(f.sink(), bytes.NewReader(v.PNG), nil)
	t.kind = typePNG
	o := &t.outcome
	html := f.mask.Text(v.HTML)
	o.ContentType, o.BodySize, o.BodyHead = v.PageType, int64(len(html)), []byte(html[:min(len(html), bodytext.MaxHead)])
	o.More = len(html) > bodytext.MaxHead
	if len(html) == 0 { // there is a picture all the same
		o.BodySize, o.BodyHead = t.body.Ref.Size, t.body.Head
	}
	if v.Unread != nil { // then no field is missing either
		t.body.Note("note", "the document was not read, only the picture: %s", f.mask.Text(v.Unread.Error()))
		return
	}
	if status := o.PageStatus(); len(f.r.Required) == 0 || status < 200 || status > 299 {
		return
	}
	t.page = []byte(html)
	found, err := fields.Find("text/html", t.page, f.r.Required)
	if err != nil {
		t.body.Note("note", "the required fields were not looked for: %v", err)
		return
	}
	t.fields, o.RequiredFields, o.MissingFields = found, f.r.Required, model.MissingFields(found)
}
