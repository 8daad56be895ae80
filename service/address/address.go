// Package address spells the addresses of targets as they are sent.
package address

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"zonedeck/model"
)

// Wire is a target's address in the spelling of RFC 3986, without a fragment: clients
// disagree about what they do with any other. What is no part of an address by its rules,
// and the apostrophe in a query, is percent-encoded; the host is in ASCII.
func Wire(url string) (string, error) {
	u, err := model.ParseTarget(url)
	if err != nil {
		return "", err
	}
	host, err := httpguts.PunycodeHostPort(u.Host)
	if err != nil {
		return "", err //nolint:wrapcheck // the caller names the address
	}
	rest, _, _ := strings.Cut(url, "#")
	_, rest, _ = strings.Cut(rest, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest = rest[i:]
	} else {
		rest = ""
	}
	path, query, asks := strings.Cut(rest, "?")
	if path == "" {
		path = "/"
	}
	out := u.Scheme + "://" + strings.ToLower(host) + percent(path, "!$&'()*+,;=:@/")
	if asks && query != "" {
		out += "?" + percent(query, "!$&()*+,;=:@/?")
	}
	return out, nil
}

// percent encodes every byte of s that is neither unreserved, nor among those that are
// allowed as well, nor the beginning of an escape.
func percent(s, allowed string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if alnum(c) || strings.IndexByte("-._~"+allowed, c) >= 0 || c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b.WriteByte(c)
			continue
		}
		b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
	}
	return b.String()
}

func alnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
