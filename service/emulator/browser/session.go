package browser

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"golang.org/x/sync/singleflight"
)

const (
	// maxClientMessage bounds one message of a client, in bytes.
	maxClientMessage = 32 << 20
	// clientWait bounds the writing of one message to a client.
	clientWait = 30 * time.Second
	// farewellWait bounds the writing of the last message.
	farewellWait = time.Second
	// maxLocal bounds the concurrent commands of a session that are answered here.
	maxLocal = 16
	// watchEvery is how often a session checks its limits.
	watchEvery = time.Second
)

// session is one CDP connection and its Chromium.
type session struct {
	b     *Browsers
	id    string
	grant Grant
	seat  *seat
	chrom *chromium
	drv   context.Context // chromedp's, on the driver's plane
	stop  func()

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	conn   net.Conn
	writes sync.Mutex // one message at a time to the client
	work   sync.WaitGroup
	local  chan struct{}
	last   atomic.Int64 // when something last happened, Unix ns

	veil    *veil
	solving singleflight.Group // the challenges being solved, by target

	mu    sync.Mutex
	rec   Session
	began time.Time
	ended time.Time
	sites map[string]bool
	// manual is whether challenges are solved on commands alone.
	manual bool
	// solutions are the outcomes of the challenges at the pages' current addresses.
	solutions map[target.ID]solution
}

// session starts a Chromium for a grant, with its proxy login and without downloads.
func (b *Browsers) session(ctx context.Context, grant Grant) (*session, error) {
	now := b.cfg.Now()
	s := &session{
		b: b, id: strings.ToLower(rand.Text()), grant: grant, local: make(chan struct{}, maxLocal),
		began: now, sites: map[string]bool{}, solutions: map[target.ID]solution{},
	}
	s.veil = newVeil(s)
	s.rec = Session{ID: s.id, Zone: grant.Zone, Status: statusRunning, Timestamp: now.UTC(), Captcha: "none"}
	// Only finish cancels it, after it has set the reason.
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.touch()
	var err error
	if s.chrom, err = b.launch(ctx); err != nil {
		s.cancel()
		return nil, err
	}
	s.seat = b.egress.open(grant.Dial, func(addr string, up, down int) {
		s.touch()
		if grant.Count != nil {
			grant.Count(addr, up, down)
		}
	})
	if s.drv, s.stop, err = drive(ctx, s.chrom.mux.driver); err == nil {
		err = s.prepareContext(ctx)
	}
	if err != nil {
		s.finish(&SessionError{"cdp_error", "the browser did not start"})
		s.end()
		return nil, err
	}
	b.register.add(s)
	return s, nil
}

func (s *session) touch() { s.last.Store(s.b.cfg.Now().UnixNano()) }

// serve relays between the client and Chromium until one of them ends or a limit is reached.
func (s *session) serve(conn net.Conn, r *bufio.Reader) {
	s.conn = conn
	s.spawn(s.downstream)
	s.spawn(s.watch)
	closed := make(chan struct{})
	context.AfterFunc(s.ctx, func() {
		defer close(closed)
		s.farewell()
		conn.Close()
		// Also ends a write to a Chromium that hangs.
		s.chrom.mux.close(errChromiumGone)
	})
	s.upstream(r)
	s.finish(nil)
	<-closed
}

// finish ends the session. The first reason counts; nil means that the client left.
func (s *session) finish(reason *SessionError) {
	s.mu.Lock()
	if s.ended.IsZero() {
		s.ended = s.b.cfg.Now()
		s.rec.Status = statusFinished
		if reason != nil {
			s.rec.Status, s.rec.Error = statusFailed, reason
		}
	}
	s.mu.Unlock()
	s.cancel()
}

// end stops Chromium and all work of the session, and waits for both.
func (s *session) end() {
	s.finish(nil)
	s.chrom.end()
	if s.stop != nil {
		s.stop()
	}
	s.work.Wait()
	s.seat.close()
	if s.grant.Done != nil {
		s.grant.Done(s.value())
	}
}

// spawn runs f in a goroutine of the session, unless the session is over.
func (s *session) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.IsZero() {
		s.work.Go(f)
	}
}

func (s *session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended.IsZero()
}

// value returns the session's current record.
func (s *session) value() Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.rec
	end := s.ended
	if end.IsZero() {
		end = s.b.cfg.Now()
	}
	v.Duration = max(0, end.Sub(s.began).Seconds())
	v.Bandwidth = s.seat.bytes.Load()
	return v
}

