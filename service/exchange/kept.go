package exchange

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

// keptFor is how long a connection waits for its next request: less than the servers do that close theirs first
// (5 s are the least that is usual), because a request may cross the closing.
const keptFor = 4 * time.Second

// dialerKey is what the context of a request has its dialer under.
type dialerKey struct{}

// traced adds a trace's hooks to the exchange, and the dialer for a transport that is kept.
type traced struct {
	rt http.RoundTripper
	d  dialer
}

// RoundTrip sends the request again where a kept connection had died before it was used: net/http does that only if the
// method allows it.
func (t traced) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := context.WithValue(req.Context(), dialerKey{}, t.d)
	req = req.WithContext(httptrace.WithClientTrace(ctx, t.d.tr.hooks()))
	for {
		resp, err := t.rt.RoundTrip(req)
		if err == nil || ctx.Err() != nil || !t.d.tr.untried() {
			return resp, err
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// Keep is w with connections that its calls by API, and those through the proxy to http targets, leave to the next
// ones. At most idle of them wait; Close closes those. Limits are shared with w, which counts the calls under way.
//
// A request that finds its connection dead is sent on another one if not one byte of it was written. Else net/http sends
// it again only if its method is GET, HEAD, OPTIONS or TRACE, or if it carries an Idempotency-Key, by which its author
// allows it; Trace.Resent counts these.
func (w *Wire) Keep(idle int) *Wire {
	of := func(ctx context.Context) dialer { return ctx.Value(dialerKey{}).(dialer) }
	t := bareTransport()
	t.MaxIdleConnsPerHost, t.IdleConnTimeout = idle, keptFor
	t.Proxy = func(req *http.Request) (*url.URL, error) { return of(req.Context()).proxy, nil }
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return of(ctx).plain(ctx, network, addr)
	}
	t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return of(ctx).secure(ctx, network, addr)
	}
	return &Wire{now: w.now, timer: w.timer, connect: w.connect, used: w.used, gates: w.gates, refusals: w.refusals, skew: w.skew, meter: w.meter, pool: t}
}

// Close closes the connections that wait. Those in use are closed after their request.
func (w *Wire) Close() {
	if w.pool != nil {
		w.pool.CloseIdleConnections()
	}
}
