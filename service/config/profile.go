package config

import (
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
	"zonedeck/service/database"
	"zonedeck/service/dialect"
)

// ErrProfile is wrapped by every refusal of a profile's value.
var ErrProfile = errors.New("profile")

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
func Validate(p model.Profile) error {
	_, err := checked(p)
	return err
}

// checked applies defaults and checks everything. The error is a *fieldError or
// nil.
func checked(p model.Profile) (model.Profile, error) {
	if p.ProxyPort == 0 {
		p.ProxyPort = model.DefaultProxyPort
	}
	if p.APIVersion == "" {
		p.APIVersion = model.DefaultAPIVersion
	}
	for _, check := range []func(*model.Profile) *fieldError{
		checkName, checkMarks, checkAddresses, checkBaseURL, checkProxy, checkEntries, checkLogin, checkDialect, checkVersion, checkColor, checkMaxCost, checkKeyRate, checkDomains, checkDatabase, checkTestPage, checkZones, checkVariables,
	} {
		if fe := check(&p); fe != nil {
			return p, fe
		}
	}
	return p, nil
}

func checkMaxCost(p *model.Profile) *fieldError {
	if p.MaxJobCost != 0 && !(p.MaxJobCost > 0 && p.MaxJobCost <= maxRate) {
		return &fieldError{"max_job_cost", fmt.Sprintf("it cannot be %v", p.MaxJobCost), "dollars, more than 0, or no line for no cap"}
	}
	return nil
}

// maxKeyRate is more calls a second than a machine makes.
const maxKeyRate = 10_000

func checkKeyRate(p *model.Profile) *fieldError {
	if p.KeyRate != 0 && !(p.KeyRate > 0 && p.KeyRate <= maxKeyRate) {
		return &fieldError{"key_rate", fmt.Sprintf("it cannot be %v", p.KeyRate), fmt.Sprintf("calls a second, more than 0 and at most %d, or no line for the usual rate", maxKeyRate)}
	}
	return nil
}

func checkDatabase(p *model.Profile) *fieldError {
	const expected = "postgres://NAME@HOST/DATABASE, or a reference to an address such as env:NAME"
	if p.Database == "" {
		return nil
	}
	if !database.IsAddress(p.Database) {
		if _, err := keystore.ParseRef(p.Database); err != nil {
			return &fieldError{"database", "this is no address of a PostgreSQL database, and no reference", expected}
		}
	} else if database.HoldsPassword(p.Database) {
		return &fieldError{"database", "a password cannot stand in the configuration", expected}
	}
	return nil
}

// maxTestText is the longest text of a test page, in bytes.
const maxTestText = 200

func checkTestPage(p *model.Profile) *fieldError {
	if p.TestURL == "" && p.TestText == "" {
		return nil
	}
	if u, err := model.ParseTarget(p.TestURL); err != nil {
		return &fieldError{"test_url", err.Error(), "the page that shows test_text, like https://example.com/"}
	} else if name := secretIn(u); name != "" {
		return &fieldError{"test_url", "a secret cannot stand in the address: take " + name + " out", "a page that anybody may see"}
	}
	if RefuseTarget(*p, p.TestURL) != nil {
		return &fieldError{"test_url", "it is outside allowed_domains", "a page of " + strings.Join(p.AllowedDomains, ", ")}
	}
	expected := fmt.Sprintf("one line of plain text that only this page shows, at most %d bytes", maxTestText)
	switch {
	case strings.TrimSpace(p.TestText) == "":
		return &fieldError{"test_text", "without a text to look for, the page at test_url proves nothing", expected}
	case len(p.TestText) > maxTestText, strings.ContainsFunc(p.TestText, func(r rune) bool { return !unicode.IsPrint(r) }):
		return &fieldError{"test_text", "it is too long, or has line ends or characters that cannot be seen", expected}
	}
	return nil
}

func checkName(p *model.Profile) *fieldError {
	const expected = "letters, digits, dashes and underscores, at most 64"
	switch {
	case p.Name == model.LocalName && !p.Local:
		return &fieldError{"name", fmt.Sprintf("the name %q belongs to the embedded emulator", p.Name), "another name"}
	case p.Name == "" || len(p.Name) > 64 || strings.ContainsFunc(p.Name, func(r rune) bool { return !isBare(r) }):
		return &fieldError{"name", fmt.Sprintf("%q cannot name a profile", p.Name), expected}
	}
	return nil
}

func isBare(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func checkAddresses(p *model.Profile) *fieldError {
	if p.BaseURL == "" && p.ProxyHost == "" && p.AgentURL == "" && p.BrowserURL == "" {
		return &fieldError{"base_url", "the profile has no address", "at least one of base_url, proxy_host, agent_url and browser_url"}
	}
	return nil
}

// checkMarks refuses marks at the ends of addresses by name, because nobody sees them.
func checkMarks(p *model.Profile) *fieldError {
	for _, f := range [][2]string{{"base_url", p.BaseURL}, {"proxy_host", p.ProxyHost}, {"agent_url", p.AgentURL}, {"browser_url", p.BrowserURL}} {
		if _, marks := model.TrimMarks(f[1]); marks != "" {
			return &fieldError{f[0], marks + " stands at its ends, where it cannot be seen", "the same without it"}
		}
	}
	return nil
}

func checkBaseURL(p *model.Profile) *fieldError {
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

func checkProxy(p *model.Profile) *fieldError {
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
func checkEntries(p *model.Profile) *fieldError {
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
		if name := secretIn(u); name != "" {
			return &fieldError{e.field, "a secret cannot stand in the address: take " + name + " out, the profile's key is used", e.expected}
		}
	}
	return nil
}

// secretIn is a parameter of an address that is a secret by its name, or empty.
func secretIn(u *url.URL) string {
	for name := range u.Query() {
		if model.SecretName(name) {
			return name
		}
	}
	return ""
}

func checkLogin(p *model.Profile) *fieldError {
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

func checkDialect(p *model.Profile) *fieldError {
	if p.Can = dialect.Abilities(p.Dialect); p.Can == nil {
		return &fieldError{"dialect", fmt.Sprintf("unknown dialect %q", p.Dialect), "one of " + strings.Join(dialect.Names(), ", ")}
	}
	return nil
}

func checkColor(p *model.Profile) *fieldError {
	if p.Color != "" && !slices.Contains(model.Colors(), p.Color) {
		return &fieldError{"color", fmt.Sprintf("unknown color %q", p.Color), "one of " + strings.Join(model.Colors(), ", ")}
	}
	return nil
}

func checkVersion(p *model.Profile) *fieldError {
	digits, ok := strings.CutPrefix(p.APIVersion, "v")
	if !ok || digits == "" || len(digits) > 4 || strings.Trim(digits, "0123456789") != "" {
		return &fieldError{"api_version", fmt.Sprintf("%q is not a version", p.APIVersion), "a segment like v3"}
	}
	return nil
}

func checkZones(p *model.Profile) *fieldError {
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
