package export

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"zonedeck/model"
	"zonedeck/service/address"
	"zonedeck/service/dialect"
)

// call is what a program has to send, whichever program it is.
type call struct {
	Source
	method  string // in upper case
	url     string // in the spelling of address.Wire
	header  []line // of the target by Native, of the service by API; without the secret
	body    string
	proxy   string        // host:port; empty by API
	remote  string        // the remote browser's address, or empty
	params  []model.Param // of the username, if the source gives none
	user    string        // of the proxy or the remote browser
	ca      string        // path of the CA to trust; empty when none is needed or known
	trusts  bool          // the profile switched certificate checks off
	timeout time.Duration
	recoded bool // gzip is asked for in place of what the form has
}

// line is one line of a header.
type line struct{ name, value string }

// patience is the time a program waits for its answer unless the request says otherwise:
// what a slow zone is given here, too.
const patience = 3 * time.Minute

// newCall checks the fetch as sending it would. For a login the address may be missing.
func newCall(s Source, login bool) (call, error) {
	d, err := dialect.Find(s.Profile.Dialect)
	if err != nil {
		return call{}, err
	}
	r := s.Request
	r.Via = cmp.Or(r.Via, model.ViaAPI)
	r = d.Locate(r)
	s.Request = r
	if err := writable(r); err != nil {
		return call{}, err
	}
	if !utf8.ValidString(s.Secret) {
		return call{}, errors.New("the secret is not text")
	}
	for _, p := range r.Problems(d.Sends()) {
		// The password is the environment's.
		if p.Field != "password" && (!login || p.Field != "url" || r.URL != "") {
			return call{}, fmt.Errorf("it cannot be sent as it stands: %s", p)
		}
	}
	c := call{Source: s, params: d.Params(r), timeout: cmp.Or(r.Timeout, patience)}
	switch r.Via {
	case model.ViaNative:
		c.Request = d.Outgoing(r)
		return c, c.native(login)
	case model.ViaBrowser:
		return c, c.browser(login)
	}
	if s.Profile.BaseURL == "" {
		return call{}, errors.New("the profile has no base URL")
	}
	body, err := d.Request(r)
	if err != nil {
		return call{}, err
	}
	c.method, c.url, c.body = http.MethodPost, strings.TrimRight(s.Profile.BaseURL, "/")+dialect.RequestPath, string(body)
	c.header = []line{{"Content-Type", "application/json"}}
	return c, nil
}

// writable refuses what only the console itself can send.
func writable(r model.FetchRequest) error {
	if r.Via == model.ViaAgent {
		return errors.New("agent access is a conversation by MCP: choose API or Native")
	}
	if names := slices.Sorted(maps.Keys(r.Secrets)); len(names) > 0 {
		return fmt.Errorf("the variable {{%s}} is a secret, and code takes the key or the password alone from the environment", names[0])
	}
	for name, values := range r.Header {
		if slices.Contains(values, model.Masked) {
			return fmt.Errorf("the journal does not keep the value of %s: type it in the form", name)
		}
	}
	return nil
}

// native fills in a fetch through the proxy.
func (c *call) native(login bool) error {
	p, r := c.Profile, c.Request
	if p.ProxyHost == "" {
		return errors.New("the profile has no proxy_host")
	}
	if err := c.login(); err != nil {
		return err
	}
	c.proxy = net.JoinHostPort(p.ProxyHost, strconv.Itoa(p.ProxyPort))
	// The CA is named where the zone's targets need it, and for the embedded emulator,
	// whose authority signs for its own sites.
	if c.trusts = !p.Verify; !c.trusts && (r.Zone.NeedsCA() || p.Local) {
		c.ca = p.CA
	}
	c.method = cmp.Or(strings.ToUpper(r.Method), http.MethodGet)
	c.body = r.Body
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, v := range r.Header[name] {
			c.header = append(c.header, line{http.CanonicalHeaderKey(name), textproto.TrimString(v)})
		}
	}
	if err := c.address(login); err != nil {
		return err
	}
	if c.has("Host") && c.url != "" && !c.secure() {
		return errors.New("the header Host: a proxy is given the address alone; write the host into the address")
	}
	return nil
}

// browser fills in a page of the remote browser.
func (c *call) browser(login bool) error {
	if c.remote = c.Profile.BrowserURL; c.remote == "" {
		return errors.New("the profile names no browser_url")
	}
	if err := c.login(); err != nil {
		return err
	}
	return c.address(login)
}

// login makes the username.
func (c *call) login() error {
	p := c.Profile
	if c.user = c.Username; c.user != "" {
		return nil
	}
	user, err := model.Credential{Prefix: p.UsernamePrefix, Account: p.Account, Zone: c.Request.Zone.Name, Params: c.params}.Username()
	if err != nil {
		return fmt.Errorf("writing the proxy login: %w", err)
	}
	c.user = user
	return nil
}

// address makes the target's address, which a login may lack.
func (c *call) address(login bool) error {
	if login && c.Request.URL == "" {
		return nil
	}
	var err error
	if c.url, err = address.Wire(c.Request.URL); err != nil {
		return fmt.Errorf("the address: %w", err)
	}
	return nil
}

// byProxy reports whether the fetch goes through the proxy.
func (c call) byProxy() bool { return c.proxy != "" }

// secure reports whether the target is reached over TLS.
func (c call) secure() bool { return strings.HasPrefix(c.url, "https:") }

// has reports whether the form has a header of this name.
func (c call) has(name string) bool {
	return slices.ContainsFunc(c.header, func(l line) bool { return l.name == name })
}

// single is the header with one line for each name, which is all that most clients can
// send. Lines of one name mean the same joined (RFC 9110 5.3), those of Cookie joined by
// semicolons (RFC 6265 5.4).
func (c call) single() []line {
	var out []line
	for _, l := range c.header {
		if n := len(out); n > 0 && out[n-1].name == l.name {
			sep := ", "
			if l.name == "Cookie" {
				sep = "; "
			}
			out[n-1].value += sep + l.value
			continue
		}
		out = append(out, l)
	}
	return out
}

// joined names the headers whose lines single joins.
func (c call) joined() []string {
	var out []string
	for i, l := range c.header[:max(0, len(c.header)-1)] {
		if l.name == c.header[i+1].name && !slices.Contains(out, l.name) {
			out = append(out, l.name)
		}
	}
	return out
}

// remarks are the lines of a program's opening comment: how it is run, what it needs, what
// was seen, and what it sends in another spelling.
func (c call) remarks(run string, joins bool) []string {
	var out []string
	if run != "" {
		out = append(out, run)
	}
	if c.Secret == "" {
		out = append(out, c.Needs())
	} else {
		out = append(out, "this holds a secret: keep it to yourself")
	}
	if c.Observed != "" {
		out = append(out, c.Observed)
	}
	if c.AtOnce > 0 {
		out = append(out, fmt.Sprintf("no more than %d of these at once: %s", c.AtOnce, c.Probed))
	}
	if joins {
		for _, name := range c.joined() {
			out = append(out, "the lines of "+name+" are sent as one")
		}
	}
	if c.recoded {
		out = append(out, "Accept-Encoding is sent as gzip, which is all that this program undoes")
	}
	for i, l := range out {
		out[i] = model.Line(l, 400)
	}
	return out
}

// comment writes lines as comments.
func comment(mark string, lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(mark + " " + l + "\n")
	}
	return b.String()
}

// headerLines are "Name: value" lines, sorted by name.
func headerLines(h http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			lines = append(lines, name+": "+v)
		}
	}
	return lines
}
