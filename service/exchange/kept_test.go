package exchange

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// roundTrips is a transport whose tries a test makes, each with the hooks of the request.
type roundTrips struct {
	tries []func(h *httptrace.ClientTrace) error
	sent  []string // bodies
}

func (rt *roundTrips) RoundTrip(req *http.Request) (*http.Response, error) {
	try := rt.tries[0]
	rt.tries = rt.tries[1:]
	h := httptrace.ContextClientTrace(req.Context())
	h.GetConn("")
	if err := try(h); err != nil {
		_, _ = io.Copy(io.Discard, req.Body) // into a buffer
		return nil, err
	}
	b, err := io.ReadAll(req.Body)
	rt.sent = append(rt.sent, string(b))
	return &http.Response{Body: http.NoBody}, err
}

func TestAPostIsSentAgainOnlyIfNothingOfItWasWritten(t *testing.T) {
	died := errors.New("server closed idle connection")
	kept := func() *countedConn { return newTrace(time.Now).counted(readWrite{}) }
	dies := func(conn *countedConn, written string) func(*httptrace.ClientTrace) error {
		return func(h *httptrace.ClientTrace) error {
			h.GotConn(httptrace.GotConnInfo{Conn: conn})
			if written != "" {
				_, _ = io.WriteString(conn, written)
			}
			return died
		}
	}
	fine := func(*httptrace.ClientTrace) error { return nil }
	for name, c := range map[string]struct {
		tries []func(*httptrace.ClientTrace) error
		fails bool
	}{
		"two kept connections that had died":   {[]func(*httptrace.ClientTrace) error{dies(kept(), ""), dies(kept(), ""), fine}, false},
		"one that died when it was written to": {[]func(*httptrace.ClientTrace) error{dies(kept(), "POST")}, true},
		"no connection":                        {[]func(*httptrace.ClientTrace) error{func(*httptrace.ClientTrace) error { return died }}, true},
	} {
		tr := newTrace(time.Now)
		req := noerr.Try(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader("body"))).Must(t)
		rt := &roundTrips{tries: c.tries}
		resp, err := traced{rt, dialer{tr: tr}}.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		if c.fails != errors.Is(err, died) || !c.fails && (len(rt.sent) != 1 || rt.sent[0] != "body" || tr.Resent() != 0) {
			t.Errorf("%s: %v, sent %q", name, err, rt.sent)
		}
	}
	tr := newTrace(time.Now)
	own := &roundTrips{tries: []func(*httptrace.ClientTrace) error{dies(tr.counted(readWrite{}), "")}}
	req := noerr.Try(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", bytes.NewReader(nil))).Must(t)
	if _, err := (traced{own, dialer{tr: tr}}).RoundTrip(req); !errors.Is(err, died) {
		t.Errorf("on a connection of its own: %v", err)
	}
}

// readWrite is a connection that takes what is written.
type readWrite struct{ net.Conn }

func (readWrite) Write(b []byte) (int, error) { return len(b), nil }
