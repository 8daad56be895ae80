package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"zonedeck/model"
)

// Override is what flags or the environment say instead of the file: fields of a profile by their names there. A path
// is relative to the working folder.
type Override map[string]string

// overridable are the fields that the environment can give, in the order of the documentation.
func overridable() []string {
	return strings.Fields("base_url proxy_host proxy_port agent_url browser_url username_prefix account dialect key api_version ca verify")
}

// Variables lists the environment variables that EnvOverride reads, with what
// they stand for.
func Variables() (out [][2]string) {
	for _, field := range overridable() {
		out = append(out, [2]string{"ZONEDECK_" + strings.ToUpper(field), field})
	}
	return out
}

// EnvOverride reads the ZONEDECK_ variables of Variables. Errors name the
// variable and wrap ErrProfile.
func EnvOverride(getenv func(string) string) (Override, error) {
	o := Override{}
	for _, v := range Variables() {
		name, field := v[0], v[1]
		s := getenv(name)
		if s == "" {
			continue
		}
		if _, err := strconv.ParseBool(s); err != nil && field == "verify" {
			return nil, &fieldError{name, fmt.Sprintf("%q is neither yes nor no", s), "true or false"}
		}
		if field == "proxy_port" && !validPort(s) {
			return nil, &fieldError{name, fmt.Sprintf("%q is not a port", s), "a number from 1 to 65535"}
		}
		o[field] = s
	}
	return o, nil
}

// Or is o where it says something, else weaker: flags.Or(environment).
func (o Override) Or(weaker Override) Override {
	out := Override{}
	maps.Copy(out, weaker)
	maps.Copy(out, o)
	return out
}

// Addressed reports whether the override names another service.
func (o Override) Addressed() bool { return o["base_url"] != "" || o["proxy_host"] != "" }

// On is the profile under an override, checked anew. Errors wrap ErrProfile.
//
// A profile of the embedded emulator whose address is overridden is no longer
// local: it is another service, described by flags alone (FromFlags), so that
// nothing of the demo account reaches it.
func (o Override) On(p model.Profile) (model.Profile, error) {
	configured := p
	if p.Local && (o.Addressed() || o["agent_url"] != "" || o["browser_url"] != "") {
		return FromFlags(o)
	}
	for _, f := range settings(&p) {
		text, given := o[f.name]
		if !given {
			continue
		}
		switch at := f.at.(type) {
		case *int:
			*at, _ = strconv.Atoi(text)
		case *bool:
			*at, _ = strconv.ParseBool(text)
		default:
			f.value().SetString(text)
		}
	}
	if o["ca"] != "" {
		abs, err := filepath.Abs(p.CA)
		if err != nil {
			return model.Profile{}, fmt.Errorf("%w: ca: %w", ErrProfile, err)
		}
		p.CA = abs
	}
	p, err := checked(p)
	p.Redirected = model.Redirected{
		API:   origin(p.BaseURL) != origin(configured.BaseURL),
		Agent: origin(p.AgentURL) != origin(configured.AgentURL),
		Logins: !strings.EqualFold(p.ProxyAddr(), configured.ProxyAddr()) ||
			origin(p.BrowserURL) != origin(configured.BrowserURL),
	}
	return p, err
}

// origin is the scheme, host and port of an address; empty for an invalid one.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443"}[u.Scheme])
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// FromFlags is the profile of an override alone, for a service that no file
// describes. Its name is FlagsName.
func FromFlags(o Override) (model.Profile, error) {
	return o.On(model.Profile{Name: FlagsName, Verify: true})
}

// FlagsName names the profile that flags alone describe.
const FlagsName = "flags"

// SplitPort splits host:port.
func SplitPort(s string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("address %q: write it like proxy.example.com:33335", s)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("address %q: the port is a number from 1 to 65535", s)
	}
	return host, port, nil
}
