package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/bodytext"
)

// RelayBytes bounds an answer that a library reads. farewellFor bounds the DELETE that ends
// a conversation.
const (
	RelayBytes  = 32 << 20
	farewellFor = time.Second
)

// Relay sends the requests of a library that speaks a protocol over HTTP. Each is one
// exchange within the limits, with the key, and with secrets masked in its answer. A Relay
// belongs to one conversation; its requests end with the context given to NewRelay.
type Relay struct {
	wire  *Wire
	p     model.Profile
	key   keystore.Secret
	name  string // of the key
	param string
	mask  Mask
	ctx   context.Context

	mu        sync.Mutex
	exchanges []*Relayed
}

// NewRelay makes a Relay. The key goes into the query parameter param or, if that is "",
// into Authorization as Bearer (service.md 5.1). mask masks it.
func (w *Wire) NewRelay(ctx context.Context, p model.Profile, keyName string, key keystore.Secret, param string, mask Mask) *Relay {
	return &Relay{wire: w, p: p, key: key, name: keyName, param: param, mask: mask, ctx: ctx}
}

// Relayed is one exchange of a Relay.
type Relayed struct {
	Method string
	Status int // 0 without an answer
	Header http.Header
	Trace  *Trace
	// Err is why there was no answer, or nil.
	Err error

	mu   sync.Mutex
	head []byte
}

// Head is the beginning of the answer's body, as far as it has been read.
func (x *Relayed) Head() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return bytes.Clone(x.head)
}

// Exchanges returns copies of the exchanges so far, in order. The library may still have
// one under way.
func (r *Relay) Exchanges() []*Relayed {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Relayed, len(r.exchanges))
	for i, x := range r.exchanges {
		out[i] = &Relayed{Method: x.Method, Status: x.Status, Header: x.Header, Trace: x.Trace, Err: x.Err, head: x.Head()}
	}
	return out
}

// Client is an HTTP client that sends through the relay and follows no redirect.
func (r *Relay) Client() *http.Client {
	return &http.Client{Transport: r, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// RoundTrip is one exchange. Its error is an *Error, a *pace.TooFastError or a context's cause.
func (r *Relay) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &Relayed{Method: req.Method, Trace: newTrace(r.wire.timer)}
	r.mu.Lock()
	r.exchanges = append(r.exchanges, x)
	r.mu.Unlock()
	resp, err := r.send(req, x)
	if err != nil {
		x.Trace.notStarted()
		r.mu.Lock()
		defer r.mu.Unlock()
		x.Err = err
		return nil, err
	}
	return resp, nil
}

func (r *Relay) send(req *http.Request, x *Relayed) (*http.Response, error) {
	ctx, cancel := r.bound(req)
	resp, err := r.exchange(ctx, req, x)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &relayedBody{Reader: io.LimitReader(r.mask.Reader(bodytext.Reader(resp.Body, resp.Header)), RelayBytes), Closer: resp.Body, x: x, cancel: cancel}
	resp.Body = body
	if resp.StatusCode >= http.StatusBadRequest { // the reason is wanted even if the library does not read it
		reason, _ := io.ReadAll(io.LimitReader(body, refusalBytes)) // a part of it is enough
		resp.Body = io.NopCloser(bytes.NewReader(reason))
		_ = body.Close() // the answer was read
		return resp, nil
	}
	return resp, nil
}

// bound is the request's context, which also ends with the conversation's.
func (r *Relay) bound(req *http.Request) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	end := func(cause error) { stop(); cancel(cause) }
	if req.Method != http.MethodDelete {
		return ctx, end
	}
	ctx, done := context.WithTimeoutCause(ctx, farewellFor, ErrTimeout)
	return ctx, func(cause error) { done(); end(cause) }
}

func (r *Relay) exchange(ctx context.Context, req *http.Request, x *Relayed) (*http.Response, error) {
	if !r.p.Local {
		if err := r.wire.gates.rate(r.p, r.name).Wait(ctx); err != nil {
			return nil, waitError(ctx, err)
		}
	}
	end, err := r.wire.refusals.Enter(ctx, r.p.AgentURL)
	if err != nil {
		return nil, err
	}
	out := WithKey(req.Clone(ctx), r.param, r.key.Reveal())
	x.Trace.restart()
	resp, err := r.wire.transport(ctx, r.p, x.Trace).RoundTrip(out)
	end(statusOf(resp))
	if !r.key.Empty() && x.Trace.Sent() {
		r.wire.used(r.p.Name, r.name, r.key.Fingerprint())
	}
	if err != nil {
		return nil, x.Trace.broke(ctx, err, PeerService)
	}
	x.Trace.head()
	r.mu.Lock()
	defer r.mu.Unlock()
	x.Status, x.Header = resp.StatusCode, r.mask.Header(resp.Header).Clone() // the library reads the other
	return resp, nil
}

// WithKey adds the console's headers and the key to a relay's request, as NewRelay says.
// For a preview, key is a mask; nothing else differs.
func WithKey(req *http.Request, param, key string) *http.Request {
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept-Encoding", "gzip")
	if param == "" {
		req.Header.Set("Authorization", "Bearer "+key)
		return req
	}
	query := req.URL.Query()
	query.Set(param, key)
	u := *req.URL
	u.RawQuery = query.Encode()
	req.URL = &u
	return req
}

// relayedBody keeps the head of an answer, and its Close ends the exchange.
type relayedBody struct {
	io.Reader
	io.Closer
	x      *Relayed
	cancel context.CancelCauseFunc
	read   int64
}

func (b *relayedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.x.mu.Lock()
	if room := headSize - len(b.x.head); room > 0 {
		b.x.head = append(b.x.head, p[:min(room, n)]...)
	}
	b.x.mu.Unlock()
	if b.read += int64(n); b.read >= RelayBytes {
		return n, fmt.Errorf("the answer is larger than %d bytes", RelayBytes)
	}
	if errors.Is(err, io.EOF) {
		b.x.Trace.Done()
	}
	return n, err
}

func (b *relayedBody) Close() error {
	b.x.Trace.Done()
	err := b.Closer.Close()
	b.cancel(nil)
	return err
}
