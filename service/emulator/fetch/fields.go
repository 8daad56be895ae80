package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// field is one field of a call: the endpoints that have it, the zones that give it a
// meaning, and how it is read.
type field struct {
	since endpoint // the first endpoint of the order that has it
	zones zones
	read  func(p *parser, name string, raw json.RawMessage)
}

// unblockHeader is a header that is meant for the service and never reaches the target
// (public documentation).
type unblockHeader struct {
	zones zones
	read  func(p *parser, name, v string)
}

// zones are the products that give a field a meaning, and the text that names them in a
// refusal. The zero value is every product. Which product takes which field is public
// documentation; that headers and body reach the target on every network is an assumption.
type zones struct {
	text     string
	products []string
	others   bool // every product but these
}

func (z zones) have(product string) bool {
	return z.text == "" || product == "" || slices.Contains(z.products, product) != z.others
}

var (
	networkZones     = zones{text: "zones of the proxy networks", products: []string{"datacenter", "isp", "residential", "mobile"}}
	peerZones        = zones{text: "residential and mobile zones", products: []string{"residential", "mobile"}}
	residentialZones = zones{text: "residential zones", products: []string{"residential"}}
	mobileZones      = zones{text: "mobile zones", products: []string{"mobile"}}
	addressZones     = zones{text: "datacenter and ISP zones", products: []string{"datacenter", "isp"}}
	unlockerZones    = zones{text: "unlocker zones", products: []string{"unlocker"}}
	unlockingZones   = zones{text: "unlocker and SERP zones", products: []string{"unlocker", "serp"}}
	scriptZones      = zones{text: "unlocker and browser zones", products: []string{"unlocker", "browser"}}
	formZones        = zones{text: "unlocker, SERP, browser and crawl zones", products: []string{"unlocker", "serp", "browser", "crawl"}}
	bodyZones        = zones{text: "zones other than SERP and browser", products: []string{"serp", "browser"}, others: true}
)

// fields are the fields of a call by name (service.md 4.1; beyond zone, url and format:
// public documentation).
var fields = map[string]field{
	"zone":        {read: text(func(c *call) *string { return &c.zone })},
	"url":         {read: func(p *parser, name string, raw json.RawMessage) { p.setURL(p.text(name, raw)) }},
	"format":      {read: (*parser).format},
	"method":      {read: (*parser).method},
	"headers":     {read: (*parser).headers},
	"session":     {read: text(func(c *call) *string { return &c.flags.Session })},
	"c_tag":       {read: text(func(c *call) *string { return &c.flags.CTag })},
	"body":        {zones: bodyZones, read: (*parser).body},
	"data_format": {zones: formZones, read: func(p *parser, name string, raw json.RawMessage) { p.setForm(p.text(name, raw)) }},
	"render":      {zones: scriptZones, read: func(p *parser, name string, raw json.RawMessage) { p.c.render = p.bool(name, raw) }},
	"direct":      {zones: networkZones, read: func(p *parser, name string, raw json.RawMessage) { p.c.flags.Direct = p.bool(name, raw) }},
	"dns":         {zones: networkZones, read: text(func(c *call) *string { return &c.flags.DNS })},
	"state":       {zones: peerZones, read: text(func(c *call) *string { return &c.flags.State })},
	"city":        {zones: peerZones, read: text(func(c *call) *string { return &c.flags.City })},
	"zip":         {zones: peerZones, read: text(func(c *call) *string { return &c.flags.Zip })},
	"ASN":         {zones: peerZones, read: text(func(c *call) *string { return &c.flags.ASN })},
	"gip":         {zones: peerZones, read: text(func(c *call) *string { return &c.flags.GIP })},
	"os":          {zones: residentialZones, read: text(func(c *call) *string { return &c.flags.OS })},
	"carrier":     {zones: mobileZones, read: text(func(c *call) *string { return &c.flags.Carrier })},
	"ip":          {zones: addressZones, read: text(func(c *call) *string { return &c.flags.IP })},
	"country": {read: func(p *parser, name string, raw json.RawMessage) {
		p.c.flags.Country = strings.ToLower(p.text(name, raw)) // some public clients send it in upper case
	}},
	// Some public clients send these two. The first means nothing; the service is known to
	// refuse the second in the body.
	"sdk_function": {read: func(*parser, string, json.RawMessage) {}},
	"async": {read: func(p *parser, _ string, _ json.RawMessage) {
		p.bad.Add("async is not allowed in the body: it is a query parameter")
	}},

	"webhook_url":    {since: atAsync, read: (*parser).webhookURL},
	"webhook_method": {since: atAsync, read: (*parser).webhookMethod},
	"webhook_data":   {since: atAsync, read: (*parser).webhookData},
	// It asks the service's own staff for more; there is nothing to be seen of it.
	"debug": {since: atAsync, read: func(*parser, string, json.RawMessage) {}},
	// Older clients name their customer; the key says whose request it is.
	"customer": {since: atAsync, read: func(p *parser, name string, raw json.RawMessage) { p.text(name, raw) }},

	"brd_json": {since: atSERP, read: (*parser).brdJSON},
	"query":    {since: atSERP, read: (*parser).query},
	"multi": {since: atSERP, read: func(p *parser, name string, raw json.RawMessage) {
		if p.bool(name, raw) {
			p.bad.Add("multi is not done by this emulator: send two requests")
		}
	}},
}

