package model

import (
	"strings"
	"testing"
)

// FuzzParseTarget: whatever is typed is refused or is an address with a host, and
// what is accepted has no login and no white space.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"http://lab.test/ok", "https://[::1]:8/", "http://a b", "http://u:p@h/", "//x", "http://%41", "http://\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseTarget(s)
		if err != nil {
			return
		}
		if !strings.HasPrefix(strings.ToLower(s), "http") || strings.ContainsAny(s, " \t\r\n") || u.Hostname() == "" || u.User != nil {
			t.Errorf("%q is taken for an address", s)
		}
	})
}

func TestATargetIsAnAbsoluteAddressWithAHost(t *testing.T) {
	for s, want := range map[string]string{
		"":                         "type the target's address, such as https://example.com/",
		"http://a b/":              "an address cannot have spaces, control characters or bytes that are not text",
		"http://a/\xff":            "an address cannot have spaces, control characters or bytes that are not text",
		"http://lab.test/%zz":      `not an address: invalid URL escape "%zz"`,
		"lab.test/ok":              "not an absolute address: did you mean http://lab.test/ok?",
		"lab.test:80/ok":           "not an absolute address: did you mean http://lab.test:80/ok?",
		"javascript:alert(1)":      "javascript is not fetched: use http or https",
		"data:text/html,x":         "data is not fetched: use http or https",
		"mailto:a@lab.test":        "mailto is not fetched: use http or https",
		"ftp://lab.test/":          "ftp is not fetched: use http or https",
		"http:///ok":               "the host is missing",
		"http://me:pw@lab.test/":   "a login in the address would be kept in history: send it as a header",
		"http://lab.test:0/":       "a port is a number from 1 to 65535",
		"http://lab.test:65536/":   "a port is a number from 1 to 65535",
		"http://a..b/":             "a..b is not a host name",
		"http://lab.test:65535/":   "",
		"https://[2001:db8::1]:8/": "",
		"HTTP://lab.test":          "",
	} {
		got := ""
		if _, err := ParseTarget(s); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
