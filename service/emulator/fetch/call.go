package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
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

type call struct {
	zone, format string
	method       string
	url          *url.URL
	header       http.Header
	body         []byte
	jsonBody     bool // body was JSON, not a string
	flags        username.Flags

	// form is the form of the answer (data_format), or "" for the target's bytes.
	form          string
	render        bool
	expect        expectation
	city, zipcode string // x-unblock-city, x-unblock-zipcode
	// custom means that the caller sent headers: then every request is billed, not only those
	// that succeed (public documentation).
	custom  bool
	webhook async.Webhook
	// query is the search of a search page's address, if the product reads those.
	query serp.Query
	// at is the lab's page that replaces a search engine's; nil for other pages.
	labPage *url.URL

	misplaced []string // the fields that have no meaning for the zone's product, with the zones that they are for
	notes     []string // what a loose service ignored
}

// endpoint decides which fields a call can have: each has those of the ones before it.
type endpoint int

const (
	atRequest endpoint = iota // POST /request and its GET twin
	atAsync                   // POST /request?async=true
	atUnblock                 // POST /unblocker/req
	atSERP                    // POST /serp/req
)

func (e endpoint) async() bool { return e != atRequest }

type parser struct {
	endpoint endpoint
	loose    bool
	product  string // of the call's zone; "" takes every field

	*document.Table // the fields, and what is wrong with them
	c               call
}

// parse reads the fields of a call. The error is an [*answer.InvalidError].
func (p *parser) parse() (call, error) {
	p.c = call{method: http.MethodGet, header: http.Header{}}
	required := []string{"url", "format"}
	switch p.endpoint {
	case atUnblock:
		p.c.format, required = "raw", []string{"url"}
	case atSERP:
		p.c.format, required = "raw", nil
	}
	for _, name := range p.Names() {
		p.field(name)
	}
	for _, name := range required {
		p.Require(name)
	}
	if p.Raw("url") != nil && p.Raw("query") != nil && p.endpoint == atSERP {
		p.Refuse("", "url and query are two ways to say the same: send one")
	}
	if p.c.url == nil && p.endpoint == atSERP && p.Invalid() == nil {
		p.Refuse("", "url or query is required")
	}
	var flag *username.FlagError
	if err := p.c.flags.Check(); errors.As(err, &flag) {
		p.Refuse(flag.Flag, "%s", flag.Reason)
	}
	if p.c.jsonBody && p.c.header.Get("Content-Type") == "" {
		p.c.header.Set("Content-Type", "application/json")
	}
	if err := p.Invalid(); err != nil {
		return call{}, err
	}
	return p.c, nil
}

func (p *parser) field(name string) {
	f, ok := fields[name]
	switch {
	case ok && p.endpoint >= f.since:
		p.readFor("", name, f.zones, func() { f.read(p, name) })
	case p.loose:
		p.c.notes = append(p.c.notes, name+" is ignored: not a field of this call")
	default:
		p.Refuse(name, "is not allowed")
	}
}

// readFor reads a field, and refuses it for zones where it has no meaning. A loose service notes
// such a field and ignores it.
func (p *parser) readFor(where, name string, z zones, read func()) {
	before := p.c
	read()
	switch {
	case z.include(p.product):
	case p.loose:
		p.c = before
		p.c.notes = append(p.c.notes, name+" is ignored: it is for "+z.text)
	default:
		p.c.misplaced = append(p.c.misplaced, where+name+" is for "+z.text)
	}
}

// What a product does with a page. The others fetch it through an exit: the proxy networks, and
// the products with separate endpoints (scrapers, data feeds, discovery, deep lookup, agent
// access).
type behaviour int

const (
	plain     behaviour = iota
	unlocking           // unlocker, SERP, crawl: redirects followed, blocks got past
	rendering           // browser: the page as Chromium has it after its scripts
)

type product struct {
	behaviour behaviour
	basis     string
	// forms are the values of data_format, and searchForms the further ones for search pages.
	forms, searchForms []string
}

