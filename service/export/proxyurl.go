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

// proxyURL is the proxy's address with its login. With the variable in the
// password's place it is text for a shell's double quotes, so a "$" of the
// username, which URLs allow as it is, is escaped.
func (c call) proxyURL() string {
	if c.Secret != "" {
		return ProxyURL(c.proxy, c.user, c.Secret)
	}
	u := url.URL{Scheme: "http", Host: c.proxy, User: url.User(c.user)}
	return strings.Replace(strings.ReplaceAll(u.String(), "$", "%24"), "@", ":${"+c.Env()+"}@", 1)
}
