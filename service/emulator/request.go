package emulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"zonedeck/service/emulator/username"
)

const (
	maxRequestBytes = 8 << 20
	maxURLBytes     = 8192
	bodyTimeout     = 30 * time.Second
)

// call is the body of POST /request, checked.
type call struct {
	zone, format string
	method       string
	url          *url.URL
	header       http.Header
	body         []byte
	flags        username.Flags
}

// invalid collects what a request body got wrong; each text names its field.
type invalid struct{ details []string }

func (e *invalid) Error() string { return strings.Join(e.details, "; ") }

func (e *invalid) add(format string, args ...any) {
	e.details = append(e.details, fmt.Sprintf(format, args...))
}

// parseCall reads the body of POST /request (service.md 4.1; fields beyond zone, url
// and format: public documentation). The error is an [*invalid].
func parseCall(b []byte) (call, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil || fields == nil {
		return call{}, &invalid{[]string{"body must be a JSON object"}}
	}
	c := call{method: http.MethodGet, header: http.Header{}}
	bad := &invalid{}
	for _, name := range sortedKeys(fields) {
		c.field(name, fields[name], bad)
	}
	for _, name := range [...]string{"zone", "url", "format"} {
		if _, ok := fields[name]; !ok {
			bad.add("%s is required", name)
		}
	}
	var flag *username.FlagError
	if err := c.flags.Check(); errors.As(err, &flag) {
		bad.add("%s %s", flag.Flag, flag.Reason)
	}
	if len(bad.details) > 0 {
		return call{}, bad
	}
	return c, nil
}

func (c *call) field(name string, raw json.RawMessage, bad *invalid) {
	if dst := c.text(name); dst != nil {
		*dst = textField(name, raw, bad)
		c.checkText(name, *dst, bad)
		return
	}
	switch name {
	case "url":
		c.setURL(textField(name, raw, bad), bad)
	case "headers":
		c.setHeaders(raw, bad)
	case "body":
		c.setBody(raw, bad)
	case "direct":
		if json.Unmarshal(raw, &c.flags.Direct) != nil {
			bad.add("direct must be true or false")
		}
	case "sdk_function": // some public clients send it; it means nothing
	case "data_format", "render":
		bad.add("%s is not supported by this emulator yet", name)
	default:
		bad.add("%s is not allowed", name)
	}
}

// text is where a plain string field goes; nil for the other fields.
func (c *call) text(name string) *string {
	switch name {
	case "zone":
		return &c.zone
	case "format":
		return &c.format
	case "method":
		return &c.method
	case "country":
		return &c.flags.Country
	case "state":
		return &c.flags.State
	case "city":
		return &c.flags.City
	case "zip":
		return &c.flags.Zip
	case "ASN":
		return &c.flags.ASN
	case "carrier":
		return &c.flags.Carrier
	case "os":
		return &c.flags.OS
	case "dns":
		return &c.flags.DNS
	case "session":
		return &c.flags.Session
	case "ip":
		return &c.flags.IP
	case "gip":
		return &c.flags.GIP
	case "c_tag":
		return &c.flags.CTag
	default:
		return nil
	}
}

func (c *call) checkText(name, v string, bad *invalid) {
	switch name {
	case "format":
		if v != "raw" && v != "json" {
			bad.add("format must be raw or json")
		}
	case "method":
		c.method = strings.ToUpper(v)
		methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
		if !slices.Contains(methods, c.method) {
			bad.add("method must be one of %s", strings.Join(methods, ", "))
		}
	}
}

func textField(name string, raw json.RawMessage, bad *invalid) string {
	var v string
	if json.Unmarshal(raw, &v) != nil || v == "" {
		bad.add("%s must be a string that is not empty", name)
	}
	return v
}

func (c *call) setURL(v string, bad *invalid) {
	if len(v) > maxURLBytes {
		bad.add("url is longer than %d bytes", maxURLBytes)
		return
	}
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		bad.add("url must be an absolute http or https address")
		return
	}
	u.Fragment = ""
	c.url = u
}

func (c *call) setHeaders(raw json.RawMessage, bad *invalid) {
	var hs map[string]string
	if json.Unmarshal(raw, &hs) != nil {
		bad.add("headers must be an object of strings")
		return
	}
	for _, name := range sortedKeys(hs) {
		v := hs[name]
		switch canonical := http.CanonicalHeaderKey(name); {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v):
			bad.add("headers: %q is not a valid header", name)
		case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te", "Keep-Alive"}, canonical),
			strings.HasPrefix(canonical, "Proxy-"):
			bad.add("headers: %s is set by the service", name)
		default:
			c.header.Set(name, v)
		}
	}
}

