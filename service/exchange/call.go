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
	"zonedeck/service/bodytext"
	"zonedeck/service/dialect"
	"zonedeck/service/pace"
)

// userAgent is what the console calls itself to the service and, unless the
// operator sets a header, to targets.
const userAgent = "zonedeck"

// Call is one exchange with the service's API.
type Call struct {
	Profile model.Profile
	// KeyName names the key, for its rate limit. Key is its value; without one the call
	// carries no Authorization, for what anybody may read.
	KeyName string
	Key     keystore.Secret
	Method  string
	Path    string // from the base URL on, with a leading "/"
	Query   url.Values
	// SecretQuery holds further parameters. Their values appear only in the request.
	SecretQuery map[string]keystore.Secret
	Body        []byte // nil for none; sent as application/json
}

// API sends one call and returns the answer's head. The caller reads resp.Body to
// its end or closes it, and then calls tr.Done for the timing. The body arrives
// inflated; reading fails with bodytext.ErrInflates if it inflates beyond measure. The call
// first waits its turn under the key's rate limit.
//
// There is exactly one try: no retry, no redirect. On an error tr says where the
// call broke and whether anything may have reached the service: if tr.Sent is
// false, no byte of the request was written. A *pace.TooFastError means that the
// breaker held the call back and nothing was sent (service.md 7, and what dialects
// know of blocked addresses).
//
// ctx governs the whole exchange, the body included.
func (w *Wire) API(ctx context.Context, call Call) (resp *http.Response, tr *Trace, err error) {
	tr = newTrace(w.timer)
	if !call.Profile.Local {
		limit := w.gates.rate(call.Profile, call.KeyName)
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
	end, err := w.refusals.Enter(ctx, call.Profile.BaseURL)
	if err != nil {
		tr.notStarted()
		return nil, tr, err
	}
	tr.restart()
	sent := w.timer()
	resp, err = w.transport(ctx, call.Profile, tr).RoundTrip(req)
	end(statusOf(resp))
	if !call.Key.Empty() && tr.Sent() {
		w.used(call.Profile.Name, call.KeyName, call.Key.Fingerprint())
	}
	if err != nil {
		err = tr.broke(ctx, err, PeerService)
		return nil, tr, fmt.Errorf("%s %s: %w", call.Method, call.Path, err)
	}
	tr.head()
	w.noteSkew(call.Profile, resp.Header, sent)
	resp.Body = bodytext.Reader(resp.Body, resp.Header)
	return resp, tr, nil
}

// statusOf is the status of an answer, 0 for none.
func statusOf(resp *http.Response) int {
	if resp == nil {
		return 0
	}
	return resp.StatusCode
}

// Request makes the HTTP request. bearer is the key's value or, for a preview,
// its mask; nothing else differs.
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

// waitError distinguishes a cancelled wait from one that would pass the deadline.
func waitError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{Broke: model.BreakTimeout, Peer: PeerService, Err: fmt.Errorf("waiting for the key's turn: %w", err)}
}

// CallError is the error of a failed API call other than a fetch, with the class and the evidence of
// its outcome (service.md 7).
type CallError struct {
	Doing     string // what the call was for: "cancelling job job-3"
	Diagnosis model.Diagnosis
	// Status is the service's HTTP status, 0 when there was no answer.
	Status int
	// Text is what the service said, one bounded line, or what broke.
	Text string
	// After is how long the answer asked to wait, 0 if it did not.
	After time.Duration
}

func (e *CallError) Error() string {
	s := e.Doing + ": "
	if e.Status > 0 {
		s += fmt.Sprintf("HTTP %d", e.Status)
		if e.Text != "" {
			s += ": "
		}
	}
	return s + e.Text
}

// Explain is an error in one line. A CallError adds its class and what to do next.
func Explain(err error) string {
	var call *CallError
	if !errors.As(err, &call) {
		return err.Error()
	}
	return err.Error() + " · " + model.ClassWord(call.Diagnosis.Class, call.Diagnosis.Cause) + call.Diagnosis.Next()
}

// maxBroke bounds the text of a call that broke, in bytes.
const maxBroke = 1000

