package exchange

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"os"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// handClock is a clock that a test sets.
type handClock struct{ t time.Time }

func (c *handClock) now() time.Time          { return c.t }
func (c *handClock) forward(d time.Duration) { c.t = c.t.Add(d) }

func TestATraceKnowsWhereTheTimeWent(t *testing.T) {
	clock := &handClock{time.Unix(1_000_000, 0)}
	tr := newTrace(clock.now)
	if tr.Sent() || tr.Timing() != NoTiming() {
		t.Errorf("at the beginning: sent %v, %+v", tr.Sent(), tr.Timing())
	}
	clock.forward(time.Hour) // waiting for a turn
	tr.restart()
	h := tr.hooks()
	h.DNSDone(httptrace.DNSDoneInfo{})
	clock.forward(1 * time.Millisecond)
	h.DNSStart(httptrace.DNSStartInfo{})
	clock.forward(2 * time.Millisecond)
	h.DNSStart(httptrace.DNSStartInfo{}) // for a second address: the first start counts
	clock.forward(3 * time.Millisecond)
	h.DNSDone(httptrace.DNSDoneInfo{})
	h.ConnectStart("tcp", "a")
	clock.forward(4 * time.Millisecond)
	h.ConnectDone("tcp", "a", io.EOF)
	clock.forward(5 * time.Millisecond)
	h.ConnectDone("tcp", "b", nil)
	tr.writing()
	clock.forward(6 * time.Millisecond)
	h.WroteRequest(httptrace.WroteRequestInfo{})
	clock.forward(7 * time.Millisecond)
	tr.head()
	clock.forward(8 * time.Millisecond)
	tr.Done()
	want := model.Timing{
		DNS: 5 * time.Millisecond, Connect: 9 * time.Millisecond, ProxyConnect: -1, TLS: -1,
		FirstByte: 7 * time.Millisecond, Transfer: 8 * time.Millisecond, Total: 36 * time.Millisecond,
	}
	if got := tr.Timing(); got != want || !tr.Sent() {
		t.Errorf("sent %v, got  %+v\nwant %+v", tr.Sent(), got, want)
	}
}

func TestReadingTheTrustedCertificatesIsNoPartOfAnExchange(t *testing.T) {
	clock := &handClock{time.Unix(1_000_000, 0)}
	tr := newTrace(clock.now)
	clock.forward(time.Hour)
	noerr.Must(t, noerr.From(tr.trusted("")))
	clock.forward(time.Millisecond)
	tr.Done()
	if got := tr.Timing().Total; got != time.Millisecond {
		t.Errorf("it took %v", got)
	}
}

func TestAnAnswerBeforeTheRequestWasWrittenIsTimedFromTheStart(t *testing.T) {
	clock := &handClock{time.Unix(1_000_000, 0)}
	tr := newTrace(clock.now)
	clock.forward(time.Second)
	tr.head()
	if got := tr.Timing().FirstByte; got != time.Second {
		t.Errorf("the first byte after %s", got)
	}
	tr = newTrace(clock.now)
	tr.notStarted()
	if got := tr.Timing(); got.Total != 0 || got.FirstByte != -1 || tr.Sent() {
		t.Errorf("what did not begin: %+v", got)
	}
}

func TestWhereAnExchangeBroke(t *testing.T) {
	dns := &net.DNSError{Err: "no such host", Name: "x.test"}
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	late := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	untrusted := x509.UnknownAuthorityError{}
	for name, c := range map[string]struct {
		phase func(*Trace) error
		err   error
		want  Error
	}{
		"no such name":   {func(tr *Trace) error { return tr.dialFault(dns, PeerTarget) }, dns, Error{Broke: model.BreakDNS, Peer: PeerTarget}},
		"refused":        {func(tr *Trace) error { return tr.dialFault(refused, PeerService) }, refused, Error{Broke: model.BreakConnect, Peer: PeerService}},
		"timed out":      {func(tr *Trace) error { return tr.dialFault(late, PeerService) }, late, Error{Broke: model.BreakConnectTimeout, Peer: PeerService}},
		"not trusted":    {func(tr *Trace) error { return tr.tlsFault(untrusted, PeerTarget) }, untrusted, Error{Broke: model.BreakTLSTrust, Peer: PeerTarget}},
		"no TLS":         {func(tr *Trace) error { return tr.tlsFault(io.EOF, PeerTarget) }, io.EOF, Error{Broke: model.BreakTLS, Peer: PeerTarget}},
		"an answer ends": {func(*Trace) error { return nil }, io.ErrUnexpectedEOF, Error{Broke: model.BreakReset, Peer: PeerService}},
	} {
		tr := newTrace(time.Now)
		if err := c.phase(tr); err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: the phase gives %v", name, err)
		}
		var got *Error
		if err := tr.broke(t.Context(), c.err, PeerService); !errors.As(err, &got) || got.Broke != c.want.Broke || got.Peer != c.want.Peer || got.Sent || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestACancelledCallIsNotThePeersFault(t *testing.T) {
	gone := errors.New("the caller left")
	for _, cause := range []error{gone, ErrTimeout} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		tr := newTrace(time.Now)
		tr.writing()
		err := tr.broke(ctx, io.EOF, PeerService)
		var at *Error
		if is := errors.As(err, &at); !errors.Is(err, cause) || is != errors.Is(cause, ErrTimeout) {
			t.Errorf("%v: %v", cause, err)
		}
		if at != nil && (at.Broke != model.BreakTimeout || !at.Sent) {
			t.Errorf("%v: %+v", cause, at)
		}
	}
}

func TestBreakageOfEachError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want model.Breakage
	}{
		{x509.UnknownAuthorityError{}, model.BreakTLSTrust},
		{fmt.Errorf("tls: %w", x509.HostnameError{Certificate: &x509.Certificate{}}), model.BreakTLSTrust},
		{x509.CertificateInvalidError{}, model.BreakTLSTrust},
		{io.EOF, model.BreakReset},
		{net.ErrClosed, model.BreakReset},
		{&net.OpError{Op: "read", Err: syscall.ETIMEDOUT}, model.BreakReset}, // the system gave the connection up
		{&net.OpError{Op: "read", Err: errors.New("malformed by chance")}, model.BreakReset},
		{errors.New("malformed HTTP response"), model.BreakMalformed},
		{errors.New("net/http: server response headers exceeded 1 bytes"), model.BreakMalformed},
		{errors.New("something else"), model.BreakReset},
	} {
		if got := Breakage(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}
