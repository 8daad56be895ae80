package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/tidwall/gjson"
)

const (
	// maxBrowserMessage bounds one message of Chromium, in bytes: a screenshot of a
	// long page, in base64.
	maxBrowserMessage = 128 << 20
	// planeDepth bounds the messages that wait for the reader of a plane, because each may
	// have maxBrowserMessage bytes.
	planeDepth = 1
)

// mux shares the pipe of a Chromium between two planes: the client's, which is the root of the
// protocol, and the driver's (chromedp), which is a session with the browser target. A message
// belongs to the plane that attached its session.
type mux struct {
	rw io.ReadWriteCloser

	write sync.Mutex // one message at a time

	mu       sync.Mutex
	sessions map[string]*plane

	client, driver *plane
	// ctx ends with the pipe; its cause is the reason.
	ctx   context.Context
	cause context.CancelCauseFunc
}

// plane is one of the two message streams of a mux.
type plane struct {
	mux *mux
	// session replaces an empty session on this plane: "" on the client's plane.
	session string
	in      chan []byte
	// dropped is closed once the plane has no reader.
	dropped chan struct{}
	once    sync.Once
}

// envelope is the part of a message that decides its plane.
type envelope struct {
	id       int64
	method   string
	session  string
	attached string // the session that an attachedToTarget or detachedFromTarget names
}

func newMux(rw io.ReadWriteCloser) *mux {
	m := &mux{rw: rw, sessions: map[string]*plane{}}
	m.ctx, m.cause = context.WithCancelCause(context.Background())
	m.client = m.plane("")
	go m.read()
	return m
}

func (m *mux) plane(session string) *plane {
	return &plane{mux: m, session: session, in: make(chan []byte, planeDepth), dropped: make(chan struct{})}
}

// drop discards further messages of the plane, which has no reader from now on.
func (p *plane) drop() { p.once.Do(func() { close(p.dropped) }) }

// open attaches the driver's plane. The client does not see it.
func (m *mux) open(ctx context.Context) error {
	const id = 1
	if err := m.send([]byte(`{"id":1,"method":"Target.attachToBrowserTarget"}`)); err != nil {
		return err
	}
	for {
		raw, err := m.client.receive(ctx)
		if err != nil {
			return err
		}
		if gjson.GetBytes(raw, "id").Int() != id {
			continue
		}
		session := gjson.GetBytes(raw, "result.sessionId").String()
		if session == "" {
			return fmt.Errorf("attaching to the browser: %s", gjson.GetBytes(raw, "error.message"))
		}
		m.mu.Lock()
		m.driver = m.plane(session)
		m.sessions[session] = m.driver
		m.mu.Unlock()
		return nil
	}
}

// close closes the pipe, which ends Chromium and all readers. The first reason counts.
func (m *mux) close(reason error) {
	m.cause(reason)
	m.rw.Close()
}

func (m *mux) send(msg []byte) error {
	m.write.Lock()
	defer m.write.Unlock()
	framed := make([]byte, 0, len(msg)+1)
	if _, err := m.rw.Write(append(append(framed, msg...), 0)); err != nil {
		m.close(errChromiumGone)
		return fmt.Errorf("%w: %w", errChromiumGone, err)
	}
	return nil
}

// read passes each message to its plane, until the pipe ends.
func (m *mux) read() {
	r := bufio.NewReaderSize(m.rw, 64<<10)
	for {
		raw, err := readMessage(r, maxBrowserMessage)
		if err != nil {
			m.close(fmt.Errorf("%w: %w", errChromiumGone, err))
			return
		}
		if len(raw) == 0 {
			continue
		}
		p := m.route(raw)
		if p == nil {
			continue
		}
		select {
		case p.in <- raw:
		case <-p.dropped:
		case <-m.ctx.Done():
			return
		}
	}
}

// route finds the plane of a message, and tracks the sessions that it opens or ends.
func (m *mux) route(raw []byte) *plane {
	e := readEnvelope(raw)
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.client
	if e.session != "" {
		p = m.sessions[e.session]
	}
	if p == nil || e.attached == "" {
		return p
	}
	switch e.method {
	case "Target.attachedToTarget":
		if m.driver != nil { // the driver's plane does not belong to the client
			m.sessions[e.attached] = p
		}
	case "Target.detachedFromTarget":
		delete(m.sessions, e.attached)
	}
	return p
}

// owns reports whether this plane attached a session.
func (p *plane) owns(session string) bool {
	p.mux.mu.Lock()
	defer p.mux.mu.Unlock()
	return p.mux.sessions[session] == p && session != p.session
}

func readEnvelope(raw []byte) envelope {
	f := gjson.GetManyBytes(raw, "id", "method", "sessionId")
	e := envelope{id: f[0].Int(), method: f[1].String(), session: f[2].String()}
	if e.method == "Target.attachedToTarget" || e.method == "Target.detachedFromTarget" {
		e.attached = gjson.GetBytes(raw, "params.sessionId").String()
	}
	return e
}

// receive returns the plane's next message.
func (p *plane) receive(ctx context.Context) ([]byte, error) {
	select {
	case raw := <-p.in:
		return raw, nil
	default:
	}
	select {
	case raw := <-p.in:
		return raw, nil
	case <-p.mux.ctx.Done():
		return nil, context.Cause(p.mux.ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errMessageSize = errors.New("the message is too long")

// readMessage reads up to the zero byte that ends a message.
func readMessage(r *bufio.Reader, bound int) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice(0)
		if len(whole)+len(part) > bound {
			return nil, errMessageSize
		}
		whole = append(whole, part...)
		switch {
		case err == nil:
			return bytes.TrimSpace(whole[:len(whole)-1]), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func quoted(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		panic(err)
	}
	return raw
}

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
