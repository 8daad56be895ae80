package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// ErrDomain is wrapped by every refusal of a target outside a profile's allowed domains.
var ErrDomain = errors.New("outside the allowed domains")

// RefuseTarget is why a profile with allowed domains does not have an address fetched; nil for one
// that may. A profile without any allows every target. An address that is not one is left to who
// checks addresses.
func RefuseTarget(p model.Profile, address string) error {
	if len(p.AllowedDomains) == 0 {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return outside(p, "this address")
	}
	host, ok := domain(u.Hostname())
	if ok && slices.ContainsFunc(p.AllowedDomains, func(pattern string) bool { return covers(pattern, host) }) {
		return nil
	}
	return outside(p, u.Hostname())
}

// RefuseAnyTarget is RefuseTarget for a call that may reach any host.
func RefuseAnyTarget(p model.Profile, what string) error {
	if len(p.AllowedDomains) == 0 {
		return nil
	}
	return outside(p, what)
}

func outside(p model.Profile, what string) error {
	return fmt.Errorf("%s is %w of profile %s (%s): add it to allowed_domains in config.toml, or use another profile",
		what, ErrDomain, p.Name, strings.Join(p.AllowedDomains, ", "))
}

// covers reports whether a pattern covers a host, both as domain spells them: a name covers itself,
// "*." and a name its subdomains.
func covers(pattern, host string) bool {
	if parent, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(host, "."+parent)
	}
	return pattern == host
}

// domain is a host's name in lower case and ASCII, without a final dot.
func domain(host string) (string, bool) {
	ascii, err := httpguts.PunycodeHostPort(strings.TrimSuffix(host, "."))
	return strings.ToLower(ascii), err == nil && ascii != ""
}

func checkDomains(p *model.Profile) *fieldError {
	for i, pattern := range p.AllowedDomains {
		parent, under := strings.CutPrefix(strings.TrimSpace(pattern), "*.")
		name, ok := domain(parent)
		if !ok || strings.ContainsAny(name, "*/:@?# \t") || strings.Contains(name, "..") || strings.HasPrefix(name, ".") {
			return &fieldError{"allowed_domains", fmt.Sprintf("%q is not a domain", pattern), "names like shop.example.com, or *.example.com for its subdomains"}
		}
		if under {
			name = "*." + name
		}
		if i == 0 {
			p.AllowedDomains = slices.Clone(p.AllowedDomains)
		}
		p.AllowedDomains[i] = name
	}
	return nil
}

// quotedList is a list of texts as one line of a file.
func quotedList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = textfile.Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// ErrRedirected is wrapped by the refusal of a stored password.
var ErrRedirected = errors.New("stored for the configured addresses")

// RefuseLogin is why a zone's stored password is not sent, nil if it is: flags or the environment lead to another
// proxy or remote browser than the one that it was stored for. The password of the environment is given for the run.
func RefuseLogin(p model.Profile, z model.Zone) error {
	if !p.Redirected.Logins || z.Password == "" || z.Password == "env:"+EnvPassword {
		return nil
	}
	return fmt.Errorf("the password of zone %s is %w of profile %s: leave --proxy-host, ZONEDECK_PROXY_HOST, ZONEDECK_PROXY_PORT and ZONEDECK_BROWSER_URL out, or give the password for this run as %s. Nothing was sent with it",
		z.Name, ErrRedirected, p.Name, EnvPassword)
}
