package browse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// maxMessage bounds one message of the browser, in bytes: a screenshot in base64.
const maxMessage = 64 << 20

// RefusedError is the browser's refusal of a command.
type RefusedError struct{ Method, Text string }

func (e *RefusedError) Error() string { return e.Method + ": " + e.Text }

// ClosedError says that the other side ended the session.
type ClosedError struct{ Text string }

func (e *ClosedError) Error() string { return "the remote browser ended the session: " + e.Text }

// session is one conversation over a socket. Commands are sent one at a time; events that
// come meanwhile go to on.
type session struct {
	socket *exchange.Socket
	in     *wsutil.Reader
	ctrl   wsutil.FrameHandlerFunc
	n      int
	target string // the session that commands go to, "" for the browser
	on     func(method string, params json.RawMessage) error
}

func newSession(s *exchange.Socket) *session {
	ctrl := wsutil.ControlFrameHandler(s, ws.StateClientSide)
	return &session{socket: s, ctrl: ctrl, in: &wsutil.Reader{Source: s, State: ws.StateClientSide, MaxFrameSize: maxMessage, OnIntermediate: ctrl}}
}

// command is a message to the browser.
type command struct {
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
	Session string `json:"sessionId,omitempty"`
}

// message is one of the browser's: an answer to a command, or an event.
type message struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Session string          `json:"sessionId"`
	Error   *struct {
		Message string `json:"message"`
		Data    string `json:"data"`
	} `json:"error"`
}

// post sends a command without waiting for its answer.
func (s *session) post(method string, params any) error {
	s.n++
	raw, err := json.Marshal(command{s.n, method, params, s.target})
	if err == nil {
		err = wsutil.WriteClientText(s.socket, raw)
	}
	return err
}

// call sends a command and reads its answer into result, which may be nil.
func (s *session) call(ctx context.Context, method string, params, result any) error {
	if err := s.post(method, params); err != nil {
		return s.broken(ctx, err)
	}
	id := s.n
	for {
		m, err := s.next(ctx)
		switch {
		case err != nil:
			return err
		case m.ID != id:
			continue
		case m.Error != nil:
			text := m.Error.Message
			if m.Error.Data != "" {
				text += ": " + m.Error.Data
			}
			return &RefusedError{Method: method, Text: model.Line(text, 500)}
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return &exchange.Error{Broke: model.BreakMalformed, Peer: exchange.PeerService, Sent: true, Err: fmt.Errorf("%s: the answer cannot be read", method)}
		}
		return nil
	}
}

// next reads one message, and hands on what is an event.
func (s *session) next(ctx context.Context) (message, error) {
	raw, err := s.read()
	if err != nil {
		return message{}, s.broken(ctx, err)
	}
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return m, &exchange.Error{Broke: model.BreakMalformed, Peer: exchange.PeerService, Sent: true, Err: errors.New("a message is not JSON")}
	}
	if m.Method != "" && m.Session == s.target && s.on != nil {
		if err := s.on(m.Method, m.Params); err != nil {
			return m, s.broken(ctx, err)
		}
	}
	return m, nil
}

var errLong = fmt.Errorf("a message is larger than %d bytes", maxMessage)

func (s *session) read() ([]byte, error) {
	for {
		head, err := s.in.NextFrame()
		if err != nil {
			return nil, err
		}
		if head.OpCode.IsControl() {
			if err := s.ctrl(head, s.in); err != nil {
				return nil, err
			}
			continue
		}
		raw, err := io.ReadAll(io.LimitReader(s.in, maxMessage+1))
		switch {
		case err != nil:
			return nil, err
		case len(raw) > maxMessage:
			return nil, errLong
		default:
			return raw, nil
		}
	}
}

// broken is the error of a session that ended: the caller's, the clock's, or the other
// side's.
func (s *session) broken(ctx context.Context, err error) error {
	var closed wsutil.ClosedError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, exchange.ErrTimeout):
		return &exchange.Error{Broke: model.BreakTimeout, Peer: exchange.PeerService, Sent: true, Err: exchange.ErrTimeout}
	case cause != nil:
		return cause
	case errors.As(err, &closed):
		return &ClosedError{Text: model.Line(closed.Reason, 200)}
	case errors.Is(err, errLong), errors.Is(err, wsutil.ErrFrameTooLarge), errors.Is(err, ws.ErrProtocolMaskUnexpected):
		return &exchange.Error{Broke: model.BreakMalformed, Peer: exchange.PeerService, Sent: true, Err: err}
	default:
		return &exchange.Error{Broke: exchange.Breakage(err), Peer: exchange.PeerService, Sent: true, Err: fmt.Errorf("the remote browser's connection: %w", err)}
	}
}
