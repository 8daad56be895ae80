// Package username reads the login name of native access (service.md 5.2):
//
//	<prefix>-customer-<account>-zone-<zone>[-flag[-value]]…
//
// The emulator's proxy calls it for every login. It is pure and safe for concurrent
// use. The flags after the zone are not in the contract; they follow the public
// documentation of a service of this kind, read greedily: a value runs until the
// next flag that is known, so a zone name may contain "-".
package username

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// MaxBytes bounds a login name.
const MaxBytes = 1024

// ErrForm means that the name does not have the form of service.md 5.2 at all.
var ErrForm = errors.New("username is not <prefix>-customer-<account>-zone-<zone>")

// FlagError is a flag whose value the service does not take. Its text names the flag.
type FlagError struct{ Flag, Reason string }

func (e *FlagError) Error() string { return "flag " + e.Flag + ": " + e.Reason }

// Flags are the choices a login name makes about the exit. Empty means not chosen.
type Flags struct {
	Country, State, City, Zip, ASN, OS, Carrier string
	Session                                     string
	// Const asks for a refusal instead of a new exit when the session's exit is gone.
	Const bool
	// IP is one allocated exit address; GIP names a dedicated group of exits.
	IP, GIP string
	// DNS is "local" or "remote".
	DNS string
	// Direct leaves from the proxy itself.
	Direct   bool
	RouteErr string
	CTag     string
	Debug    string
}

// Name is a login name, parsed.
type Name struct {
	Prefix, Account, Zone string
	Flags                 Flags
	// ZoneParts is the zone as it was written, split at "-". When no zone has the
	// joined name, a shorter join that is a zone means a misspelt flag.
	ZoneParts []string
}

// bare are the flags that stand alone; the others take a value.
var bare = map[string]bool{"const": true, "direct": true}

var valued = map[string]func(*Flags) *string{
	"country":   func(f *Flags) *string { return &f.Country },
	"state":     func(f *Flags) *string { return &f.State },
	"city":      func(f *Flags) *string { return &f.City },
	"zip":       func(f *Flags) *string { return &f.Zip },
	"asn":       func(f *Flags) *string { return &f.ASN },
	"os":        func(f *Flags) *string { return &f.OS },
	"carrier":   func(f *Flags) *string { return &f.Carrier },
	"session":   func(f *Flags) *string { return &f.Session },
	"ip":        func(f *Flags) *string { return &f.IP },
	"gip":       func(f *Flags) *string { return &f.GIP },
	"dns":       func(f *Flags) *string { return &f.DNS },
	"route_err": func(f *Flags) *string { return &f.RouteErr },
	"c_tag":     func(f *Flags) *string { return &f.CTag },
	"debug":     func(f *Flags) *string { return &f.Debug },
}

// Known reports whether word is a flag.
func Known(word string) bool { return bare[word] || valued[word] != nil }

// Parse splits a login name. The error is [ErrForm] (wrapped) or a [*FlagError]; with
// a FlagError the returned name still carries prefix, account and zone.
func Parse(s string) (Name, error) {
	if len(s) > MaxBytes {
		return Name{}, fmt.Errorf("%w: longer than %d bytes", ErrForm, MaxBytes)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Name{}, fmt.Errorf("%w: it has a space or a control character", ErrForm)
	}
	parts := strings.Split(s, "-")
	if len(parts) < 5 || parts[0] == "" || parts[1] != "customer" || parts[2] == "" || parts[3] != "zone" || parts[4] == "" {
		return Name{}, ErrForm
	}
	n := Name{Prefix: parts[0], Account: parts[2]}
	rest := parts[4:]
	// The first word belongs to the zone even when it is spelt like a flag.
	end := 1 + untilKnown(rest[1:])
	n.ZoneParts = rest[:end]
	n.Zone = strings.Join(n.ZoneParts, "-")
	var err error
	n.Flags, err = parseFlags(rest[end:])
	if err != nil {
		return n, err
	}
	return n, n.Flags.Check()
}