var (
	network  = product{basis: answer.BasisFetch}
	products = map[string]product{
		"datacenter": network, "isp": network, "residential": network, "mobile": network,
		"unlocker": { // an unlocker zone serves search pages, too (public documentation)
			unlocking, answer.BasisUnlocker, []string{formMarkdown, formScreenshot}, []string{formLight, formBing, formHTML, formParsed},
		},
		"serp": {
			unlocking, answer.BasisUnlocker, []string{formMarkdown, formScreenshot, formHTML}, []string{formLight, formBing, formParsed},
		},
		"browser": {rendering, answer.BasisBrowserPage, []string{formMarkdown, formScreenshot, formHTML}, nil},
		"crawl":   {unlocking, answer.BasisCrawlPage, []string{formMarkdown, formHTML}, nil},
	}
)

// Forms of a page beyond the target's own bytes (data_format, x-unblock-data-format, brd_json).
const (
	formMarkdown   = "markdown"
	formScreenshot = "screenshot"
	formHTML       = "html"
	formLight      = "parsed_light"
	formBing       = "parsed_bing"
	formParsed     = "json"      // brd_json=1: the whole result page as JSON
	formParsedHTML = "json+html" // brd_json=html: the same with the page's HTML inside
)

// checkProduct refuses a call with fields that have no meaning for the zone's product. search is whether
// its address is a search page's. The error is an [*answer.InvalidError].
func (c *call) checkProduct(name string, search bool) error {
	bad := &answer.InvalidError{Details: c.misplaced}
	p := products[name]
	allowed := p.forms
	if search {
		allowed = slices.Concat(p.forms, p.searchForms)
	}
	switch {
	case c.form == "", c.form == formParsedHTML, p.forms == nil, slices.Contains(allowed, c.form):
	case isParsed(c.form) && slices.Contains(p.searchForms, c.form):
		bad.Add("data_format: %s is for search pages", c.form)
	default:
		bad.Add("data_format: a zone of product %s takes %s", name, strings.Join(allowed, ", "))
	}
	if (p.behaviour == rendering || c.render || c.form == formScreenshot) && c.method != "GET" {
		bad.Add("method must be GET where the page is rendered")
	}
	if len(bad.Details) > 0 {
		return bad
	}
	return nil
}

// field is one field of a call: the endpoints that have it, the zones that give it a
// meaning, and how it is read.
type field struct {
	since endpoint // the first endpoint of the order that has it
	zones zones
	read  func(p *parser, name string)
}

// unblockHeader is a header for the service, which never reaches the target (public
// documentation).
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
	allBut   bool // every product but these
}

func (z zones) include(product string) bool {
	return z.text == "" || product == "" || slices.Contains(z.products, product) != z.allBut
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
	bodyZones        = zones{text: "zones other than SERP and browser", products: []string{"serp", "browser"}, allBut: true}
)

