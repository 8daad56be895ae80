package browse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// Place is where the remote browser is, and the login for it.
type Place struct {
	Wire    *exchange.Wire
	Profile model.Profile
	Login   exchange.Login
	// Timer measures the steps.
	Timer func() time.Time
}

// The steps of a visit, as Visit.Phases names them.
const (
	stepConnect    = "connect"
	stepHandshake  = "CDP handshake"
	stepNavigate   = "navigate"
	stepScreenshot = "screenshot"
)

// Visit is what one visit to a page showed, as far as it got.
type Visit struct {
	// Refusal is the answer by which the browser was not opened, with the beginning of its
	// body; 0 when it was.
	Refusal     int
	Header      http.Header // of the answer that opened the browser, or refused it
	RefusalText []byte
	RefusalType string
	// Status and PageHeader are those of the page; ErrorText is the browser's reason why
	// there is none, such as net::ERR_NAME_NOT_RESOLVED. HTML is the document after it was
	// loaded, its beginning.
	Status     int
	PageHeader http.Header
	PageType   string
	ErrorText  string
	HTML       string
	PNG        []byte
	// Unread is why the document was not read though there is a picture, or nil.
	Unread error
	Phases []model.Phase
	Trace  *exchange.Trace // of the connection
	Total  time.Duration
}

// maxRefusal bounds the body of a refusal, maxHTML the document, in bytes.
const (
	maxRefusal = 64 << 10
	maxHTML    = 8 << 20
)

// readTime is how long the page's scripts may hold up the reading of the document.
const readTime = 10 * time.Second

// Page visits a page. The visit is as complete as it got. Errors: an *exchange.Error, a
// *pace.TooFastError, a *RefusedError for a command that the browser refused, a
// *ClosedError when it ended the session, or the context's cause.
func Page(ctx context.Context, p Place, url string) (Visit, error) {
	v := visit{timer: p.Timer, began: p.Timer()}
	v.last = v.began
	err := v.run(ctx, p, url)
	if err != nil && len(v.Phases) < len(steps) {
		v.step(steps[len(v.Phases)])
	}
	v.Total = v.last.Sub(v.began)
	return v.Visit, err
}

// steps are in their order.
var steps = []string{stepConnect, stepHandshake, stepNavigate, stepScreenshot}

// Steps are the commands that a visit sends, one a line as JSON, in their order: the
// identifiers that the browser gives are left out.
func Steps(url string) []string {
	var lines []string
	for _, c := range []command{
		{Method: "Target.createTarget", Params: blankPage},
		{Method: "Target.attachToTarget", Params: map[string]any{"flatten": true}},
		{Method: "Page.enable"},
		{Method: "Network.enable"},
		{Method: "Page.navigate", Params: to(url)},
		{Method: "Page.captureScreenshot", Params: asPNG},
		{Method: "Runtime.evaluate", Params: wholeDocument},
	} {
		c.ID = len(lines) + 1
		raw, _ := json.Marshal(c) // maps of texts always encode
		lines = append(lines, string(raw))
	}
	return lines
}

// The parameters of the commands.
var (
	blankPage     = map[string]any{"url": "about:blank"}
	asPNG         = map[string]any{"format": "png"}
	wholeDocument = map[string]any{
		"expression":    fmt.Sprintf("document.documentElement.outerHTML.slice(0, %d)", maxHTML),
		"returnByValue": true,
		"timeout":       readTime.Milliseconds(),
	}
)

func to(url string) map[string]any { return map[string]any{"url": url} }

// visit is one under way.
type visit struct {
	Visit
	timer       func() time.Time
	began, last time.Time

	s       *session
	frame   string // of the page
	loaded  bool
	looking bool // a new document ends it
}

// step notes that a step is over.
func (v *visit) step(name string) {
	now := v.timer()
	v.Phases = append(v.Phases, model.Phase{Name: name, Duration: now.Sub(v.last)})
	v.last = now
}

func (v *visit) run(ctx context.Context, p Place, url string) error {
	socket, resp, tr, err := p.Wire.Browser(ctx, p.Profile, p.Login)
	v.Trace = tr
	if resp != nil {
		v.Header = resp.Header
	}
	switch {
	case err != nil:
		return err
	case socket == nil:
		v.refused(resp)
		v.step(stepConnect)
		return nil
	}
	defer socket.Close()
	v.step(stepConnect)
	v.s = newSession(socket)
	v.s.on = v.event
	if err := v.attach(ctx); err != nil {
		return err
	}
	v.step(stepHandshake)
	if err := v.navigate(ctx, url); err != nil {
		return err
	}
	v.step(stepNavigate)
	if v.ErrorText != "" {
		return nil
	}
	if err := v.look(ctx); err != nil {
		return err
	}
	v.step(stepScreenshot)
	tr.Done()
	return nil
}

