package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/fetch/async"
	"zonedeck/service/emulator/serp"
	"zonedeck/service/emulator/username"
)

const (
	maxRequestBytes = 8 << 20
	maxURLBytes     = 8192
	// maxHeaders bounds the headers that a call adds.
	maxHeaders = 100
)

// call is one fetch as the API asked for it, checked.
type call struct {
	zone, format string
	method       string
	url          *url.URL
	header       http.Header
	body         []byte
	jsonBody     bool // body was JSON, not a string
	flags        username.Flags

	// form is what becomes of the page: data_format, or "" for the target's own bytes.
	form          string
	render        bool
	expect        expectation
	city, zipcode string // x-unblock-city, x-unblock-zipcode
	// custom is whether the caller sent headers of its own: then every request is
	// billed, not only those that succeed (public documentation).
	custom bool
	hook   async.Hook
	// query is what the address searches for, where it is a search page's and the
	// product reads such.
	query serp.Query
	// at is the lab's page that is asked in the place of a search engine's; nil elsewhere.
	at *url.URL

	given []string // the fields that some products give no meaning to
	notes []string // what was let pass in a loose service
}

// endpoint says which fields a call may have.
type endpoint int

const (
	atRequest endpoint = iota // POST /request and its GET twin
	atAsync                   // POST /request?async=true
	atUnblock                 // POST /unblocker/req
	atSERP                    // POST /serp/req
)

func (e endpoint) async() bool { return e != atRequest }

// parser reads the fields of one call.
type parser struct {
	at    endpoint
	loose bool
	// search is the result page that a SERP query without an address means.
	search *url.URL

	c   call
	bad *answer.InvalidError
}

// parse reads the fields of a call (service.md 4.1; fields beyond zone, url and format:
// public documentation). The error is an [*answer.InvalidError].
func (p *parser) parse(fields map[string]json.RawMessage) (call, error) {
	p.c = call{method: http.MethodGet, header: http.Header{}}
	if p.bad == nil {
		p.bad = &answer.InvalidError{}
	}
	if p.at == atUnblock || p.at == atSERP {
		p.c.format = "raw" // these two have no such field that has to be said
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p.field(name, fields[name])
	}
	for _, name := range p.required() {
		if _, ok := fields[name]; !ok {
			p.bad.Add("%s is required", name)
		}
	}
	if fields["url"] != nil && fields["query"] != nil && p.at == atSERP {
		p.bad.Add("url and query are two ways to say the same: send one")
	}
	if p.c.url == nil && p.at == atSERP && len(p.bad.Details) == 0 {
		p.bad.Add("url or query is required")
	}
	var flag *username.FlagError
	if err := p.c.flags.Check(); errors.As(err, &flag) {
		p.bad.Add("%s %s", flag.Flag, flag.Reason)
	}
	if p.c.jsonBody && p.c.header.Get("Content-Type") == "" {
		p.c.header.Set("Content-Type", "application/json")
	}
	if len(p.bad.Details) > 0 {
		return call{}, p.bad
	}
	return p.c, nil
}

func (p *parser) required() []string {
	switch p.at {
	case atUnblock:
		return []string{"url"}
	case atSERP:
		return nil
	default:
		return []string{"url", "format"}
	}
}

// parseObject reads a JSON object into its fields.
func parseObject(b []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil || fields == nil {
		return nil, &answer.InvalidError{Details: []string{"body must be a JSON object"}}
	}
	return fields, nil
}

