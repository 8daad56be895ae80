package model

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxURL bounds a target's address, in bytes: what a public client of a service
// of this kind accepts. The contract shows no limit.
const MaxURL = 8192

// ParseTarget reads a target's address: absolute, http or https, without a login.
func ParseTarget(s string) (*url.URL, error) {
	switch {
	case s == "":
		return nil, errors.New("type the target's address, such as https://example.com/")
	case len(s) > MaxURL:
		return nil, fmt.Errorf("%d bytes are too long; at most %d", len(s), MaxURL)
	case !utf8.ValidString(s), strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return nil, errors.New("an address cannot have spaces, control characters or bytes that are not text")
	}
	u, err := url.Parse(s)
	switch {
	case clearLogin().MatchString(s):
		return nil, errors.New("it looks like an address with a login, and " + escapeLogin)
	case err != nil:
		return nil, fmt.Errorf("not an address: %w", errors.Unwrap(err)) // without the address, which may hold a login
	case u.Scheme == "" || withoutScheme(u):
		if WithScheme(s) == "" {
			return nil, errors.New("not an absolute address: begin with http:// or https://")
		}
		return nil, fmt.Errorf("not an absolute address: did you mean http://%s?", Cut(s, 60))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s is not fetched: use http or https", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("the host is missing")
	case u.User != nil:
		return nil, errors.New("a login in the address would be kept in history: send it as a header")
	case !validPort(u.Port()):
		return nil, errors.New("a port is a number from 1 to 65535")
	}
	if err := checkHost(u.Hostname()); err != nil {
		return nil, err
	}
	return u, nil
}

// WithScheme is the address that was meant by one without a scheme, or empty.
func WithScheme(s string) string {
	if _, err := ParseTarget("http://" + s); err != nil || strings.Contains(s, "://") {
		return ""
	}
	return "http://" + s
}

// withoutScheme reports whether what was read as a scheme is a host with a port, as in shop.example:8080/x; there is none in
// javascript:alert(1).
func withoutScheme(u *url.URL) bool {
	port, _, _ := strings.Cut(u.Opaque, "/")
	return u.Host == "" && port != "" && validPort(port)
}

// validPort reports whether an address's port, which may be left out, is one.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}