// Unanswered is the error of a call whose answer is missing or broke off. err comes from [Wire.API] or from reading
// the body. sent says that the service may have acted on the call, which must then not be repeated.
func Unanswered(doing string, call model.JobCall, mask Mask, err error, sent bool) *CallError {
	e := &CallError{Doing: doing, Text: model.Line(mask.Text(err.Error()), maxBroke)}
	if held := (*pace.TooFastError)(nil); errors.As(err, &held) {
		e.Diagnosis = held.Diagnosis()
	} else {
		seen := brokeOutcome(call, err, e.Text)
		seen.Unrepeatable = sent
		e.Diagnosis = model.Diagnose(seen)
	}
	e.After = e.Diagnosis.RetryAfter
	return e
}

// brokeOutcome is the outcome of a call whose answer is missing or broke off.
func brokeOutcome(call model.JobCall, err error, text string) model.Outcome {
	o := model.Outcome{Via: model.ViaAPI, Job: call, Broke: model.BreakReset, Peer: PeerService, BrokeText: text}
	if broke := (*Error)(nil); errors.As(err, &broke) {
		o.Broke, o.Peer, o.ServiceStatus, o.BodySize = broke.Broke, broke.Peer, broke.Status, broke.Received
		o.Incomplete = broke.Status != 0 && broke.Broke == model.BreakReset
	}
	return o
}

// Refused is the error of an unsuccessful answer of the service at addr. Its verdict is [Wire.Judge]'s.
func (w *Wire) Refused(doing, addr string, mask Mask, seen model.Outcome) *CallError {
	return &CallError{Doing: doing, Diagnosis: w.Judge(addr, mask, seen), Status: seen.ServiceStatus, Text: seen.ServiceText, After: seen.RetryAfter}
}

// Judge is the verdict on an answer of the service at addr. For HTTP 429 it adds the notes of [pace.Refusals.Notes].
func (w *Wire) Judge(addr string, mask Mask, seen model.Outcome) model.Diagnosis {
	d := mask.Diagnosis(model.Diagnose(seen))
	if seen.ServiceStatus == http.StatusTooManyRequests {
		d.Evidence = append(d.Evidence, w.refusals.Notes(addr)...)
	}
	return d
}

// ReadAnswer reads up to most bytes of an answer. It masks before it cuts, because a part of a secret would not be
// found. If the body breaks off, it returns what it has read and an *Error.
func (m Mask) ReadAnswer(resp *http.Response, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(m.Reader(resp.Body), most))
	if err != nil {
		return text, BrokeOff(resp.StatusCode, int64(len(text)), err)
	}
	return text, nil
}

// BrokeOff is the error of an answer whose body broke off after came bytes.
func BrokeOff(status int, came int64, err error) *Error {
	e := &Error{Broke: Breakage(err), Peer: PeerService, Sent: true, Status: status, Received: came, Err: fmt.Errorf("the answer broke off after %d bytes: %w", came, err)}
	switch {
	case errors.Is(err, bodytext.ErrInflates):
		e.Broke, e.Err = model.BreakMalformed, err
	case errors.Is(err, ErrTimeout):
		e.Broke = model.BreakTimeout
	}
	return e
}

// Unusable is the error of an answer that is complete but cannot be used.
func Unusable(err error) *Error {
	return &Error{Broke: model.BreakMalformed, Peer: PeerService, Sent: true, Err: err}
}

// Answered is the outcome of an answer from the service itself. body is its beginning. The header and the service's
// words are masked; a verdict on the outcome must go through [Mask.Diagnosis]. key is the key that was sent.
func Answered(now time.Time, d dialect.Dialect, key model.Key, mask Mask, resp *http.Response, body []byte) model.Outcome {
	mask.Header(resp.Header)
	reading, kind := d.ReadHeader(resp.Header, now), resp.Header.Get("Content-Type")
	return model.Outcome{
		Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: resp.StatusCode,
		ServiceCode: reading.Code, ServiceText: mask.Text(dialect.ErrorText(kind, body)), ServiceClass: reading.Class, ServiceCause: reading.Cause,
		ReadBy: reading.ReadBy, Unread: reading.Unread, KeyObjections: keystore.Objections(key, now, model.CapUse),
		HeaderEvidence: reading.Evidence, ContentType: kind,
		BodyHead: body, BodySize: int64(len(body)), RetryAfter: reading.RetryAfter,
	}
}