// watch ends the session at its limits, and when Chromium ends.
func (s *session) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if reason := s.limit(); reason != nil {
			s.finish(reason)
			return
		}
		select {
		case <-tick.C:
		case <-s.chrom.mux.ctx.Done():
			s.finish(&SessionError{"browser_disconnected", "the browser ended"})
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// limit returns the limit that the session has reached by the emulator's clock, or nil.
func (s *session) limit() *SessionError {
	now, l := s.b.cfg.Now(), s.b.cfg.Limits
	switch {
	case now.Sub(s.began) >= l.Session:
		return &SessionError{"session_timeout", "a session lasts at most " + l.Session.String()}
	case now.Sub(time.Unix(0, s.last.Load())) >= l.Inactivity:
		return &SessionError{"inactivity_timeout", "nothing happened for " + l.Inactivity.String()}
	}
	return nil
}

// farewell closes the WebSocket with the reason of the end.
func (s *session) farewell() {
	s.mu.Lock()
	reason := s.rec.Error
	s.mu.Unlock()
	code, text := ws.StatusNormalClosure, ""
	if reason != nil {
		code, text = ws.StatusPolicyViolation, reason.Error()
		if reason.Code == "browser_disconnected" {
			code = ws.StatusInternalServerError
		}
	}
	// Before the lock, to end a stuck write that holds it.
	if s.conn.SetWriteDeadline(time.Now().Add(farewellWait)) != nil {
		return
	}
	s.writes.Lock()
	defer s.writes.Unlock()
	// Fails if the client has left.
	_ = ws.WriteFrame(s.conn, ws.NewCloseFrame(ws.NewCloseFrameBody(code, text)))
}

func (s *session) write(op ws.OpCode, msg []byte) error {
	s.writes.Lock()
	defer s.writes.Unlock()
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(clientWait)); err != nil {
		return err
	}
	return ws.WriteFrame(s.conn, ws.NewFrame(op, true, msg))
}

// upstream reads the client's messages until the client leaves or violates the protocol.
func (s *session) upstream(r *bufio.Reader) {
	in := &wsutil.Reader{
		Source: r, State: ws.StateServerSide, CheckUTF8: true,
		MaxFrameSize: maxClientMessage, MaxMessageSize: maxClientMessage,
		OnIntermediate: s.control,
	}
	for {
		h, err := in.NextFrame()
		if err == nil && h.OpCode.IsControl() {
			if err = s.control(h, in); err == nil {
				continue
			}
		}
		var raw []byte
		if err == nil {
			raw, err = io.ReadAll(in)
		}
		switch {
		case errors.Is(err, wsutil.ErrFrameTooLarge), errors.Is(err, wsutil.ErrMessageTooLarge):
			s.finish(&SessionError{"cdp_error", "a message was longer than a session takes"})
			return
		case err != nil:
			return
		}
		s.touch()
		if err := s.command(raw); err != nil {
			return
		}
	}
}

// control answers the control frames of the WebSocket.
func (s *session) control(h ws.Header, r io.Reader) error {
	payload := make([]byte, h.Length) // at most 125 by the protocol, checked before
	if _, err := io.ReadFull(r, payload); err != nil {
		return err
	}
	switch h.OpCode {
	case ws.OpPing:
		return s.write(ws.OpPong, payload)
	case ws.OpClose:
		return io.EOF
	}
	return nil
}

// command answers one message, or passes it on.
func (s *session) command(raw []byte) error {
	c, err := readCommand(raw)
	if err != nil {
		if c.id == nil {
			s.finish(&SessionError{"cdp_error", "a message was no command: " + err.Error()})
			return err
		}
		return s.refuse(c, refuse(codeInvalid, "%v", err))
	}
	if c.session != "" && !s.chrom.mux.client.owns(c.session) {
		return s.refuse(c, refuse(codeNoSession, "Session with given id not found."))
	}
	if s.veil.locked(c.session) && c.method != "Runtime.runIfWaitingForDebugger" {
		return s.refuse(c, refuse(codeServer, "the browser's own pages are not available"))
	}
	if s.answersLocally(c) {
		return nil
	}
	c, failure := screen(c)
	if failure == nil {
		failure = s.navigates(c)
	}
	if failure != nil {
		return s.refuse(c, failure)
	}
	return s.chrom.mux.send(c.encode())
}

func (s *session) refuse(c command, reason *protocolError) error {
	return s.write(ws.OpText, c.reply(nil, reason))
}

// navigates records the domain of a command, and refuses one beyond the session's limit.
func (s *session) navigates(c command) *protocolError {
	if c.method != "Page.navigate" && c.method != "Target.createTarget" {
		return nil
	}
	var address string
	// addressed has encoded it as a string.
	_ = json.Unmarshal(c.object()["url"], &address)
	site := siteOf(address)
	if site == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sites[site] {
		if bound := s.b.cfg.Limits.Domains; bound > 0 && len(s.sites) >= bound {
			return refuse(codeServer, "navigate_domains_limit: a session navigates to one domain; start another for %s", site)
		}
		s.sites[site] = true
	}
	s.rec.TargetURL = cmp.Or(s.rec.TargetURL, address)
	return nil
}

func (s *session) downstream() {
	secret := []byte(s.seat.secret())
	masked := bytes.Repeat([]byte("*"), len(secret))
	for {
		raw, err := s.chrom.mux.client.receive(s.ctx)
		if err != nil {
			return // watch reports the reason
		}
		if s.veil.hides(raw) {
			continue
		}
		// Events of the network domain contain the login of the seat.
		if bytes.Contains(raw, secret) {
			raw = bytes.ReplaceAll(raw, secret, masked)
		}
		if err := s.write(ws.OpText, raw); err != nil {
			s.finish(&SessionError{"client_timeout", "the client did not read its messages"})
			return
		}
	}
}

