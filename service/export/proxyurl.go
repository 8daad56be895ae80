package export

import (
	"errors"
	"net/url"
	"strings"
)

// writeURL writes http://user:password@host:port.
func writeURL(c call) (string, error) {
	if !c.byProxy() {
		return "", errors.New("the API needs no proxy: choose Native")
	}
	return c.proxyURL() + "\n", nil
}

// ProxyURL is http://user:password@host:port.
func ProxyURL(addr, username, password string) string {
	u := url.URL{Scheme: "http", Host: addr, User: url.UserPassword(username, password)}
	return u.String()
}

// remoteURL writes the remote browser's address with its login.
func remoteURL(c call) (string, error) {
	u, err := url.Parse(c.remote)
	if err != nil {
		return "", errors.New("the profile's browser_url is no address")
	}
	u.User = url.UserPassword(c.user, c.Secret)
	if c.Secret == "" {
		u.User = url.User(c.user)
		return c.withVariable(u) + "\n", nil
	}
	return u.String() + "\n", nil
}

// proxyURL is the proxy's address with its login.
func (c call) proxyURL() string {
	if c.Secret != "" {
		return ProxyURL(c.proxy, c.user, c.Secret)
	}
	return c.withVariable(&url.URL{Scheme: "http", Host: c.proxy, User: url.User(c.user)})
}

// withVariable is an address with the variable in the password's place: a text for a shell's
// double quotes, so that a "$" of the username, which URLs allow as it is, is escaped.
func (c call) withVariable(u *url.URL) string {
	return strings.Replace(strings.ReplaceAll(u.String(), "$", "%24"), "@", ":${"+c.Env()+"}@", 1)
}
