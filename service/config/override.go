package config

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"zonedeck/model"
)

// Override is what flags or the environment say instead of the file. Empty
// fields change nothing.
type Override struct {
	BaseURL, ProxyHost string
	ProxyPort          int
	AgentURL           string
	BrowserURL         string
	UsernamePrefix     string
	Account            string
	Dialect            string
	Key                string
	APIVersion         string
	CA                 string // relative to the working folder
	Verify             *bool
}

// Variables lists the environment variables that EnvOverride reads, with what
// they stand for, in the order of the documentation.
func Variables() [][2]string {
	return [][2]string{
		{"ZONEDECK_BASE_URL", "base_url"},
		{"ZONEDECK_PROXY_HOST", "proxy_host"},
		{"ZONEDECK_PROXY_PORT", "proxy_port"},
		{"ZONEDECK_AGENT_URL", "agent_url"},
		{"ZONEDECK_BROWSER_URL", "browser_url"},
		{"ZONEDECK_USERNAME_PREFIX", "username_prefix"},
		{"ZONEDECK_ACCOUNT", "account"},
		{"ZONEDECK_DIALECT", "dialect"},
		{"ZONEDECK_KEY", "key"},
		{"ZONEDECK_API_VERSION", "api_version"},
		{"ZONEDECK_CA", "ca"},
		{"ZONEDECK_VERIFY", "verify"},
	}
}

// EnvOverride reads the ZONEDECK_ variables of Variables. Errors name the
// variable and wrap ErrProfile.
func EnvOverride(getenv func(string) string) (Override, error) {
	o := Override{
		BaseURL: getenv("ZONEDECK_BASE_URL"), ProxyHost: getenv("ZONEDECK_PROXY_HOST"),
		AgentURL: getenv("ZONEDECK_AGENT_URL"), BrowserURL: getenv("ZONEDECK_BROWSER_URL"),
		UsernamePrefix: getenv("ZONEDECK_USERNAME_PREFIX"), Account: getenv("ZONEDECK_ACCOUNT"),
		Dialect: getenv("ZONEDECK_DIALECT"), Key: getenv("ZONEDECK_KEY"),
		APIVersion: getenv("ZONEDECK_API_VERSION"), CA: getenv("ZONEDECK_CA"),
	}
	if s := getenv("ZONEDECK_PROXY_PORT"); s != "" {
		if !validPort(s) {
			return Override{}, &fieldError{"ZONEDECK_PROXY_PORT", fmt.Sprintf("%q is not a port", s), "a number from 1 to 65535"}
		}
		o.ProxyPort, _ = strconv.Atoi(s)
	}
	if s := getenv("ZONEDECK_VERIFY"); s != "" {
		v, err := strconv.ParseBool(s)
		if err != nil {
			return Override{}, &fieldError{"ZONEDECK_VERIFY", fmt.Sprintf("%q is neither yes nor no", s), "true or false"}
		}
		o.Verify = &v
	}
	return o, nil
}

// Empty reports whether the override changes nothing.
func (o Override) Empty() bool { return o == Override{} }

// Or is o where it says something, else weaker: flags.Or(environment).
func (o Override) Or(weaker Override) Override {
	pick(&o.BaseURL, weaker.BaseURL)
	pick(&o.ProxyHost, weaker.ProxyHost)
	pick(&o.ProxyPort, weaker.ProxyPort)
	pick(&o.AgentURL, weaker.AgentURL)
	pick(&o.BrowserURL, weaker.BrowserURL)
	pick(&o.UsernamePrefix, weaker.UsernamePrefix)
	pick(&o.Account, weaker.Account)
	pick(&o.Dialect, weaker.Dialect)
	pick(&o.Key, weaker.Key)
	pick(&o.APIVersion, weaker.APIVersion)
	pick(&o.CA, weaker.CA)
	pick(&o.Verify, weaker.Verify)
	return o
}

func pick[T comparable](field *T, weaker T) {
	var none T
	if *field == none {
		*field = weaker
	}
}

// With is the profile under an override, checked anew. Errors wrap ErrProfile.
//
// A profile of the embedded emulator whose address is overridden is no longer
// local: it is another service, described by flags alone (FromFlags), so that
// nothing of the demo account reaches it.
func (o Override) On(p model.Profile) (model.Profile, error) {
	if p.Local && (o.BaseURL != "" || o.ProxyHost != "" || o.AgentURL != "" || o.BrowserURL != "") {
		return FromFlags(o)
	}
	set(&p.BaseURL, o.BaseURL)
	set(&p.ProxyHost, o.ProxyHost)
	set(&p.ProxyPort, o.ProxyPort)
	set(&p.AgentURL, o.AgentURL)
	set(&p.BrowserURL, o.BrowserURL)
	set(&p.UsernamePrefix, o.UsernamePrefix)
	set(&p.Account, model.AccountID(o.Account))
	set(&p.Dialect, o.Dialect)
	set(&p.Key, o.Key)
	set(&p.APIVersion, o.APIVersion)
	if o.CA != "" {
		abs, err := filepath.Abs(o.CA)
		if err != nil {
			return model.Profile{}, fmt.Errorf("%w: ca: %w", ErrProfile, err)
		}
		p.CA = abs
	}
	if o.Verify != nil {
		p.Verify = *o.Verify
	}
	return checked(p)
}

// FromFlags is the profile of an override alone, for a service that no file
// describes. Its name is FlagsName.
func FromFlags(o Override) (model.Profile, error) {
	return o.On(model.Profile{Name: FlagsName, Verify: true})
}

// FlagsName names the profile that flags alone describe.
const FlagsName = "flags"

func set[T comparable](field *T, value T) {
	var none T
	if value != none {
		*field = value
	}
}

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
