package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

const (
	maxRequestBytes = 8 << 20
	maxURLBytes     = 8192
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

// parseCall reads the body of POST /request (service.md 4.1; fields beyond zone, url
// and format: public documentation). The error is an [*answer.InvalidError].
func parseCall(b []byte) (call, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil || fields == nil {
		return call{}, &answer.InvalidError{Details: []string{"body must be a JSON object"}}
	}
	c := call{method: http.MethodGet, header: http.Header{}}
	bad := &answer.InvalidError{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		c.field(name, fields[name], bad)
	}
	for _, name := range [...]string{"zone", "url", "format"} {
		if _, ok := fields[name]; !ok {
			bad.Add("%s is required", name)
		}
	}
	var flag *username.FlagError
	if err := c.flags.Check(); errors.As(err, &flag) {
		bad.Add("%s %s", flag.Flag, flag.Reason)
	}
	if len(bad.Details) > 0 {
		return call{}, bad
	}
	return c, nil
}

func (c *call) field(name string, raw json.RawMessage, bad *answer.InvalidError) {
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
			bad.Add("direct must be true or false")
		}
	case "sdk_function": // some public clients send it; it means nothing
	case "data_format", "render":
		bad.Add("%s is not supported by this emulator yet", name)
	default:
		bad.Add("%s is not allowed", name)
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

func (c *call) checkText(name, v string, bad *answer.InvalidError) {
	switch name {
	case "format":
		if v != "raw" && v != "json" {
			bad.Add("format must be raw or json")
		}
	case "method":
		c.method = strings.ToUpper(v)
		methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
		if !slices.Contains(methods, c.method) {
			bad.Add("method must be one of %s", strings.Join(methods, ", "))
		}
	}
}

func textField(name string, raw json.RawMessage, bad *answer.InvalidError) string {
	var v string
	if json.Unmarshal(raw, &v) != nil || v == "" {
		bad.Add("%s must be a string that is not empty", name)
	}
	return v
}

func (c *call) setURL(v string, bad *answer.InvalidError) {
	if len(v) > maxURLBytes {
		bad.Add("url is longer than %d bytes", maxURLBytes)
		return
	}
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		bad.Add("url must be an absolute http or https address")
		return
	}
	u.Fragment = ""
	c.url = u
}

func (c *call) setHeaders(raw json.RawMessage, bad *answer.InvalidError) {
	var hs map[string]string
	if json.Unmarshal(raw, &hs) != nil {
		bad.Add("headers must be an object of strings")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(hs)) {
		v := hs[name]
		switch canonical := http.CanonicalHeaderKey(name); {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v):
			bad.Add("headers: %q is not a valid header", name)
		case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te", "Keep-Alive"}, canonical),
			strings.HasPrefix(canonical, "Proxy-"):
			bad.Add("headers: %s is set by the service", name)
		default:
			c.header.Set(name, v)
		}
	}
}

// setBody takes a string as it is; any other JSON value is sent as JSON.
func (c *call) setBody(raw json.RawMessage, bad *answer.InvalidError) {
	var v string
	if json.Unmarshal(raw, &v) == nil {
		c.body = []byte(v)
		return
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		bad.Add("body must be a string or JSON")
		return
	}
	c.body = b.Bytes()
	if c.header.Get("Content-Type") == "" {
		c.header.Set("Content-Type", "application/json")
	}
}

// ServeRequest is POST /request (service.md 4.1).
func (f *Fetcher) ServeRequest(w http.ResponseWriter, r *http.Request) {
	bad := &answer.InvalidError{}
	for name := range r.URL.Query() {
		if name == "async" {
			bad.Add("async is not supported by this emulator yet")
		} else {
			bad.Add("query parameter %s is not allowed", name)
		}
	}
	if !answer.IsJSON(r.Header) {
		bad.Add("Content-Type must be application/json")
	}
	body, err := answer.ReadBody(w, r, maxRequestBytes)
	if err != nil {
		bad.Add("body could not be read: at most %d bytes within %s", maxRequestBytes, answer.BodyTimeout)
	}
	if len(bad.Details) > 0 {
		answer.WriteInvalid(w, bad)
		return
	}
	c, err := parseCall(body)
	if err != nil {
		answer.WriteInvalid(w, err)
		return
	}
	z, err := f.conf.Account.Zone(c.zone)
	if err != nil {
		answer.Text(w, http.StatusBadRequest, answer.BasisZone, fmt.Sprintf("zone %q not found", c.zone))
		return
	}
	caller, _ := netip.ParseAddrPort(r.RemoteAddr) // zero where there is none
	if refused := f.conf.Account.Admit(z.Name, caller.Addr(), c.url.Hostname()); refused != nil {
		answer.RefuseInside(w, *refused)
		return
	}
	f.fetchCall(w, r, z, c)
}

func (f *Fetcher) fetchCall(w http.ResponseWriter, r *http.Request, z account.Zone, c call) {
	exit, err := f.conf.Route.Pick(z, c.flags)
	if err != nil {
		if flag := (*username.FlagError)(nil); errors.As(err, &flag) {
			answer.WriteInvalid(w, &answer.InvalidError{Details: []string{flag.Flag + " " + flag.Reason}})
			return
		}
		answer.RefuseInside(w, route.RefusalOf(err))
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
	if refused := route.PortRefused(host, c.url.Port()); refused != nil {
		answer.RefuseInside(w, *refused)
		return
	}
	resp, err := f.conf.Route.Dialer.Transport(host, exit).RoundTrip(req)
	if err != nil {
		answer.RefuseInside(w, route.RefusalOf(err))
		return
	}
	defer resp.Body.Close()
	use := meter.Call{Zone: z.Name, Product: z.Product, Host: host, API: true, Secure: c.url.Scheme == "https", Up: int64(len(c.body)), Requests: 1, Billable: billable(resp.StatusCode)}
	f.conf.Meter.Record(use)
	resp.Body = f.conf.Meter.Body(resp.Body, use)
	f.conf.Route.Headers(w.Header(), host, exit, c.flags)
	w.Header().Set("x-brd-status-code", strconv.Itoa(resp.StatusCode))
	w.Header().Set(answer.BasisHeader, answer.BasisFetch)
	if c.format == "json" {
		err = answerWrapped(w, resp)
	} else {
		err = answerRaw(w, resp)
	}
	if err != nil {
		f.conf.Log.Debug("an answer was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that the client sees the cut
	}
}

// billable is a success: where a plan charges by request, only these count (public
// documentation).
func billable(status int) bool { return status >= 200 && status < 300 }