func (p *parser) field(name string, raw json.RawMessage) {
	c, bad := &p.c, p.bad
	if dst := c.text(name); dst != nil {
		*dst = textField(name, raw, bad)
		c.checkText(name, *dst, bad)
		c.note(name)
		return
	}
	switch name {
	case "url":
		c.setURL(textField(name, raw, bad), bad)
	case "headers":
		p.headers(raw)
	case "body":
		c.setBody(raw, bad)
		c.note(name)
	case "data_format":
		c.setForm(textField(name, raw, bad), bad)
		c.note(name)
	case "direct":
		c.flags.Direct = boolField(name, raw, bad)
		c.note(name)
	case "render":
		c.render = boolField(name, raw, bad)
		c.note(name)
	case "sdk_function": // some public clients send it; it means nothing
	case "async":
		// Sent by some public clients; the service is known to refuse it in the body.
		bad.Add("async is not allowed in the body: it is a query parameter")
	default:
		if p.at.async() && p.asyncField(name, raw) {
			return
		}
		if p.loose {
			c.notes = append(c.notes, name+" is ignored: not a field of this call")
			return
		}
		bad.Add("%s is not allowed", name)
	}
}

// note remembers a field that has a meaning for some products only.
func (c *call) note(field string) {
	switch field {
	case "zone", "format", "method", "country", "session", "c_tag":
	default:
		c.given = append(c.given, field)
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
	case "country":
		c.flags.Country = strings.ToLower(v) // some public clients send it in upper case
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

func boolField(name string, raw json.RawMessage, bad *answer.InvalidError) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		return true
	case "false":
	default:
		bad.Add("%s must be true or false", name)
	}
	return false
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
	u.Fragment, u.RawFragment = "", ""
	c.url = u
}

// setForm takes data_format, also from its header; two that differ are a mistake.
func (c *call) setForm(v string, bad *answer.InvalidError) {
	known := []string{formMarkdown, formScreenshot, formHTML, formLight, formBing, formParsed}
	switch {
	case v == "":
	case !slices.Contains(known, v):
		bad.Add("data_format must be one of %s", strings.Join(known, ", "))
	case c.form != "" && c.form != v:
		bad.Add("data_format is given twice: %s and %s", c.form, v)
	default:
		c.form = v
	}
}

func (p *parser) headers(raw json.RawMessage) {
	var hs map[string]string
	if json.Unmarshal(raw, &hs) != nil || hs == nil {
		p.bad.Add("headers must be an object of strings")
		return
	}
	if len(hs) > maxHeaders {
		p.bad.Add("headers: more than %d", maxHeaders)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(hs)) {
		p.header(name, hs[name])
	}
}

func (p *parser) header(name, v string) {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v):
		p.bad.Add("headers: %q is not a valid header", name)
	case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te", "Keep-Alive"}, canonical),
		strings.HasPrefix(canonical, "Proxy-"):
		p.bad.Add("headers: %s is set by the service", name)
	case strings.HasPrefix(canonical, "X-Unblock-"):
		p.unblock(strings.ToLower(name), v)
	case p.c.header[canonical] != nil:
		p.bad.Add("headers: %s is given twice", name)
	default:
		p.c.header.Set(name, v)
		p.c.custom = true
	}
}

// unblock reads a header that is meant for the service and never reaches the target
// (public documentation).
func (p *parser) unblock(name, v string) {
	c, bad := &p.c, p.bad
	switch name {
	case "x-unblock-data-format":
		c.setForm(v, bad)
	case "x-unblock-expect":
		e, err := parseExpectation(v)
		if err != nil {
			bad.Add("headers: %s %s", name, err)
		}
		c.expect = e
	case "x-unblock-city":
		c.city = placeOf(name, v, bad)
	case "x-unblock-zipcode":
		c.zipcode = placeOf(name, v, bad)
	default:
		if p.loose {
			c.notes = append(c.notes, name+" is ignored: not known")
		} else {
			bad.Add("headers: %s is not known", name)
		}
		return
	}
	c.given = append(c.given, name)
}

func placeOf(name, v string, bad *answer.InvalidError) string {
	ok := v != "" && len(v) <= 64
	for _, r := range v {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ' ' || r == '-' || r == '.')
	}
	if !ok {
		bad.Add("headers: %s takes letters, digits, spaces, dots and hyphens", name)
	}
	return v
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
	c.body, c.jsonBody = b.Bytes(), true
}