func (v *visit) refused(resp *http.Response) {
	defer resp.Body.Close()
	v.Refusal, v.RefusalType = resp.StatusCode, resp.Header.Get("Content-Type")
	v.RefusalText = make([]byte, 0, 512)
	buf := make([]byte, 4<<10)
	for len(v.RefusalText) < maxRefusal {
		n, err := resp.Body.Read(buf)
		v.RefusalText = append(v.RefusalText, buf[:n]...)
		if err != nil {
			return // a part of the reason is enough
		}
	}
}

// attach opens a page and gets its events.
func (v *visit) attach(ctx context.Context) error {
	var created struct {
		TargetID string `json:"targetId"`
	}
	if err := v.s.call(ctx, "Target.createTarget", blankPage, &created); err != nil {
		return err
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	if err := v.s.call(ctx, "Target.attachToTarget", map[string]any{"targetId": created.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	v.s.target = attached.SessionID
	for _, domain := range []string{"Page.enable", "Network.enable"} {
		if err := v.s.call(ctx, domain, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// navigate loads the page, until its load event.
func (v *visit) navigate(ctx context.Context, url string) error {
	v.loaded = false // of about:blank
	var answer struct {
		FrameID   string `json:"frameId"`
		ErrorText string `json:"errorText"`
	}
	if err := v.s.call(ctx, "Page.navigate", to(url), &answer); err != nil {
		return err
	}
	v.frame = answer.FrameID
	if v.ErrorText = model.Line(answer.ErrorText, 200); v.ErrorText != "" {
		return nil
	}
	return v.load(ctx)
}

// load waits for the page's load event.
func (v *visit) load(ctx context.Context) error {
	for !v.loaded {
		if _, err := v.s.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// event follows what happens to the page.
func (v *visit) event(method string, params json.RawMessage) error {
	switch method {
	case "Page.frameNavigated":
		return v.navigated(params)
	case "Page.loadEventFired":
		v.loaded = true
	case "Page.javascriptDialogOpening": // it would hold the page
		return v.s.post("Page.handleJavaScriptDialog", map[string]any{"accept": false})
	case "Network.responseReceived":
		v.response(params)
	}
	return nil
}

// errMoved says that another document took the page's place while it was looked at.
var errMoved = errors.New("the page went on to another document")

// navigated is told of each document that takes the place of another.
func (v *visit) navigated(params json.RawMessage) error {
	var e struct {
		Frame struct {
			Parent string `json:"parentId"`
		} `json:"frame"`
	}
	if json.Unmarshal(params, &e) == nil && e.Frame.Parent == "" {
		v.loaded = false
		if v.looking {
			return errMoved
		}
	}
	return nil
}

// response takes the answer to the page itself; of redirects it is the last.
func (v *visit) response(params json.RawMessage) {
	var e struct {
		Type     string `json:"type"`
		FrameID  string `json:"frameId"`
		Response struct {
			Status   int               `json:"status"`
			MimeType string            `json:"mimeType"`
			Headers  map[string]string `json:"headers"`
		} `json:"response"`
	}
	if json.Unmarshal(params, &e) != nil || e.Type != "Document" || v.frame != "" && e.FrameID != v.frame {
		return
	}
	if v.frame == "" && v.Status != 0 { // a frame within, before navigate was answered
		return
	}
	v.Status, v.PageType, v.PageHeader = e.Response.Status, e.Response.MimeType, http.Header{}
	for name, value := range e.Response.Headers {
		for one := range strings.SplitSeq(value, "\n") { // lines of one name come joined
			v.PageHeader.Add(name, one)
		}
	}
}

// looks is how often a page that goes on to another document is looked at.
const looks = 5

// look takes the screenshot and the document of one and the same page. A page that goes on by itself, as when its
// challenge is solved, is looked at again: a picture that was asked for meanwhile may never come.
func (v *visit) look(ctx context.Context) error {
	for range looks - 1 {
		v.looking = true
		err := v.take(ctx)
		v.looking = false
		if !errors.Is(err, errMoved) {
			return err
		}
		if err := v.load(ctx); err != nil {
			return err
		}
	}
	return v.take(ctx)
}

// take takes the screenshot and the document.
func (v *visit) take(ctx context.Context) error {
	var shot struct {
		Data []byte `json:"data"`
	}
	if err := v.s.call(ctx, "Page.captureScreenshot", asPNG, &shot); err != nil {
		return err
	}
	v.PNG = shot.Data
	var document struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
		Thrown *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	err := v.s.call(ctx, "Runtime.evaluate", wholeDocument, &document)
	if err == nil && document.Thrown != nil {
		err = fmt.Errorf("a script of the page keeps it from being read: %s", model.Line(document.Thrown.Text, 100))
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errMoved) { // the picture is what was asked for
		v.Unread = err
		return nil
	}
	v.HTML = model.Cut(document.Result.Value, maxHTML)
	return err
}