var unblockHeaders = map[string]unblockHeader{
	"x-unblock-data-format": {zones: unlockingZones, read: func(p *parser, _, v string) { p.setForm(v) }},
	"x-unblock-expect": {zones: unlockerZones, read: func(p *parser, name, v string) {
		e, err := parseExpectation(v)
		if err != nil {
			p.bad.Add("headers: %s %s", name, err)
		}
		p.c.expect = e
	}},
	"x-unblock-city":    {zones: unlockerZones, read: func(p *parser, name, v string) { p.c.city = p.place(name, v) }},
	"x-unblock-zipcode": {zones: unlockerZones, read: func(p *parser, name, v string) { p.c.zipcode = p.place(name, v) }},
}

// text reads a field that is a string into its place.
func text(at func(*call) *string) func(*parser, string, json.RawMessage) {
	return func(p *parser, name string, raw json.RawMessage) { *at(&p.c) = p.text(name, raw) }
}

func (p *parser) text(name string, raw json.RawMessage) string {
	var v string
	if json.Unmarshal(raw, &v) != nil || v == "" {
		p.bad.Add("%s must be a string that is not empty", name)
	}
	return v
}

func (p *parser) bool(name string, raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		return true
	case "false":
	default:
		p.bad.Add("%s must be true or false", name)
	}
	return false
}

func (p *parser) format(name string, raw json.RawMessage) {
	p.c.format = p.text(name, raw)
	if p.c.format != "raw" && p.c.format != "json" {
		p.bad.Add("format must be raw or json")
	}
}

func (p *parser) method(name string, raw json.RawMessage) {
	p.c.method = strings.ToUpper(p.text(name, raw))
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	if !slices.Contains(methods, p.c.method) {
		p.bad.Add("method must be one of %s", strings.Join(methods, ", "))
	}
}

// webAddress reads an absolute http or https address; nil where v is something else.
func webAddress(v string) *url.URL {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil
	}
	return u
}

func (p *parser) setURL(v string) {
	u, err := pageAddress(v)
	if err != nil {
		p.bad.Add("%s", err)
		return
	}
	p.c.url = u
}