// fields are the fields of a call by name (service.md 4.1; beyond zone, url and format:
// public documentation).
var fields = map[string]field{
	"zone":        {read: text(func(c *call) *string { return &c.zone })},
	"url":         {read: func(p *parser, name string) { p.setURL(p.Word(name)) }},
	"format":      {read: (*parser).format},
	"method":      {read: (*parser).method},
	"headers":     {read: (*parser).headers},
	"session":     {read: text(func(c *call) *string { return &c.flags.Session })},
	"c_tag":       {read: text(func(c *call) *string { return &c.flags.CTag })},
	"body":        {zones: bodyZones, read: (*parser).body},
	"data_format": {zones: formZones, read: func(p *parser, name string) { p.setForm(p.Word(name)) }},
	"render":      {zones: scriptZones, read: func(p *parser, name string) { p.c.render = p.truth(name) }},
	"direct":      {zones: networkZones, read: func(p *parser, name string) { p.c.flags.Direct = p.truth(name) }},
	"dns":         {zones: networkZones, read: text(func(c *call) *string { return &c.flags.DNS })},
	"state":       {zones: peerZones, read: text(func(c *call) *string { return &c.flags.State })},
	"city":        {zones: peerZones, read: text(func(c *call) *string { return &c.flags.City })},
	"zip":         {zones: peerZones, read: text(func(c *call) *string { return &c.flags.Zip })},
	"ASN":         {zones: peerZones, read: text(func(c *call) *string { return &c.flags.ASN })},
	"gip":         {zones: peerZones, read: text(func(c *call) *string { return &c.flags.GIP })},
	"os":          {zones: residentialZones, read: text(func(c *call) *string { return &c.flags.OS })},
	"carrier":     {zones: mobileZones, read: text(func(c *call) *string { return &c.flags.Carrier })},
	"ip":          {zones: addressZones, read: text(func(c *call) *string { return &c.flags.IP })},
	"country": {read: func(p *parser, name string) {
		p.c.flags.Country = strings.ToLower(p.Word(name)) // some public clients send it in upper case
	}},
	// Some public clients send these two. The first has no meaning; the service refuses the
	// second in the body.
	"sdk_function": {read: func(*parser, string) {}},
	"async": {read: func(p *parser, _ string) {
		p.Refuse("async", "is not allowed in the body: it is a query parameter")
	}},

	"webhook_url":    {since: atAsync, read: (*parser).webhookURL},
	"webhook_method": {since: atAsync, read: (*parser).webhookMethod},
	"webhook_data":   {since: atAsync, read: (*parser).webhookData},
	// It asks the service's staff for more logs, which clients do not see.
	"debug": {since: atAsync, read: func(*parser, string) {}},
	// Older clients name their customer, which the key already identifies.
	"customer": {since: atAsync, read: func(p *parser, name string) { p.Word(name) }},

	"brd_json": {since: atSERP, read: (*parser).brdJSON},
	"query":    {since: atSERP, read: (*parser).query},
	"multi": {since: atSERP, read: func(p *parser, name string) {
		if p.truth(name) {
			p.Refuse("multi", "is not done by this emulator: send two requests")
		}
	}},
}

var unblockHeaders = map[string]unblockHeader{
	"x-unblock-data-format": {zones: unlockingZones, read: func(p *parser, _, v string) { p.setForm(v) }},
	"x-unblock-expect": {zones: unlockerZones, read: func(p *parser, name, v string) {
		e, err := parseExpectation(v)
		if err != nil {
			p.Refuse("", "headers: %s %s", name, err)
		}
		p.c.expect = e
	}},
	"x-unblock-city":    {zones: unlockerZones, read: func(p *parser, name, v string) { p.c.city = p.place(name, v) }},
	"x-unblock-zipcode": {zones: unlockerZones, read: func(p *parser, name, v string) { p.c.zipcode = p.place(name, v) }},
}

// text reads a field that is a string into its place.
func text(at func(*call) *string) func(*parser, string) {
	return func(p *parser, name string) { *at(&p.c) = p.Word(name) }
}

// truth is a field of true or false; null is neither.
func (p *parser) truth(name string) bool {
	if !p.Has(name) {
		p.Refuse(name, "must be true or false")
	}
	return p.Bool(name)
}

func (p *parser) format(name string) {
	p.c.format = p.Word(name)
	if p.c.format != "raw" && p.c.format != "json" {
		p.Refuse("format", "must be raw or json")
	}
}

func (p *parser) method(name string) {
	p.c.method = strings.ToUpper(p.Word(name))
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	if !slices.Contains(methods, p.c.method) {
		p.Refuse("method", "must be one of %s", strings.Join(methods, ", "))
	}
}

// webAddress reads an absolute http or https address. It returns nil for anything else.
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
		p.Refuse("", "%s", err)
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

// setForm reads data_format, also from its header. Two different values are a mistake.
func (p *parser) setForm(v string) {
	known := []string{formMarkdown, formScreenshot, formHTML, formLight, formBing, formParsed}
	switch {
	case v == "":
	case !slices.Contains(known, v):
		p.Refuse("data_format", "must be one of %s", strings.Join(known, ", "))
	case p.c.form != "" && p.c.form != v:
		p.Refuse("data_format", "is given twice: %s and %s", p.c.form, v)
	default:
		p.c.form = v
	}
}

