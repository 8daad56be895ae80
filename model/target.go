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
		return nil, errors.New("it is empty")
	case len(s) > MaxURL:
		return nil, fmt.Errorf("%d bytes are too long; at most %d", len(s), MaxURL)
	case !utf8.ValidString(s), strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return nil, errors.New("it holds a space, a control character or bytes that are not text")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, stripURL(err)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("write an absolute address, like https://example.com/page")
	case u.User != nil:
		return nil, errors.New("an address with a login in it is not sent; use an Authorization header")
	case !validPort(u.Port()):
		return nil, fmt.Errorf("port %s: a port is a number from 1 to 65535", u.Port())
	}
	if err := checkHost(u.Hostname()); err != nil {
		return nil, err
	}
	return u, nil
}

// stripURL takes the address out of an error of url.Parse: it may hold a login.
func stripURL(err error) error {
	if ue, ok := err.(*url.Error); ok { //nolint:errorlint // url.Parse returns it bare
		return ue.Err
	}
	return err
}

// validPort reports whether an address's port, which may be left out, is one.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}
