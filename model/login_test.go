package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainLogin shows the fields, which Login itself never prints.
func plainLogin(l Login) string {
	return fmt.Sprintf("%s|%d|%s|%t|%s|%s", l.Host, l.Port, l.Username, l.HasPassword, l.Password, l.Source)
}

func TestParseLoginReadsTheUsualForms(t *testing.T) {
	const user = "abc-customer-hl_1-zone-a"
	tests := []struct{ name, in, want string }{
		{"a URL", "http://" + user + ":pw@proxy.test:33335", "proxy.test|33335|" + user + "|true|pw|URL"},
		{"a URL with escapes", "http://" + user + ":p%40%3Aw@proxy.test:33335/", "proxy.test|33335|" + user + "|true|p@:w|URL"},
		{"a URL without a password", "https://" + user + "@proxy.test", "proxy.test|0|" + user + "|false||URL"},
		{"a URL without a login", "http://proxy.test:33335", "proxy.test|33335||false||URL"},
		{"a URL with an IPv6 host", "http://u:p@[::1]:33335", "::1|33335|u|true|p|URL"},
		{"host first", "proxy.test:33335:" + user + ":pw", "proxy.test|33335|" + user + "|true|pw|host:port:user:password"},
		{"host first, a password with colons", "proxy.test:33335:" + user + ":p:w:x", "proxy.test|33335|" + user + "|true|p:w:x|host:port:user:password"},
		{"host first, IPv6", "[::1]:33335:u:p", "::1|33335|u|true|p|host:port:user:password"},
		{"user first", user + ":pw:proxy.test:33335", "proxy.test|33335|" + user + "|true|pw|user:password:host:port"},
		{"with an at", user + ":pw@proxy.test:33335", "proxy.test|33335|" + user + "|true|pw|user:password@host:port"},
		{"with an at in the password", user + ":p@w@proxy.test:33335", "proxy.test|33335|" + user + "|true|p@w|user:password@host:port"},
		{"with an at and no port", user + ":pw@proxy.test", "proxy.test|0|" + user + "|true|pw|user:password@host:port"},
		{"a password with an at alone", user + ":p@ss", "|0|" + user + "|true|p@ss|user:password"},
		{"a login alone", user + ":pw", "|0|" + user + "|true|pw|user:password"},
		{"a password of digits is not a port", user + ":33335", "|0|" + user + "|true|33335|user:password"},
		{"a username with a password of digits and a colon is not a host and a port", user + ":123:456", "|0|" + user + "|true|123:456|user:password"},
		{"a host and a port", "proxy.test:33335", "proxy.test|33335||false||host:port"},
		{"a username", "  " + user + "\n", "|0|" + user + "|false||username"},
		{"a password like the rest of a URL", user + "://x", "|0|" + user + "|true|//x|user:password"},
		{"an empty password is one", user + ":", "|0|" + user + "|true||user:password"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := ParseLogin(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := plainLogin(l); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A password that ends an address is told from a host with a port, wherever the address is pasted.
func TestAPasswordInTheClearGetsTheRightSentence(t *testing.T) {
	for _, in := range []string{"http://user:hunter2#x@proxy.test:22225", "http://user:hun/ter2@proxy.test:22225", "https://user:12?hunter2@proxy.test:80/x"} {
		_, login := ParseLogin(in)
		_, target := ParseTarget(in)
		for _, err := range []error{login, target} {
			if err == nil || !strings.Contains(err.Error(), "write %2F, %3F or %23 for it, and %40 for @") || strings.Contains(err.Error(), "hun") {
				t.Errorf("%s: %v", in, err)
			}
		}
	}
	for _, in := range []string{"http://proxy.test:22225", "http://u:p@ss@proxy.test:22225", "http://[::1]:80"} {
		if l, err := ParseLogin(in); err != nil || l.Host == "" {
			t.Errorf("%s: %+v, %v", in, l, err)
		}
	}
	for _, in := range []string{"http://lab.test:8080/@user?q=a@b.test:80", "http://lab.test/@a:b", "http://localhost:80/a@b", "http://[::1]:80/a@b:1"} {
		if _, err := ParseTarget(in); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestParseLoginRefusalsNeverQuoteTheInput(t *testing.T) {
	for name, in := range map[string]string{
		"empty":                     " ",
		"two lines":                 "abc:hunter2\nabc:hunter2",
		"a broken URL":              "http://u:hunter2%zz@host:1",
		"a URL with a wrong port":   "http://u:hunter2@host:99999",
		"a URL without a host":      "http://",
		"a URL with a strange host": "http://u:hunter2@h$st:1",
		"a space in the username":   "a b:hunter2",
		"a password alone":          ":hunter2",
		"too long":                  "u:hunter2" + strings.Repeat("x", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseLogin(in)
			if !errors.Is(err, errLogin) {
				t.Fatalf("error %v", err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the refusal quotes the password: %v", err)
			}
		})
	}
}

func TestLoginNeverPrintsItsPassword(t *testing.T) {
	l, err := ParseLogin("http://user:hunter2@proxy.test:1")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("login", "login", l, "in", []any{l})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("login", "login", l, "in", map[string]any{"l": &l})
	asJSON, err := json.Marshal(struct{ L Login }{l})
	if err != nil {
		t.Fatal(err)
	}
	all := log.String() + string(asJSON) + fmt.Sprintf("%v %+v %#v %s %q %x %d %v", l, l, l, l, l, l, l, &l) + l.String() + l.GoString()
	if strings.Contains(all, "hunter2") || strings.Contains(all, fmt.Sprintf("%x", "hunter2")) {
		t.Errorf("the password is printed: %s", all)
	}
	if !strings.Contains(all, "user:••••@proxy.test:1") {
		t.Errorf("the masked form is missing: %s", all)
	}
}

func TestEveryLoginReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user := "abc-customer-hl_1-zone-" + rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "zone")
		password := rapid.StringMatching(`[!-~]{1,12}`).Draw(t, "password")
		host := rapid.StringMatching(`[a-z]{1,6}\.test`).Draw(t, "host")
		port := rapid.IntRange(1, 65535).Draw(t, "port")
		want := Login{Host: host, Port: port, Username: user, HasPassword: true, Password: password}
		for form, in := range map[string]string{
			sourceHostFirst:  fmt.Sprintf("%s:%d:%s:%s", host, port, user, password),
			sourceUserAtHost: fmt.Sprintf("%s:%s@%s:%d", user, password, host, port),
		} {
			if form == sourceHostFirst && strings.Contains(password, "@") {
				continue // such a password can be read in two ways
			}
			got, err := ParseLogin(in)
			if err != nil {
				t.Fatalf("%q: %v", in, err)
			}
			want.Source = form
			if got != want {
				t.Fatalf("%q: got %s, want %s", in, plainLogin(got), plainLogin(want))
			}
		}
	})
}

func FuzzParseLogin(f *testing.F) {
	for _, s := range []string{"http://u:p@h:1", "h:1:u:p", "u:p@h:1", "u:p", "[::1]:1:u:p", ":::@:::", "u:p:h.test:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLogin(s)
		if err != nil {
			if !errors.Is(err, errLogin) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if l.Port < 0 || l.Port > 65535 || l.Source == "" || l.Username == "" && l.Host == "" {
			t.Fatalf("%q: %s", s, plainLogin(l))
		}
		if !l.HasPassword && l.Password != "" {
			t.Fatalf("%q: a password that is not said", s)
		}
	})
}

func TestTheEdgesOfALogin(t *testing.T) {
	label := strings.Repeat("h", 253)
	for in, want := range map[string]string{
		"u:p@h.test:1":       "h.test|1|u|true|p|user:password@host:port",
		"u:p@h.test:65535":   "h.test|65535|u|true|p|user:password@host:port",
		"u:p@h.test:65536":   "|0|u|true|p@h.test:65536|user:password",
		"u:p@h.test:0":       "|0|u|true|p@h.test:0|user:password",
		"u:p@h.test:+1":      "|0|u|true|p@h.test:+1|user:password",
		"u:p@h.test:000001":  "|0|u|true|p@h.test:000001|user:password",
		"u:p@localhost":      "localhost|0|u|true|p|user:password@host:port",
		"u:p@[::1]":          "::1|0|u|true|p|user:password@host:port",
		"u:p@[::1]:5":        "::1|5|u|true|p|user:password@host:port",
		"u:p@[::1]5":         "|0|u|true|p@[::1]5|user:password",
		"u:p:localhost:5":    "localhost|5|u|true|p|user:password:host:port",
		"u:p:q:5":            "|0|u|true|p:q:5|user:password",
		"u:p:h.test:0":       "|0|u|true|p:h.test:0|user:password",
		"[::1:5:u:p":         "|0|[|true|:1:5:u:p|user:password",
		label + ":5":         label + "|5||false||host:port",
		label + "h:5":        "|0|" + label + "h|true|5|user:password",
		"h:5:u":              "h|5|u|false||host:port:user:password",
		"http://u:p@h:5/x?y": "h|5|u|true|p|URL",
	} {
		l, err := ParseLogin(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := plainLogin(l); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"":              "proxy login: there is nothing to read",
		"a\x00b":        "proxy login: it has more than one line, or control characters",
		"a b:p":         "proxy login: the username has a space in it (contract 5.2 rule 1)",
		":p":            "proxy login: it names neither a user nor a host",
		":p@h.test:1":   "proxy login: a password without a username",
		"http://h:0":    "proxy login: the URL's port is not between 1 and 65535",
		"http://h$st:1": "proxy login: the URL's host is not a host name",
	} {
		if _, err := ParseLogin(in); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", in, err, want)
		}
	}
	for in, want := range map[string]string{"h.test:5": "h.test:5", "u:p": "u:••••", "u": "u", "http://h": "h"} {
		if l, err := ParseLogin(in); err != nil || l.String() != want {
			t.Errorf("%q is shown as %q (%v), want %q", in, l, err, want)
		}
	}
}
