package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
)

// Defaults of a profile.
const (
	DefaultProxyPort  = 33335 // service.md 8
	DefaultAPIVersion = "v3"  // service.md 9
)

// LocalName names the profile of the embedded emulator; no profile of the
// configuration may take it.
const LocalName = "local"

// ErrProfile is wrapped by every refusal of a profile's value.
var ErrProfile = errors.New("profile")

// Profile is one account at one service, as configuration, environment and flags
// describe it. It holds references to secrets, never secrets.
type Profile struct {
	Name string
	// BaseURL is the API's address without a trailing slash (service.md 4), or
	// empty when the profile is for native access alone.
	BaseURL string
	// ProxyHost is a name or an address, without a port; empty when the profile is
	// for API access alone (service.md 5.2).
	ProxyHost string
	ProxyPort int
	// AgentURL is the address of the MCP endpoint of agent access (streamable HTTP), without
	// a key, or empty. BrowserURL is the remote browser's address for the Chrome DevTools
	// Protocol, ws or wss, without a login, or empty. The contract names both products and
	// shows neither address.
	AgentURL, BrowserURL string
	// UsernamePrefix is the fixed word a username begins with (service.md 5.2).
	UsernamePrefix string
	Account        model.AccountID
	// Dialect names the dialect, which says what is assumed beyond the contract. Empty
	// sends what the contract shows, and leaves it to an answer by which dialect it is
	// read.
	Dialect string
	// Key names the key of the inventory that is used unless another is picked.
	Key string
	// APIVersion is the version segment of the dataset paths (service.md 9).
	APIVersion string
	// CA is the path of a PEM file with a certificate to trust besides the
	// system's, absolute; empty when none is needed (service.md 5.2 rule 3).
	CA string
	// Verify is false only where the operator turned certificate checks off.
	Verify bool
	Zones  []model.Zone
	// Variables are what {{name}} stands for in requests: a value, or a reference to a secret.
	Variables map[string]string
	// MaxJobCost refuses jobs if the upper end of their estimate is more dollars, or is not known; 0 refuses none.
	MaxJobCost float64
	// ReadOnly refuses what changes something at the service, at a target, or in the
	// configuration (see Refuse).
	ReadOnly bool
	// AllowedDomains are the only targets that are fetched (see RefuseTarget); empty allows all.
	AllowedDomains []string
	// Color is one of Colors, for the profile's name on the screen; empty for none.
	Color string
	// Local says that this is the embedded emulator.
	Local bool
}

// ProxyAddr is host:port of the proxy, or empty when the profile has none.
func (p Profile) ProxyAddr() string {
	if p.ProxyHost == "" {
		return ""
	}
	return net.JoinHostPort(p.ProxyHost, strconv.Itoa(p.ProxyPort))
}

// DialectName is the name of the dialect that requests are made by.
func (p Profile) DialectName() string { return cmp.Or(p.Dialect, dialect.Default().Name()) }

// Zone finds a zone by name.
func (p Profile) Zone(name string) (model.Zone, bool) {
	i := slices.IndexFunc(p.Zones, func(z model.Zone) bool { return string(z.Name) == name })
	if i < 0 {
		return model.Zone{}, false
	}
	return p.Zones[i], true
}

// ZoneNames lists the zones' names in the profile's order.
func (p Profile) ZoneNames() []model.ZoneName {
	out := make([]model.ZoneName, len(p.Zones))
	for i, z := range p.Zones {
		out[i] = z.Name
	}
	return out
}