// event sends the client an event that does not come from Chromium.
func (s *session) event(session, method string, params any) {
	raw, err := json.Marshal(struct {
		Method  string `json:"method"`
		Params  any    `json:"params"`
		Session string `json:"sessionId,omitempty"`
	}{method, params, session})
	if err == nil {
		// Fails only if the client has left.
		_ = s.write(ws.OpText, raw)
	}
}

const (
	// maxDetect bounds the wait for a challenge on a command of the client.
	maxDetect = time.Minute
	// defaultDetect is that wait if the client sets none.
	defaultDetect = 5 * time.Second
	// localWait bounds every command that is answered here.
	localWait = 2 * time.Minute
)

// prepareContext sets up the default browser context of a new Chromium, and follows its pages from
// now on.
func (s *session) prepareContext(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.stop)()
	if err := denyDownloads(s.drv, ""); err != nil {
		return err
	}
	all, err := chromedp.CallBrowser(s.drv, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return err
	}
	for _, info := range all.TargetInfos {
		if info.Type != "page" || privileged(info.URL) {
			continue
		}
		tab, leave := s.visit(s.drv, info.TargetID)
		err := s.seat.prime(tab)
		leave()
		if err != nil {
			return err
		}
		return s.follow()
	}
	return errNoPage
}

// visit attaches the driver to a page. leave detaches without closing the page.
func (s *session) visit(ctx context.Context, id target.ID) (tab context.Context, leave func()) {
	return chromedp.NewContext(ctx, chromedp.WithTargetID(id), chromedp.WithDetachOnCancel())
}

// answersLocally answers commands that Chromium does not have, and those that need several of
// its commands. It reports whether it answered the command.
func (s *session) answersLocally(c command) bool {
	var do func(context.Context, command) (any, *protocolError)
	switch c.method {
	case "Browser.close":
		// The browser ends with its session.
		_ = s.write(ws.OpText, c.reply(nil, nil))
		s.finish(nil)
		return true
	case "Browser.getSessionId":
		// In the goroutine that reads from the client, because it needs no wait.
		_ = s.write(ws.OpText, c.reply(map[string]string{"sessionId": s.id}, nil))
		return true
	case "Target.createBrowserContext":
		do = s.newContext
	case "Target.getTargets":
		do = s.targets
	case "Captcha.solve", "Captcha.Solve", "Captcha.waitForSolve":
		do = s.solveCaptcha
	case "Captcha.setAutoSolve":
		do = s.setAutoSolve
	default:
		return false
	}
	select {
	case s.local <- struct{}{}:
	default:
		_ = s.refuse(c, refuse(codeServer, "%s: too many commands of this kind at one time", c.method))
		return true
	}
	s.spawn(func() {
		defer func() { <-s.local }()
		ctx, cancel := context.WithTimeout(s.drv, localWait)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		result, failure := do(ctx, c)
		// Fails only if the client has left.
		_ = s.write(ws.OpText, c.reply(result, failure))
	})
	return true
}

// targets answers Target.getTargets, without hidden targets.
func (s *session) targets(ctx context.Context, c command) (any, *protocolError) {
	var all struct {
		TargetInfos []json.RawMessage `json:"targetInfos"`
	}
	params := c.params
	if params == nil {
		params = json.RawMessage("{}")
	}
	var failed *cdproto.Error
	err := chromedp.FromContext(ctx).Browser.Call(ctx, c.method, jsonv2.Value(params), &all)
	switch {
	case errors.As(err, &failed):
		return nil, refuse(int(failed.Code), "%s", failed.Message)
	case err != nil:
		return nil, refuse(codeServer, "%s: the browser is gone", c.method)
	}
	all.TargetInfos = slices.DeleteFunc(all.TargetInfos, s.veil.hidesInfo)
	return all, nil
}

// newContext makes a browser context with the session's proxy login. The client sees it once it
// is ready.
func (s *session) newContext(ctx context.Context, c command) (any, *protocolError) {
	if _, failure := screen(c); failure != nil {
		return nil, failure
	}
	made, err := chromedp.CallBrowser(ctx, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		return nil, refuse(codeServer, "the browser context was not made")
	}
	id := made.BrowserContextID
	s.veil.cover(string(id), true)
	defer s.veil.cover(string(id), false)
	if err := s.primeContext(ctx, id); err != nil {
		return nil, refuse(codeServer, "the browser context has no way out")
	}
	return map[string]any{"browserContextId": id}, nil
}

func (s *session) primeContext(ctx context.Context, id cdp.BrowserContextID) error {
	if err := denyDownloads(ctx, id); err != nil {
		return err
	}
	tab, done := chromedp.NewContext(ctx, chromedp.WithExistingBrowserContext(id))
	defer done()
	return s.seat.prime(tab)
}

// denyDownloads forbids downloads in a browser context; "" is the default one.
func denyDownloads(ctx context.Context, id cdp.BrowserContextID) error {
	_, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: id,
	})
	return err
}
