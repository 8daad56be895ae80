package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"zonedeck/keystore"
)

// Bounds of a call.
const (
	// callTime is for one answer: loopback answers at once, also on a busy machine.
	callTime = 5 * time.Second
	// maxAnswer bounds an answer that is read whole, in bytes: the emulator's journal
	// keeps 16 MiB, which JSON makes larger.
	maxAnswer = 64 << 20
	// maxLine bounds one line of a stream, in bytes.
	maxLine = 1 << 20
	// maxErrorText bounds what an error quotes of an answer, in bytes.
	maxErrorText = 2 << 10
)

// ErrNoAnswer is wrapped by the error of a call that got no answer.
var ErrNoAnswer = errors.New("the emulator's control interface does not answer")

// RefusedError is the emulator's refusal: its status, and its reason for people.
type RefusedError struct {
	Status int
	Reason string
}

func (e *RefusedError) Error() string { return "the emulator refuses: " + e.Reason }

// Place is where a control interface listens, and the token it asks for.
type Place struct {
	URL   string // such as http://127.0.0.1:40123
	Token keystore.Secret
}

// Client speaks to one emulator. Make it with New.
type Client struct {
	locate func(ctx context.Context) (Place, error)
}

// New makes a Client; where is asked before every call, because an emulator that was
// started again listens elsewhere.
func New(where func(ctx context.Context) (Place, error)) *Client { return &Client{locate: where} }

// send makes a call and gives its answer, whose status is one of success. The caller
// closes the body, which ends the connection.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	place, err := c.locate(ctx)
	if err != nil {
		return nil, err
	}
	var content io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("writing the body of %s: %w", path, err)
		}
		content = bytes.NewReader(raw)
	}
	address := place.URL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, fmt.Errorf("asking the emulator: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+place.Token.Reveal())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	// A transport of its own: no proxy of the environment, no connection kept. A stream
	// begins as soon as a short answer does, however long it goes on.
	transport := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, DialContext: (&net.Dialer{Timeout: callTime}).DialContext, ResponseHeaderTimeout: callTime,
	}
	resp, err := transport.RoundTrip(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s %s: %w", method, path, context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	case resp.StatusCode >= http.StatusBadRequest:
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

// refusal reads the reason out of {"error": "…"}.
func refusal(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorText))
	var said struct {
		Error string `json:"error"`
	}
	if err != nil || json.Unmarshal(raw, &said) != nil || said.Error == "" {
		said.Error = "it answers " + resp.Status
	}
	return &RefusedError{Status: resp.StatusCode, Reason: said.Error}
}

// call makes a call and reads its answer into out.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, ErrNoAnswer)
	defer cancel()
	resp, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	bounded := &io.LimitedReader{R: resp.Body, N: maxAnswer}
	if err := json.NewDecoder(bounded).Decode(out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("reading the emulator's answer to %s: %w", path, err)
	}
	return nil
}

// Time is the emulator's clock.
type Time struct {
	// Now is its time, UTC.
	Now time.Time
	// Ahead is how far it is ahead of the machine's clock.
	Ahead time.Duration
	// Faults is how many faults are on at that time.
	Faults int
}

type timeAnswer struct {
	Now    time.Time `json:"now"`
	Offset string    `json:"offset"`
	Faults int       `json:"faults_on"`
}

func (a timeAnswer) time() (Time, error) {
	ahead, err := time.ParseDuration(a.Offset)
	if err != nil {
		return Time{}, fmt.Errorf("reading the emulator's clock: %w", err)
	}
	return Time{Now: a.Now, Ahead: ahead, Faults: a.Faults}, nil
}

// Time reads the clock.
func (c *Client) Time(ctx context.Context) (Time, error) {
	var a timeAnswer
	if err := c.call(ctx, http.MethodGet, "/time", nil, nil, &a); err != nil {
		return Time{}, err
	}
	return a.time()
}

// Ready reads the ready line as it would be now, with the keys and zones of now, into out.
func (c *Client) Ready(ctx context.Context, out any) error {
	return c.call(ctx, http.MethodGet, "/ready", nil, nil, out)
}

// Advance moves the clock forward. It never goes back: a *RefusedError says so, and also
// that it would go too far.
func (c *Client) Advance(ctx context.Context, by time.Duration) (Time, error) {
	var a timeAnswer
	if err := c.call(ctx, http.MethodPost, "/time", nil, map[string]string{"advance": by.String()}, &a); err != nil {
		return Time{}, err
	}
	return a.time()
}

// Key is an API key as the account settings of the emulator list it.
type Key struct {
	Name  string `json:"name"`
	Level string `json:"level"`
	Duty  string `json:"duty"`
	// Value is there once, in the answer that makes the value.
	Value string `json:"value"`
	// Expires is an RFC 3339 moment or "Unlimited".
	Expires string `json:"expires"`
	// Created is an RFC 3339 moment; empty is unknown.
	Created string `json:"created"`
}

// Keys lists the keys of the account, without their values.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var a struct {
		Keys []Key `json:"keys"`
	}
	err := c.call(ctx, http.MethodGet, "/keys", nil, nil, &a)
	return a.Keys, err
}

// CreateKey makes a key with a name, a level, a duty and an expiry, and gives its value, which is
// not shown again. A *RefusedError with status 409 says that there is one of that name.
func (c *Client) CreateKey(ctx context.Context, k Key) (Key, error) {
	body := map[string]string{"name": k.Name, "level": k.Level, "expires": k.Expires}
	if k.Duty != "" {
		body["duty"] = k.Duty
	}
	var made Key
	err := c.call(ctx, http.MethodPost, "/keys", nil, body, &made)
	return made, err
}

// RefreshKey gives a key another value, which is not shown again. The old one is invalid at once.
func (c *Client) RefreshKey(ctx context.Context, name string) (Key, error) {
	var made Key
	err := c.call(ctx, http.MethodPost, "/keys/"+url.PathEscape(name)+"/refresh", nil, nil, &made)
	return made, err
}

// DeleteKey deletes a key: requests with it are refused from that instant.
func (c *Client) DeleteKey(ctx context.Context, name string) error {
	var gone struct {
		Deleted string `json:"deleted"`
	}
	return c.call(ctx, http.MethodDelete, "/keys/"+url.PathEscape(name), nil, nil, &gone)
}
