package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
)

// userAgent is what the console calls itself to the service and, unless the
// operator sets a header, to targets.
const userAgent = "zonedeck"

// Call is one exchange with the service's API.
type Call struct {
	Profile config.Profile
	// KeyName names the key, for its rate; Key is its value. A call without one carries no
	// Authorization: for what anybody may read.
	KeyName string
	Key     keystore.Secret
	Method  string
	Path    string // from the base URL on, with a leading "/"
	Query   url.Values
	// SecretQuery are further parameters, whose values are written with the request alone.
	SecretQuery map[string]keystore.Secret
	Body        []byte // nil for none; sent as application/json
}

// API sends one call and returns the answer's head. The caller reads resp.Body to
// its end or closes it; who wants the timing then calls Done of the trace. The body
// arrives inflated; one that inflates beyond measure reads as ErrInflates. The
// call first waits its turn by the key's rate.
//
// There is exactly one try: no retry, no redirect. On an error tr says where it
// broke and whether anything may have reached the service: with tr.Sent false it
// is certain that no byte of the request was written. A *TooFastError means the
// breaker held it back (service.md 7, and what dialects know of blocked
// addresses): nothing was sent.
//
// ctx governs the whole exchange, the body included.
func (w *Wire) API(ctx context.Context, call Call) (resp *http.Response, tr *Trace, err error) {
	tr = newTrace(w.timer)
	if err := w.breaker.allow(call.Profile.BaseURL); err != nil {
		tr.notStarted()
		return nil, tr, err
	}
	if !call.Profile.Local {
		limit := w.gates.rate(call.KeyName)
		if dialect.AsksAccount(call.Path) {
			limit = w.gates.account(call.KeyName)
		}
		if err := limit.Wait(ctx); err != nil {
			tr.notStarted()
			return nil, tr, waitError(ctx, err)
		}
	}
	req, err := call.Request(ctx, call.Key.Reveal())
	if err != nil {
		tr.notStarted()
		return nil, tr, err
	}
	tr.restart()
	sent := w.timer()
	resp, err = w.transport(ctx, call.Profile, tr).RoundTrip(req)
	if !call.Key.Empty() && tr.Sent() {
		w.used(call.Profile.Name, call.KeyName, call.Key.Fingerprint())
	}
	if err != nil {
		err = tr.broke(ctx, err, PeerService)
		return nil, tr, fmt.Errorf("%s %s: %w", call.Method, call.Path, err)
	}
	tr.head()
	w.breaker.note(call.Profile.BaseURL, resp.StatusCode)
	w.noteSkew(call.Profile, resp.Header, sent)
	resp.Body = inflated(resp)
	return resp, tr, nil
}

// Request makes the HTTP request. bearer is the key's value when it is about to
// be written, or its mask for a preview: nothing else differs.
func (call Call) Request(ctx context.Context, bearer string) (*http.Request, error) {
	query := call.Query
	if len(call.SecretQuery) > 0 {
		query = maps.Clone(query)
		for name, s := range call.SecretQuery {
			query.Set(name, s.Reveal())
		}
	}
	u, err := APIURL(call.Profile.BaseURL, call.Path, query)
	if err != nil {
		return nil, model.BadField("profile", "%w", err)
	}
	var body io.Reader
	if err := dialect.NamesZone(call.Method, call.Path, call.Query, call.Body); err != nil {
		return nil, err
	}
	if call.Body != nil {
		body = bytes.NewReader(call.Body)
	}
	req, err := http.NewRequestWithContext(ctx, call.Method, u.String(), body)
	if err != nil {
		return nil, model.BadField("profile", "base URL: %w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept-Encoding", "gzip")
	if call.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return req, nil
}

// APIURL joins the base URL with a path. The base URL may have a path too.
func APIURL(base, path string, query url.Values) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case base == "":
		return nil, errors.New("it has no base URL")
	case err != nil:
		return nil, fmt.Errorf("base URL: %w", errors.Unwrap(err)) // without the address, which may hold a login
	case u.User != nil, strings.Contains(base, "@"): // without a scheme the parser does not recognise a user
		return nil, errors.New("the base URL must not carry a login")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("base URL %q: write it like https://api.example.com", base)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	u.RawPath = ""
	u.RawQuery = query.Encode()
	u.Fragment = ""
	return u, nil
}

// Pause waits for d between two calls, or returns the cause of the context's end.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// waitError distinguishes a cancelled wait from one that the deadline does not allow.
func waitError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{Broke: model.BreakTimeout, Peer: PeerService, Err: fmt.Errorf("waiting for the key's turn: %w", err)}
}
