package exchange

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 asks for it; nothing rests on it
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"zonedeck/model"
	"zonedeck/service/bodytext"
)

// Socket is an open WebSocket to the remote browser. Frames are read from it and written to
// it; Close ends it.
type Socket struct {
	*bufio.Reader
	io.Writer
	io.Closer
}

// SocketRequest makes the request that opens the remote browser. authorization is the login
// or, for a preview, its mask.
func SocketRequest(ctx context.Context, p model.Profile, authorization, key string) (*http.Request, error) {
	u, err := url.Parse(p.BrowserURL)
	if err != nil || u.User != nil || u.Host == "" {
		return nil, model.BadField("profile", "%s has no usable browser_url", p.Name)
	}
	u.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	if u.Path == "" {
		u.Path = "/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, model.BadField("profile", "browser_url: %w", errors.Unwrap(err))
	}
	for _, h := range [][2]string{
		{"User-Agent", userAgent},
		{"Connection", "Upgrade"},
		{"Upgrade", "websocket"},
		{"Sec-WebSocket-Version", "13"},
		{"Sec-WebSocket-Key", key},
		{"Authorization", authorization},
	} {
		req.Header.Set(h[0], h[1])
	}
	return req, nil
}

// socketGUID is what RFC 6455 adds to the key.
const socketGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// Browser opens the remote browser's address with a login. Certificates are verified
// whatever the profile says, because the password goes with the first message. A refusal
// returns the answer without a socket; the caller reads and closes its body. Errors are
// those of API.
//
// The socket ends with ctx.
func (w *Wire) Browser(ctx context.Context, p model.Profile, login Login) (*Socket, *http.Response, *Trace, error) {
	tr := newTrace(w.timer)
	key := base64.StdEncoding.EncodeToString([]byte(rand.Text()[:16]))
	req, err := SocketRequest(ctx, p, login.header(), key)
	if err != nil {
		tr.notStarted()
		return nil, nil, tr, err
	}
	end, err := w.refusals.Enter(ctx, p.BrowserURL)
	if err != nil {
		tr.notStarted()
		return nil, nil, tr, err
	}
	resp, err := w.transport(ctx, p, tr).RoundTrip(req)
	end(statusOf(resp))
	if err != nil {
		return nil, nil, tr, fmt.Errorf("opening the remote browser: %w", tr.broke(ctx, err, PeerService))
	}
	tr.head()
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusBadRequest {
		resp.Body.Close()
		tr.Done()
		return nil, nil, tr, &Error{Broke: model.BreakMalformed, Peer: PeerService, Sent: true, Err: fmt.Errorf("the answer to opening it is %s, not a WebSocket", resp.Status)}
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = bodytext.Reader(resp.Body, resp.Header)
		return nil, resp, tr, nil
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	sum := sha1.Sum([]byte(key + socketGUID)) //nolint:gosec // as above
	if !ok || resp.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) || !strings.EqualFold(resp.Header.Get("Upgrade"), "websocket") {
		resp.Body.Close()
		tr.Done()
		return nil, nil, tr, &Error{Broke: model.BreakMalformed, Peer: PeerService, Sent: true, Err: errors.New("the remote browser's address does not answer with a WebSocket")}
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return &Socket{bufio.NewReaderSize(conn, 32<<10), conn, ending(func() error { stop(); return conn.Close() })}, resp, tr, nil
}

type ending func() error

func (c ending) Close() error { return c() }