// body sends a string unchanged, and any other JSON value as JSON.
func (p *parser) body(name string) {
	raw := p.Raw(name)
	switch raw.Kind() {
	case '"':
		p.c.body = []byte(p.Text(name))
	case 'n':
	default:
		p.c.body, p.c.jsonBody = compact(raw), true
	}
}

func (p *parser) headers(name string) {
	var hs map[string]string
	if json.Unmarshal(p.Raw(name), &hs) != nil || hs == nil {
		p.Refuse("headers", "must be an object of strings")
		return
	}
	if len(hs) > maxHeaders {
		p.Refuse("", "headers: more than %d", maxHeaders)
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
		p.Refuse("", "headers: %q is not a valid header", name)
	case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te", "Keep-Alive"}, canonical),
		strings.HasPrefix(canonical, "Proxy-"):
		p.Refuse("", "headers: %s is set by the service", name)
	case strings.HasPrefix(canonical, "X-Unblock-"):
		p.unblock(strings.ToLower(name), v)
	case p.c.header[canonical] != nil:
		p.Refuse("", "headers: %s is given twice", name)
	default:
		p.c.header.Set(name, v)
		p.c.custom = true
	}
}

func (p *parser) unblock(name, v string) {
	h, ok := unblockHeaders[name]
	switch {
	case ok:
		p.readFor("headers: ", name, h.zones, func() { h.read(p, name, v) })
	case p.loose:
		p.c.notes = append(p.c.notes, name+" is ignored: not known")
	default:
		p.Refuse("", "headers: %s is not known", name)
	}
}

func (p *parser) place(name, v string) string {
	if v == "" || len(v) > 64 || strings.ContainsFunc(v, notInPlace) {
		p.Refuse("", "headers: %s takes letters, digits, spaces, dots and hyphens", name)
	}
	return v
}

func notInPlace(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != ' ' && r != '-' && r != '.'
}

func (p *parser) webhookURL(name string) {
	p.c.webhook.URL = p.Word(name)
	if webAddress(p.c.webhook.URL) == nil {
		p.Refuse("webhook_url", "must be an absolute http or https address")
	}
}

func (p *parser) webhookMethod(name string) {
	p.c.webhook.Method = p.Word(name)
	if p.c.webhook.Method != http.MethodGet && p.c.webhook.Method != http.MethodPost {
		p.Refuse("webhook_method", "must be GET or POST")
	}
}

func (p *parser) webhookData(name string) {
	p.c.webhook.Payload = compact(p.Raw(name))
	if len(p.c.webhook.Payload) > maxWebhookBytes {
		p.Refuse(name, "must be JSON of at most %d bytes", maxWebhookBytes)
	}
}

// compact drops the white space between the parts of a value.
func compact(raw jsontext.Value) []byte {
	v := raw.Clone()
	_ = v.Compact() // it was read as JSON before
	return v
}

func (p *parser) brdJSON(name string) {
	switch string(bytes.Trim(bytes.TrimSpace(p.Raw(name)), `"`)) {
	case "1", "true":
		p.c.form = formParsed
	case "html":
		p.c.form = formParsedHTML
	default:
		p.Refuse("brd_json", "must be 1 or html")
	}
}

// query turns {"q", "hl", "gl", …} into the address of a result page.
func (p *parser) query(name string) {
	var q map[string]any
	if json.Unmarshal(p.Raw(name), &q) != nil || q == nil {
		p.Refuse("query", "must be an object like {\"q\":\"…\"}")
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
			p.Refuse("", "query: %s must be a string, a number or true or false", strconv.QuoteToASCII(name))
		}
	}
	if values.Get("q") == "" {
		p.Refuse("", "query: q is required")
	}
	u := searchPage()
	u.RawQuery = values.Encode()
	p.setURL(u.String())
}
