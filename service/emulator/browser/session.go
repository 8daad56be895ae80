package browser

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

const (
	// maxClientMessage bounds one message of a client, in bytes.
	maxClientMessage = 32 << 20
	// clientWait bounds the writing of one message to a client.
	clientWait = 30 * time.Second
	// farewellWait bounds the last one.
	farewellWait = time.Second
	// maxLocal bounds the commands of a session that are answered here, at one time.
	maxLocal = 16
	// watchEvery is how often a session's limits are looked at.
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

	veil veil
	auto auto

	mu    sync.Mutex
	rec   Session
	began time.Time
	ended time.Time
	sites map[string]bool
}

// session starts a Chromium for a grant, with its way out and without downloads.
func (b *Browsers) session(ctx context.Context, grant Grant) (*session, error) {
	now := b.cfg.Now()
	s := &session{
		b: b, id: strings.ToLower(rand.Text()), grant: grant, local: make(chan struct{}, maxLocal),
		began: now, sites: map[string]bool{},
	}
	s.rec = Session{ID: s.id, Zone: grant.Zone, Status: StatusRunning, Timestamp: now.UTC(), Captcha: "none"}
	// Only finish ends it: the reason has to stand before.
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.touch()
	var err error
	if s.chrom, err = b.launch(ctx); err != nil {
		s.cancel()
		return nil, err
	}
	s.seat = b.egress.sit(grant.Dial, func(addr string, up, down int) {
		s.touch()
		if grant.Count != nil {
			grant.Count(addr, up, down)
		}
	})
	s.veil.begin(s)
	if s.drv, s.stop, err = drive(ctx, s.chrom.mux.driver); err == nil {
		err = s.furnish(ctx)
	}
	if err != nil {
		s.finish(&SessionError{"cdp_error", "the browser did not start"})
		s.end()
		return nil, err
	}
	b.known.add(s)
	return s, nil
}

func (s *session) touch() { s.last.Store(s.b.cfg.Now().UnixNano()) }

// serve relays between the client and Chromium until either leaves or a limit is
// reached.
func (s *session) serve(conn net.Conn, r *bufio.Reader) {
	s.conn = conn
	s.spawn(s.downstream)
	s.spawn(s.watch)
	closed := make(chan struct{})
	context.AfterFunc(s.ctx, func() {
		defer close(closed)
		s.farewell()
		conn.Close()
		// Also for a command that a browser which hangs does not take.
		s.chrom.mux.close(errChromiumGone)
	})
	s.upstream(r)
	s.finish(nil)
	<-closed
}

// finish ends the session; the first reason counts. nil is the client's wish.
func (s *session) finish(why *SessionError) {
	s.mu.Lock()
	if s.ended.IsZero() {
		s.ended = s.b.cfg.Now()
		s.rec.Status = StatusFinished
		if why != nil {
			s.rec.Status, s.rec.Error = StatusFailed, why
		}
	}
	s.mu.Unlock()
	s.cancel()
}

// end stops Chromium and everything that belongs to the session, and waits for it.
func (s *session) end() {
	s.finish(nil)
	s.chrom.end()
	if s.stop != nil {
		s.stop()
	}
	s.work.Wait()
	s.seat.leave()
	if s.grant.Done != nil {
		s.grant.Done(s.value())
	}
}

// spawn runs f in the session's name, unless the session is over.
func (s *session) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.IsZero() {
		s.work.Go(f)
	}
}

func (s *session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended.IsZero()
}

// value is the session's record as it stands.
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

// watch ends the session at its limits and when Chromium is gone.
func (s *session) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if why := s.limit(); why != nil {
			s.finish(why)
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

// limit is the limit that the session has reached by the emulator's clock, if any.
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

// farewell tells the client why the session is over.
func (s *session) farewell() {
	s.mu.Lock()
	why := s.rec.Error
	s.mu.Unlock()
	code, text := ws.StatusNormalClosure, ""
	if why != nil {
		code, text = ws.StatusPolicyViolation, why.Error()
		if why.Code == "browser_disconnected" {
			code = ws.StatusInternalServerError
		}
	}
	// Also for a writer that is stuck and holds the lock.
	if s.conn.SetWriteDeadline(time.Now().Add(farewellWait)) != nil {
		return
	}
	s.writes.Lock()
	defer s.writes.Unlock()
	// A client that has left does not read it.
	_ = ws.WriteFrame(s.conn, ws.NewCloseFrame(ws.NewCloseFrameBody(code, text)))
}

// write sends one message to the client.
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

// upstream reads the client's messages until it leaves or breaks the rules.
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

func (s *session) refuse(c command, why *protocolError) error {
	return s.write(ws.OpText, c.reply(nil, why))
}

// navigates counts a command's domain, and refuses one more than the session has.
func (s *session) navigates(c command) *protocolError {
	if c.method != "Page.navigate" && c.method != "Target.createTarget" {
		return nil
	}
	var address string
	// withURL has put it there as a string.
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
	if s.rec.TargetURL == "" {
		s.rec.TargetURL = address
	}
	return nil
}

// downstream passes Chromium's messages on.
func (s *session) downstream() {
	secret := []byte(s.seat.secret())
	masked := bytes.Repeat([]byte("*"), len(secret))
	for {
		raw, err := s.chrom.mux.client.receive(s.ctx)
		if err != nil {
			return // watch knows why
		}
		if s.veil.hides(raw) {
			continue
		}
		// The login of the way out stands in what the network domain tells of requests.
		if bytes.Contains(raw, secret) {
			raw = bytes.ReplaceAll(raw, secret, masked)
		}
		if err := s.write(ws.OpText, raw); err != nil {
			s.finish(&SessionError{"client_timeout", "the client did not read its messages"})
			return
		}
	}
}

// event tells the client something that Chromium does not know of.
func (s *session) event(session, method string, params any) {
	raw, err := json.Marshal(struct {
		Method  string `json:"method"`
		Params  any    `json:"params"`
		Session string `json:"sessionId,omitempty"`
	}{method, params, session})
	if err == nil {
		// A client that is gone misses nothing.
		_ = s.write(ws.OpText, raw)
	}
}