// pageAddress is the address of a page, without its fragment.
func pageAddress(v string) (*url.URL, error) {
	u := webAddress(v)
	switch {
	case len(v) > maxURLBytes:
		return nil, fmt.Errorf("url is longer than %d bytes", maxURLBytes)
	case u == nil:
		return nil, errors.New("url must be an absolute http or https address")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// setForm takes data_format, also from its header; two that differ are a mistake.
func (p *parser) setForm(v string) {
	known := []string{formMarkdown, formScreenshot, formHTML, formLight, formBing, formParsed}
	switch {
	case v == "":
	case !slices.Contains(known, v):
		p.bad.Add("data_format must be one of %s", strings.Join(known, ", "))
	case p.c.form != "" && p.c.form != v:
		p.bad.Add("data_format is given twice: %s and %s", p.c.form, v)
	default:
		p.c.form = v
	}
}

// body takes a string as it is; any other JSON value is sent as JSON.
func (p *parser) body(_ string, raw json.RawMessage) {
	var v string
	if json.Unmarshal(raw, &v) == nil {
		p.c.body = []byte(v)
		return
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		p.bad.Add("body must be a string or JSON")
		return
	}
	p.c.body, p.c.jsonBody = b.Bytes(), true
}

func (p *parser) headers(_ string, raw json.RawMessage) {
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

// unblock reads a header that is meant for the service.
func (p *parser) unblock(name, v string) {
	h, ok := unblockHeaders[name]
	switch {
	case ok:
		p.take("headers: ", name, h.zones, func() { h.read(p, name, v) })
	case p.loose:
		p.c.notes = append(p.c.notes, name+" is ignored: not known")
	default:
		p.bad.Add("headers: %s is not known", name)
	}
}

func (p *parser) place(name, v string) string {
	ok := v != "" && len(v) <= 64
	for _, r := range v {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ' ' || r == '-' || r == '.')
	}
	if !ok {
		p.bad.Add("headers: %s takes letters, digits, spaces, dots and hyphens", name)
	}
	return v
}

func (p *parser) webhookURL(name string, raw json.RawMessage) {
	p.c.hook.URL = p.text(name, raw)
	if webAddress(p.c.hook.URL) == nil {
		p.bad.Add("webhook_url must be an absolute http or https address")
	}
}

func (p *parser) webhookMethod(name string, raw json.RawMessage) {
	p.c.hook.Method = p.text(name, raw)
	if p.c.hook.Method != http.MethodGet && p.c.hook.Method != http.MethodPost {
		p.bad.Add("webhook_method must be GET or POST")
	}
}

func (p *parser) webhookData(_ string, raw json.RawMessage) {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || b.Len() > maxHookBytes {
		p.bad.Add("webhook_data must be JSON of at most %d bytes", maxHookBytes)
	}
	p.c.hook.Payload = b.Bytes()
}

func (p *parser) brdJSON(_ string, raw json.RawMessage) {
	switch string(bytes.Trim(bytes.TrimSpace(raw), `"`)) {
	case "1", "true":
		p.c.form = formParsed
	case "html":
		p.c.form = formParsedHTML
	default:
		p.bad.Add("brd_json must be 1 or html")
	}
}

// query turns {"q", "hl", "gl", …} into the address of a result page.
func (p *parser) query(_ string, raw json.RawMessage) {
	var q map[string]any
	if json.Unmarshal(raw, &q) != nil || q == nil {
		p.bad.Add("query must be an object like {\"q\":\"…\"}")
		return
	}
	values := url.Values{}
	for name, v := range q {
		switch v := v.(type) {
		case string:
			values.Set(name, v)
		case float64:
			values.Set(name, strconv.FormatFloat(v, 'f', -1, 64))
		case bool:
			values.Set(name, strconv.FormatBool(v))
		default:
			p.bad.Add("query: %s must be a string, a number or true or false", strconv.QuoteToASCII(name))
		}
	}
	if values.Get("q") == "" {
		p.bad.Add("query: q is required")
	}
	u := *p.search
	u.RawQuery = values.Encode()
	p.setURL(u.String())
}
