// Package username reads the login name of native access (service.md 5.2):
//
//	<prefix>-customer-<account>-zone-<zone>[-flag[-value]]…
//
// The emulator's proxy calls it for every login. It is pure and safe for concurrent
// use. The flags after the zone are not in the contract; they follow the public
// documentation of a service of this kind, read greedily: a value is the next word and
// runs on until a flag that is known, so a zone name may contain "-". The short spellings of old
// clients are read too: cu z k d s cy st ct zp ub.
package username

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// MaxBytes bounds a login name.
const MaxBytes = 1024

// ErrForm means that the name does not have the form of service.md 5.2 at all.
var ErrForm = errors.New("username is not <prefix>-customer-<account>-zone-<zone>")

// FlagError is a flag whose value the service does not take. Its text names the flag.
type FlagError struct{ Flag, Reason string }

func (e *FlagError) Error() string {
	if e.Reason == unknownFlag {
		return fmt.Sprintf("unknown flag %q", e.Flag)
	}
	return "flag " + e.Flag + ": " + e.Reason
}

const unknownFlag = "unknown flag"

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
	// Render asks the unlocker for the page after its scripts ran.
	Render bool
	// UA is "mobile" for the User-Agent of a phone.
	UA string
	// Raw, Info, Unblocker and Mobile, and the values VIP, CID and Key, were seen in public clients
	// without a word on their meaning: they are read, and change nothing.
	Raw, Info, Unblocker, Mobile bool
	VIP, CID, Key                string
}

// Name is a login name, parsed.
type Name struct {
	Prefix, Account, Zone string
	Flags                 Flags
}

// long gives a flag its full spelling; ok is false for a word that is no flag.
func long(word string) (flag string, ok bool) {
	switch word {
	case "k":
		return "key", true
	case "d":
		return "direct", true
	case "s":
		return "session", true
	case "cy":
		return "country", true
	case "st":
		return "state", true
	case "ct":
		return "city", true
	case "zp":
		return "zip", true
	case "ub":
		return "unblocker", true
	}
	var f Flags
	return word, f.bare(word) != nil || f.valued(word) != nil
}

// bare is where a flag that stands alone goes; nil for the others.
func (f *Flags) bare(flag string) *bool {
	switch flag {
	case "const":
		return &f.Const
	case "direct":
		return &f.Direct
	case "render":
		return &f.Render
	case "raw":
		return &f.Raw
	case "info":
		return &f.Info
	case "unblocker":
		return &f.Unblocker
	case "mobile":
		return &f.Mobile
	default:
		return nil
	}
}

// valued is where a flag's value goes; nil for the others.
func (f *Flags) valued(flag string) *string {
	switch flag {
	case "country":
		return &f.Country
	case "state":
		return &f.State
	case "city":
		return &f.City
	case "zip":
		return &f.Zip
	case "asn":
		return &f.ASN
	case "os":
		return &f.OS
	case "carrier":
		return &f.Carrier
	case "session":
		return &f.Session
	case "ip":
		return &f.IP
	case "gip":
		return &f.GIP
	case "dns":
		return &f.DNS
	case "route_err":
		return &f.RouteErr
	case "c_tag":
		return &f.CTag
	case "debug":
		return &f.Debug
	case "ua":
		return &f.UA
	case "vip":
		return &f.VIP
	case "cid":
		return &f.CID
	case "key":
		return &f.Key
	default:
		return nil
	}
}

// Known reports whether word is a flag, in its full or its short spelling.
func Known(word string) bool {
	_, ok := long(word)
	return ok
}

// Parse splits a login name. The error is [ErrForm] (wrapped) or a [*FlagError]; with
// a FlagError the returned name still carries prefix, account and zone.
func Parse(s string) (Name, error) { return ParseFor(s, nil) }

