package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"zonedeck/model"
)

// The peers that an exchange can break at, as model.Outcome.Peer spells them.
const (
	PeerService = "service"
	PeerTarget  = "target"
)

// Error says where an exchange broke. Its text holds no secret.
type Error struct {
	Broke model.Breakage
	Peer  string
	// Sent says that bytes of the request may have reached the peer.
	Sent bool
	// Status is the answer's HTTP status, 0 if none had begun. Received is how much of its body arrived, in bytes.
	Status   int
	Received int64
	Err      error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Trace follows one exchange: where its time went, whether any byte of the
// request was handed to the network, and where it broke. A lock guards it, because
// net/http dials on another goroutine.
type Trace struct {
	now func() time.Time

	mu    sync.Mutex
	start time.Time
	mark  map[string]time.Time
	t     model.Timing
	sent  bool
	wrote time.Time // the last byte of the request was handed over
	first time.Time // the answer's head was read
	phase error     // *Error of a dial phase
	chain []*x509.Certificate
	tls   model.Chain         // the verdict on the chain
	file  []*x509.Certificate // the authorities in the profile's file
	// connected says that the request has its connection: a dial that it no longer waits for tells nothing of it.
	connected bool
	reused    bool // that connection was made for another request
	reached   bool // bytes of the request were written to it
	resent    int
}

func newTrace(now func() time.Time) *Trace {
	tr := &Trace{now: now, mark: map[string]time.Time{}, t: NoTiming()}
	tr.start = now()
	return tr
}

// NoTiming is a timing in which no phase happened.
func NoTiming() model.Timing {
	return model.Timing{DNS: -1, Connect: -1, ProxyConnect: -1, TLS: -1, FirstByte: -1, Transfer: -1, Total: -1}
}

// restart starts the timing again, after waiting for a turn or reading certificates.
func (tr *Trace) restart() { tr.connecting(func() { tr.start = tr.now() }) }

// connecting notes something of the way to a connection, unless the request has one.
func (tr *Trace) connecting(note func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if !tr.connected {
		note()
	}
}

// seek notes that net/http looks for a connection: the first one, or another after one that died.
func (tr *Trace) seek(string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.reached {
		tr.resent++
	}
	tr.connected, tr.reached, tr.phase = false, false, nil
	clear(tr.mark)
}

// connect notes the connection of the request. Of one that was made for another request, the times are not the trace's.
func (tr *Trace) connect(info httptrace.GotConnInfo) {
	c, ok := info.Conn.(*countedConn)
	if !ok {
		return
	}
	made := c.trace.Swap(tr)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.reused = made != tr; tr.reused {
		tr.t.DNS, tr.t.Connect, tr.t.TLS = -1, -1, -1
	}
	tr.connected, tr.chain, tr.tls = true, c.chain, c.tls
}

// untried reports whether the request had a kept connection, to which not one byte was written.
func (tr *Trace) untried() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.connected && tr.reused && !tr.sent
}

// Resent is how often net/http itself sent the request again, because a kept connection had died after bytes of the
// request were written to it.
func (tr *Trace) Resent() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.resent
}

// notStarted notes that the exchange did not begin.
func (tr *Trace) notStarted() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.t.Total = 0
}

// Sent reports whether bytes of the request may have reached the peer. False is
// certain: not one byte was written.
func (tr *Trace) Sent() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.sent
}

// Timing gives the times so far.
func (tr *Trace) Timing() model.Timing {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.t
}

func (tr *Trace) begin(name string) {
	tr.connecting(func() {
		if _, ok := tr.mark[name]; !ok {
			tr.mark[name] = tr.now()
		}
	})
}

func (tr *Trace) end(name string, d *time.Duration) {
	tr.connecting(func() {
		if at, ok := tr.mark[name]; ok {
			*d = tr.now().Sub(at)
		}
	})
}

func (tr *Trace) writing() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.sent = true
}

func (tr *Trace) arrived() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.reached = true
}

func (tr *Trace) written() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.wrote = tr.now()
}

// head notes that the answer's head has been read, which ends the wait.
func (tr *Trace) head() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.first = tr.now()
	from := tr.wrote
	if from.IsZero() || from.After(tr.first) {
		from = tr.start
	}
	tr.t.FirstByte = tr.first.Sub(from)
}

// Done notes that the exchange is over: the body was read, or it broke.
func (tr *Trace) Done() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	end := tr.now()
	if !tr.first.IsZero() {
		tr.t.Transfer = end.Sub(tr.first)
	}
	tr.t.Total = end.Sub(tr.start)
}

// hooks are the callbacks of net and net/http that feed the trace.
func (tr *Trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { tr.begin("dns") },
		DNSDone:      func(httptrace.DNSDoneInfo) { tr.end("dns", &tr.t.DNS) },
		ConnectStart: func(string, string) { tr.begin("connect") },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				tr.end("connect", &tr.t.Connect)
			}
		},
		GetConn: tr.seek, GotConn: tr.connect,
		WroteRequest: func(httptrace.WroteRequestInfo) { tr.written() },
	}
}

// fault records the phase of a dial that failed, and wraps its error.
func (tr *Trace) fault(b model.Breakage, peer string, err error) error {
	e := &Error{Broke: b, Peer: peer, Err: err}
	tr.connecting(func() { tr.phase = e })
	return e
}

// broke turns the error of an exchange into an Error that says where it
// broke. A caller's cancellation is returned unchanged.
func (tr *Trace) broke(ctx context.Context, err error, peer string) error {
	tr.Done()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ErrTimeout) {
		return cause
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	e := &Error{Peer: peer, Sent: tr.sent, Err: err}
	var at *Error
	if errors.As(tr.phase, &at) {
		e.Peer, e.Broke = at.Peer, at.Broke
	}
	switch {
	case ctx.Err() != nil:
		e.Broke, e.Err = model.BreakTimeout, ErrTimeout
	case e.Broke == model.BreakNone:
		e.Broke = Breakage(err)
	}
	return e
}

// ErrTimeout is the cause of a context whose attempt reached its own deadline.
var ErrTimeout = errors.New("the client's own deadline passed")

// Breakage classifies an error of an exchange after the connection was made.
func Breakage(err error) model.Breakage {
	var op *net.OpError
	switch {
	case untrusted(err):
		return model.BreakTLSTrust
	case errors.As(err, &op), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return model.BreakReset
	}
	// net/http has no error types for answers that it cannot parse.
	for _, word := range []string{"malformed", "invalid header", "headers exceeded", "bad Content-Length", "unsupported transfer encoding", "too many"} {
		if strings.Contains(err.Error(), word) {
			return model.BreakMalformed
		}
	}
	return model.BreakReset
}

// untrusted reports whether err is about an untrusted certificate, and not another fault
// of TLS.
func untrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &verify)
}

// dialFault classifies an error of connecting. A connection can time out before any
// deadline of ours: the system has its own, and each of several addresses gets only a
// part of the time.
func (tr *Trace) dialFault(err error, peer string) error {
	var dns *net.DNSError
	var late net.Error
	switch {
	case errors.As(err, &dns):
		return tr.fault(model.BreakDNS, peer, err)
	case errors.As(err, &late) && late.Timeout():
		return tr.fault(model.BreakConnectTimeout, peer, err)
	default:
		return tr.fault(model.BreakConnect, peer, err)
	}
}

// tlsFault classifies an error of a TLS handshake.
func (tr *Trace) tlsFault(err error, peer string) error {
	if untrusted(err) {
		return tr.fault(model.BreakTLSTrust, peer, err)
	}
	return tr.fault(model.BreakTLS, peer, fmt.Errorf("TLS handshake: %w", err))
}