func parseFlags(words []string) (Flags, error) {
	var f Flags
	seen := map[string]bool{}
	for len(words) > 0 {
		key := words[0]
		if seen[key] {
			return f, &FlagError{key, "given twice"}
		}
		seen[key] = true
		words = words[1:]
		if bare[key] {
			if key == "const" {
				f.Const = true
			} else {
				f.Direct = true
			}
			if n := untilKnown(words); n > 0 {
				return f, &FlagError{words[0], "unknown flag"}
			}
			continue
		}
		n := untilKnown(words)
		// "country-zip-1": the next flag follows at once, so the value is missing.
		value := strings.Join(words[:n], "-")
		if value == "" {
			return f, &FlagError{key, "its value is missing"}
		}
		*valued[key](&f) = value
		words = words[n:]
	}
	return f, nil
}

func untilKnown(words []string) int {
	for i, w := range words {
		if Known(w) {
			return i
		}
	}
	return len(words)
}

// Check holds the flags' values to what the service takes; the error is a [*FlagError].
func (f Flags) Check() error {
	checks := [...]struct {
		flag, value, want string
		ok                func(string) bool
	}{
		{"country", f.Country, "two lower-case letters", func(v string) bool { return len(v) == 2 && all(v, isLower) }},
		{"state", f.State, "lower-case letters", func(v string) bool { return len(v) <= 32 && all(v, isWord) }},
		{"city", f.City, "lower-case letters without spaces", func(v string) bool { return len(v) <= 64 && all(v, isWord) }},
		{"zip", f.Zip, "letters and digits", func(v string) bool { return len(v) <= 12 && all(v, isAlnum) }},
		{"asn", f.ASN, "a number", func(v string) bool { return len(v) <= 10 && all(v, isDigit) }},
		{"os", f.OS, "windows, osx, macos or android", oneOf("windows", "osx", "macos", "android")},
		{"carrier", f.Carrier, "lower-case letters", func(v string) bool { return len(v) <= 32 && all(v, isWord) }},
		{"session", f.Session, "letters and digits", func(v string) bool { return len(v) <= 64 && all(v, isSession) }},
		{"ip", f.IP, "an address like 1.2.3.4", isAddress},
		{"gip", f.GIP, "letters, digits and _", func(v string) bool { return len(v) <= 64 && all(v, isSession) }},
		{"dns", f.DNS, "local or remote", oneOf("local", "remote")},
		{"route_err", f.RouteErr, "pass_dyn or block", oneOf("pass_dyn", "block")},
		{"c_tag", f.CTag, "at most 64 visible characters", func(v string) bool { return len(v) <= 64 && all(v, isVisible) }},
		{"debug", f.Debug, "full or none", oneOf("full", "none")},
	}
	for _, c := range checks {
		if c.value != "" && !c.ok(c.value) {
			return &FlagError{c.flag, "takes " + c.want}
		}
	}
	if f.Const && f.Session == "" {
		return &FlagError{"const", "needs session"}
	}
	if (f.City != "" || f.State != "") && f.Country == "" {
		flag := "city"
		if f.City == "" {
			flag = "state"
		}
		return &FlagError{flag, "needs country"}
	}
	return nil
}

func oneOf(words ...string) func(string) bool {
	return func(v string) bool {
		for _, w := range words {
			if v == w {
				return true
			}
		}
		return false
	}
}

func isAddress(v string) bool {
	a, err := netip.ParseAddr(v)
	return err == nil && a.Is4()
}

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

func isLower(c byte) bool   { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool   { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool   { return isLower(c|0x20) || isDigit(c) }
func isWord(c byte) bool    { return isLower(c) || isDigit(c) || c == '_' }
func isSession(c byte) bool { return isAlnum(c) || c == '_' }
func isVisible(c byte) bool { return c > ' ' && c < 0x7f }