// ParseFor is Parse where it is known which zones there are: the longest of them that
// the name can mean is the zone, so that a zone may be called "a-session-b", and what
// follows and is no flag is named as such. zones may be nil.
func ParseFor(s string, zones func(string) bool) (Name, error) {
	if len(s) > MaxBytes {
		return Name{}, fmt.Errorf("%w: longer than %d bytes", ErrForm, MaxBytes)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Name{}, fmt.Errorf("%w: it has a space or a control character", ErrForm)
	}
	parts := strings.Split(s, "-")
	if len(parts) < 5 || parts[0] == "" || parts[1] != "customer" && parts[1] != "cu" || parts[2] == "" ||
		parts[3] != "zone" && parts[3] != "z" || parts[4] == "" {
		return Name{}, ErrForm
	}
	n := Name{Prefix: parts[0], Account: parts[2]}
	rest := parts[4:]
	end := zoneEnd(rest, zones)
	n.Zone = strings.Join(rest[:end], "-")
	var err error
	n.Flags, err = parseFlags(rest[end:])
	if err != nil {
		return n, err
	}
	return n, n.Flags.Check()
}

// zoneEnd is how many words are the zone's. The first one is, even when it is spelt
// like a flag.
func zoneEnd(words []string, zones func(string) bool) int {
	greedy := 1 + untilKnown(words[1:])
	if zones == nil {
		return greedy
	}
	for end := len(words); end > 0; end-- {
		if zones(strings.Join(words[:end], "-")) {
			return end
		}
	}
	return greedy
}

func parseFlags(words []string) (Flags, error) {
	var f Flags
	var seen []string
	for len(words) > 0 {
		key, ok := long(words[0])
		if !ok {
			return f, &FlagError{words[0], unknownFlag}
		}
		if slices.Contains(seen, key) {
			return f, &FlagError{key, "given twice"}
		}
		seen = append(seen, key)
		words = words[1:]
		if on := f.bare(key); on != nil {
			*on = true
			continue
		}
		if len(words) == 0 {
			return f, &FlagError{key, "its value is missing"}
		}
		// The first word is the value, whatever it is spelt like ("session-s", "ua-mobile").
		n := 1 + untilKnown(words[1:])
		value := strings.Join(words[:n], "-")
		if value == "" {
			return f, &FlagError{key, "its value is missing"}
		}
		*f.valued(key) = value
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
	for _, c := range [...]struct {
		flag, value, want string
		ok                func(string) bool
	}{
		{"country", f.Country, "two lower-case letters", isCountry},
		{"state", f.State, "lower-case letters", isWord},
		{"city", f.City, "lower-case letters without spaces", isWord},
		{"zip", f.Zip, "letters and digits", isZip},
		{"asn", f.ASN, "a number", isASN},
		{"os", f.OS, "windows, osx, macos or android", isOS},
		{"carrier", f.Carrier, "lower-case letters", isWord},
		{"session", f.Session, "letters, digits and _", isSession},
		{"ip", f.IP, "an address like 1.2.3.4", isAddress},
		{"gip", f.GIP, "letters, digits and _", isSession},
		{"dns", f.DNS, "local or remote", func(v string) bool { return v == "local" || v == "remote" }},
		{"route_err", f.RouteErr, "pass_dyn or block", func(v string) bool { return v == "pass_dyn" || v == "block" }},
		{"c_tag", f.CTag, "at most 64 visible characters", isVisible},
		{"debug", f.Debug, "full or none", func(v string) bool { return v == "full" || v == "none" }},
		{"ua", f.UA, "mobile", func(v string) bool { return v == "mobile" }},
		{"vip", f.VIP, "letters, digits and _", isSession},
		{"cid", f.CID, "letters, digits and _", isSession},
		{"key", f.Key, "at most 64 visible characters", isVisible},
	} {
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

func isAddress(v string) bool {
	a, err := netip.ParseAddr(v)
	return err == nil && a.Is4()
}

// maxValue bounds the values that have no bound of their own.
const maxValue = 64

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return len(s) <= maxValue
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' }
func digit(c byte) bool { return c >= '0' && c <= '9' }

func isCountry(v string) bool { return len(v) == 2 && all(v, lower) }
func isASN(v string) bool     { return len(v) <= 10 && all(v, digit) }

func isOS(v string) bool {
	return v == "windows" || v == "osx" || v == "macos" || v == "android"
}

func isZip(v string) bool {
	return len(v) <= 12 && all(v, func(c byte) bool { return lower(c|0x20) || digit(c) })
}

func isWord(v string) bool {
	return all(v, func(c byte) bool { return lower(c) || digit(c) || c == '_' })
}

func isSession(v string) bool {
	return all(v, func(c byte) bool { return lower(c|0x20) || digit(c) || c == '_' })
}

func isVisible(v string) bool {
	return all(v, func(c byte) bool { return c > ' ' && c < 0x7f })
}