// Notes are what an operator should know of the profile while using it, one
// sentence each: certificate checks that are off, a key that travels in clear.
func (p Profile) Notes() []string {
	var notes []string
	if !p.Verify {
		notes = append(notes, "certificate checks are off for this profile (verify = false): anybody on the way can read along")
	}
	for _, clear := range []struct{ address, note string }{
		{p.BaseURL, "base_url is http: the key travels unencrypted"},
		{p.AgentURL, "agent_url is http: the key travels unencrypted"},
		{p.BrowserURL, "browser_url is ws: the zone's password travels unencrypted"},
	} {
		if u, err := url.Parse(clear.address); err == nil && (u.Scheme == "http" || u.Scheme == "ws") && !loopback(u.Hostname()) {
			notes = append(notes, clear.note)
		}
	}
	return notes
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// fieldError is a refusal of one field, before it is known where it was written.
type fieldError struct {
	field, msg, expected string
}

func (e *fieldError) Error() string {
	s := e.field + ": " + e.msg
	if e.expected != "" {
		s += "; expected " + e.expected
	}
	return s
}

func (*fieldError) Unwrap() error { return ErrProfile }

// Validate checks every field and how they go together. Errors wrap ErrProfile
// and name the field.
func (p Profile) Validate() error {
	_, err := p.checked()
	return err
}

// checked applies defaults and checks everything. The error is a *fieldError or
// nil.
func (p Profile) checked() (Profile, error) {
	if p.ProxyPort == 0 {
		p.ProxyPort = DefaultProxyPort
	}
	if p.APIVersion == "" {
		p.APIVersion = DefaultAPIVersion
	}
	for _, check := range []func(*Profile) *fieldError{
		checkName, checkAddresses, checkBaseURL, checkProxy, checkEntries, checkLogin, checkDialect, checkVersion, checkColor, checkMaxCost, checkDomains, checkZones, checkVariables,
	} {
		if fe := check(&p); fe != nil {
			return p, fe
		}
	}
	return p, nil
}

func checkMaxCost(p *Profile) *fieldError {
	if p.MaxJobCost != 0 && !(p.MaxJobCost > 0 && p.MaxJobCost <= maxRate) {
		return &fieldError{"max_job_cost", fmt.Sprintf("it cannot be %v", p.MaxJobCost), "dollars, more than 0, or no line for no cap"}
	}
	return nil
}

func checkName(p *Profile) *fieldError {
	const expected = "letters, digits, dashes and underscores, at most 64"
	switch {
	case p.Name == LocalName && !p.Local:
		return &fieldError{"name", fmt.Sprintf("the name %q belongs to the embedded emulator", p.Name), "another name"}
	case p.Name == "" || len(p.Name) > 64 || strings.ContainsFunc(p.Name, func(r rune) bool { return !isBare(r) }):
		return &fieldError{"name", fmt.Sprintf("%q cannot name a profile", p.Name), expected}
	}
	return nil
}

func isBare(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func checkAddresses(p *Profile) *fieldError {
	if p.BaseURL == "" && p.ProxyHost == "" && p.AgentURL == "" && p.BrowserURL == "" {
		return &fieldError{"base_url", "the profile has no address", "at least one of base_url, proxy_host, agent_url and browser_url"}
	}
	return nil
}

func checkBaseURL(p *Profile) *fieldError {
	if p.BaseURL == "" {
		return nil
	}
	const expected = "an address like https://api.example.com"
	u, err := url.Parse(p.BaseURL)
	switch {
	case err != nil:
		// The error repeats the text, and a login may stand in it.
		return &fieldError{"base_url", "this is not an address", expected}
	case u.User != nil, strings.Contains(p.BaseURL, "@"): // without a scheme the parser sees no user part
		return &fieldError{"base_url", "a login cannot stand in the address", expected}
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return &fieldError{"base_url", fmt.Sprintf("%q is not an absolute http or https address", p.BaseURL), expected}
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return &fieldError{"base_url", "a query or a fragment cannot stand in the address", expected}
	}
	if port := u.Port(); port != "" && !validPort(port) {
		return &fieldError{"base_url", fmt.Sprintf("the port %s does not exist", port), expected}
	}
	p.BaseURL = strings.TrimRight(p.BaseURL, "/")
	return nil
}

func validPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0 && n < 1<<16
}

func checkProxy(p *Profile) *fieldError {
	if p.ProxyPort < 1 || p.ProxyPort > 65535 {
		return &fieldError{"proxy_port", fmt.Sprintf("the port %d does not exist", p.ProxyPort), "a number from 1 to 65535"}
	}
	if p.ProxyHost == "" {
		return nil
	}
	const expected = "a name like proxy.example.com, without scheme and port"
	h := p.ProxyHost
	if strings.ContainsFunc(h, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) || strings.ContainsAny(h, "/@?#") {
		return &fieldError{"proxy_host", "this is not the name of a host", expected}
	}
	if inner, ok := strings.CutPrefix(h, "["); ok {
		h = strings.TrimSuffix(inner, "]")
	}
	if strings.Contains(h, ":") && net.ParseIP(h) == nil {
		return &fieldError{"proxy_host", "the port goes into proxy_port", expected}
	}
	p.ProxyHost = h
	return nil
}

// checkEntries checks the addresses of agent access and of the remote browser.
func checkEntries(p *Profile) *fieldError {
	for _, e := range []struct {
		field, address, expected string
		schemes                  []string
		query                    bool
	}{
		{"agent_url", p.AgentURL, "an address like https://mcp.example.com/mcp", []string{"https", "http"}, true},
		{"browser_url", p.BrowserURL, "an address like wss://browser.example.com:9222", []string{"wss", "ws"}, false},
	} {
		if e.address == "" {
			continue
		}
		u, err := url.Parse(e.address)
		switch {
		case err != nil: // the error repeats the text, and a login may stand in it
			return &fieldError{e.field, "this is not an address", e.expected}
		case u.User != nil, strings.Contains(e.address, "@"):
			return &fieldError{e.field, "a login cannot stand in the address", e.expected}
		case !slices.Contains(e.schemes, u.Scheme), u.Hostname() == "", u.Fragment != "":
			return &fieldError{e.field, "this is not an absolute address of " + strings.Join(e.schemes, " or "), e.expected}
		case u.RawQuery != "" && !e.query:
			return &fieldError{e.field, "a query cannot stand in the address", e.expected}
		case u.Port() != "" && !validPort(u.Port()):
			return &fieldError{e.field, fmt.Sprintf("the port %s does not exist", u.Port()), e.expected}
		}
		for name := range u.Query() {
			if model.SecretName(name) {
				return &fieldError{e.field, fmt.Sprintf("a secret cannot stand in the address: take %s out, the profile's key is used", name), e.expected}
			}
		}
	}
	return nil
}

func checkLogin(p *Profile) *fieldError {
	if p.Account != "" {
		d, _ := dialect.Find(p.Dialect)
		if _, err := d.ParseAccount(string(p.Account)); err != nil {
			return &fieldError{"account", err.Error(), "an identifier like hl_1234abcd"}
		}
	}
	if strings.ContainsFunc(p.UsernamePrefix, func(r rune) bool {
		return r == '-' || r == ':' || unicode.IsSpace(r) || unicode.IsControl(r)
	}) {
		return &fieldError{"username_prefix", fmt.Sprintf("%q cannot begin a username", p.UsernamePrefix), "one word without - and :"}
	}
	var entry string
	switch {
	case p.ProxyHost != "":
		entry = "proxy_host"
	case p.BrowserURL != "":
		entry = "browser_url"
	default:
		return nil
	}
	if p.Account == "" {
		return &fieldError{"account", "a profile with " + entry + " needs its account", "an identifier like hl_1234abcd"}
	}
	if p.UsernamePrefix == "" {
		return &fieldError{"username_prefix", "a profile with " + entry + " needs the word its usernames begin with", "what stands before -customer- in the zone's access details"}
	}
	return nil
}

func checkDialect(p *Profile) *fieldError {
	if p.Dialect != "" && !slices.Contains(dialect.Names(), p.Dialect) {
		return &fieldError{"dialect", fmt.Sprintf("unknown dialect %q", p.Dialect), "one of " + strings.Join(dialect.Names(), ", ")}
	}
	return nil
}

func checkColor(p *Profile) *fieldError {
	if p.Color != "" && !slices.Contains(Colors(), p.Color) {
		return &fieldError{"color", fmt.Sprintf("unknown color %q", p.Color), "one of " + strings.Join(Colors(), ", ")}
	}
	return nil
}

func checkVersion(p *Profile) *fieldError {
	digits, ok := strings.CutPrefix(p.APIVersion, "v")
	if !ok || digits == "" || len(digits) > 4 || strings.Trim(digits, "0123456789") != "" {
		return &fieldError{"api_version", fmt.Sprintf("%q is not a version", p.APIVersion), "a segment like v3"}
	}
	return nil
}

func checkZones(p *Profile) *fieldError {
	seen := map[model.ZoneName]bool{}
	for _, z := range p.Zones {
		if _, err := model.ParseZoneName(string(z.Name)); err != nil {
			return &fieldError{"zones", err.Error(), "the name the zone was created with"}
		}
		if z.Password != "" {
			if _, err := keystore.ParseRef(z.Password); err != nil {
				return &fieldError{"zones", fmt.Sprintf("the password of zone %q is %s", z.Name, err), ""}
			}
		}
		if seen[z.Name] {
			return &fieldError{"zones", fmt.Sprintf("a second zone is named %q", z.Name), "every zone once"}
		}
		seen[z.Name] = true
	}
	return nil
}