// setBody takes a string as it is; any other JSON value is sent as JSON.
func (c *call) setBody(raw json.RawMessage, bad *invalid) {
	var v string
	if json.Unmarshal(raw, &v) == nil {
		c.body = []byte(v)
		return
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		bad.add("body must be a string or JSON")
		return
	}
	c.body = b.Bytes()
	if c.header.Get("Content-Type") == "" {
		c.header.Set("Content-Type", "application/json")
	}
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// handleRequest is POST /request (service.md 4.1).
func (s *Server) handleRequest(w http.ResponseWriter, r *http.Request) {
	bad := &invalid{}
	for name := range r.URL.Query() {
		if name == "async" {
			bad.add("async is not supported by this emulator yet")
		} else {
			bad.add("query parameter %s is not allowed", name)
		}
	}
	if !isJSON(r.Header) {
		bad.add("Content-Type must be application/json")
	}
	body, err := readBody(w, r, maxRequestBytes)
	if err != nil {
		bad.add("body could not be read: at most %d bytes within %s", maxRequestBytes, bodyTimeout)
	}
	if len(bad.details) > 0 {
		answerInvalid(w, bad)
		return
	}
	c, err := parseCall(body)
	if err != nil {
		answerInvalid(w, err)
		return
	}
	z, err := s.account.zone(c.zone)
	if err != nil {
		answerText(w, http.StatusBadRequest, basisZone, fmt.Sprintf("zone %q not found", c.zone))
		return
	}
	s.fetchCall(w, r, z, c)
}

func answerInvalid(w http.ResponseWriter, err error) {
	details := []string{err.Error()}
	if bad := (*invalid)(nil); errors.As(err, &bad) {
		details = bad.details
	}
	answerJSON(w, http.StatusBadRequest, basisSchema, map[string]any{
		"error": "Request validation failed", "error_code": "validation", "details": details,
	})
}

// readBody reads a bounded body within bodyTimeout.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, err
	}
	return b, rc.SetReadDeadline(time.Time{})
}

func (s *Server) fetchCall(w http.ResponseWriter, r *http.Request, z Zone, c call) {
	exit, err := s.pick(z, c.flags)
	if err != nil {
		if flag := (*username.FlagError)(nil); errors.As(err, &flag) {
			answerInvalid(w, &invalid{[]string{flag.Flag + " " + flag.Reason}})
			return
		}
		s.answerRefused(w, refusalOf(err))
		return
	}
	// Assembled by hand: the address is parsed already, and was checked.
	req := (&http.Request{Method: c.method, URL: c.url, Host: c.url.Host, Header: c.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(r.Context())
	if _, ok := c.header["User-Agent"]; !ok {
		c.header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	}
	if user := c.url.User; user != nil && c.header.Get("Authorization") == "" {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	if len(c.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(c.body))
		req.ContentLength = int64(len(c.body))
	}
	host := c.url.Hostname()
	if refused := portRefused(host, c.url.Port()); refused != nil {
		s.answerRefused(w, *refused)
		return
	}
	resp, err := s.dialer.Transport(host, exit).RoundTrip(req)
	if err != nil {
		s.answerRefused(w, refusalOf(err))
		return
	}
	defer resp.Body.Close()
	s.exitHeaders(w.Header(), host, exit, c.flags)
	w.Header().Set("x-brd-status-code", strconv.Itoa(resp.StatusCode))
	w.Header().Set(basisHeader, basisFetch)
	if c.format == "json" {
		err = answerWrapped(w, resp)
	} else {
		err = answerRaw(w, resp)
	}
	if err != nil {
		s.log.Debug("an answer was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that the client sees the cut
	}
}

// answerRefused is a fetch that failed on the service's side: outer 200, the truth in
// the headers, no body (public documentation; both spellings of the code).
func (s *Server) answerRefused(w http.ResponseWriter, r refusal) {
	h := w.Header()
	h.Set("x-brd-status-code", strconv.Itoa(r.status))
	h.Set("x-brd-error", r.msg)
	h.Set("x-brd-error-code", r.code)
	h.Set("x-brd-err-code", r.code)
	h.Set("x-brd-err-msg", r.msg)
	h.Set("Proxy-Status", proxyStatus(r))
	h.Set(basisHeader, basisFetchFailed)
	w.WriteHeader(http.StatusOK)
}
