// Package username reads the login name of native access (service.md 5.2):
//
//	<prefix>-customer-<account>-zone-<zone>[-flag[-value]]…
//
// The emulator's proxy calls it for every login. It is pure and safe for concurrent use. The
// contract does not define the flags after the zone; they follow the public documentation of
// a service of this kind. A value is the next word and all words up to the next known flag,
// so that a zone name may contain "-". The short spellings of old clients work too: cu z k d
// s cy st ct zp ub.
package username

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// maxBytes bounds a login name.
const maxBytes = 1024

// ErrForm means that the name does not have the form of service.md 5.2.
var ErrForm = errors.New("username is not <prefix>-customer-<account>-zone-<zone>")

// FlagError refuses a flag or its value. Its text names the flag.
type FlagError struct{ Flag, Reason string }

func (e *FlagError) Error() string {
	if e.Reason == unknownFlag {
		return fmt.Sprintf("unknown flag %q", e.Flag)
	}
	return "flag " + e.Flag + ": " + e.Reason
}

const unknownFlag = "unknown flag"

// Flags are the choices of a login name. Empty means not chosen.
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
	// Raw, Info, Unblocker, Mobile, VIP, CID and Key occur in public clients without an
	// explanation. They are parsed and have no effect.
	Raw, Info, Unblocker, Mobile bool
	VIP, CID, Key                string
}

// Name is a parsed login name.
type Name struct {
	Prefix, Account, Zone string
	Flags                 Flags
}

// flag describes the spelling and the values of one flag.
type flag struct {
	name, short string
	bare        func(*Flags) *bool   // the field of a flag without a value
	value       func(*Flags) *string // the field of a flag with a value
	takes       string               // the values in words
	ok          func(string) bool
}

// flags lists all flags, in the order of their checks.
var flags = []flag{
	{name: "const", bare: func(f *Flags) *bool { return &f.Const }},
	{name: "direct", short: "d", bare: func(f *Flags) *bool { return &f.Direct }},
	{name: "render", bare: func(f *Flags) *bool { return &f.Render }},
	{name: "raw", bare: func(f *Flags) *bool { return &f.Raw }},
	{name: "info", bare: func(f *Flags) *bool { return &f.Info }},
	{name: "unblocker", short: "ub", bare: func(f *Flags) *bool { return &f.Unblocker }},
	{name: "mobile", bare: func(f *Flags) *bool { return &f.Mobile }},
	{name: "country", short: "cy", value: func(f *Flags) *string { return &f.Country }, takes: "two lower-case letters", ok: isCountry},
	{name: "state", short: "st", value: func(f *Flags) *string { return &f.State }, takes: "lower-case letters", ok: charset(lower+digits+"_", maxValue)},
	{name: "city", short: "ct", value: func(f *Flags) *string { return &f.City }, takes: "lower-case letters without spaces", ok: charset(lower+digits+"_", maxValue)},
	{name: "zip", short: "zp", value: func(f *Flags) *string { return &f.Zip }, takes: "letters and digits", ok: charset(lower+upper+digits, 12)},
	{name: "asn", value: func(f *Flags) *string { return &f.ASN }, takes: "a number", ok: charset(digits, 10)},
	{name: "os", value: func(f *Flags) *string { return &f.OS }, takes: "windows, osx, macos or android", ok: oneOf("windows", "osx", "macos", "android")},
	{name: "carrier", value: func(f *Flags) *string { return &f.Carrier }, takes: "lower-case letters", ok: charset(lower+digits+"_", maxValue)},
	{name: "session", short: "s", value: func(f *Flags) *string { return &f.Session }, takes: "letters, digits and _", ok: charset(lower+upper+digits+"_", maxValue)},
	{name: "ip", value: func(f *Flags) *string { return &f.IP }, takes: "an address like 1.2.3.4", ok: isAddress},
	{name: "gip", value: func(f *Flags) *string { return &f.GIP }, takes: "letters, digits and _", ok: charset(lower+upper+digits+"_", maxValue)},
	{name: "dns", value: func(f *Flags) *string { return &f.DNS }, takes: "local or remote", ok: oneOf("local", "remote")},
	{name: "route_err", value: func(f *Flags) *string { return &f.RouteErr }, takes: "pass_dyn or block", ok: oneOf("pass_dyn", "block")},
	{name: "c_tag", value: func(f *Flags) *string { return &f.CTag }, takes: "at most 64 visible characters", ok: isVisible},
	{name: "debug", value: func(f *Flags) *string { return &f.Debug }, takes: "full or none", ok: oneOf("full", "none")},
	{name: "ua", value: func(f *Flags) *string { return &f.UA }, takes: "mobile", ok: oneOf("mobile")},
	{name: "vip", value: func(f *Flags) *string { return &f.VIP }, takes: "letters, digits and _", ok: charset(lower+upper+digits+"_", maxValue)},
	{name: "cid", value: func(f *Flags) *string { return &f.CID }, takes: "letters, digits and _", ok: charset(lower+upper+digits+"_", maxValue)},
	{name: "key", short: "k", value: func(f *Flags) *string { return &f.Key }, takes: "at most 64 visible characters", ok: isVisible},
}

// bySpelling finds every flag by its full and its short spelling.
var bySpelling = func() map[string]*flag {
	all := map[string]*flag{}
	for i := range flags {
		all[flags[i].name] = &flags[i]
		if flags[i].short != "" {
			all[flags[i].short] = &flags[i]
		}
	}
	return all
}()

// IsFlag reports whether word is a flag, in its full or its short spelling.
func IsFlag(word string) bool { return bySpelling[word] != nil }

// Parse splits a login name. zones reports whether a zone exists: Parse reads the longest one
// that the name can mean, so that a zone may be called "a-session-b", and an unknown flag after
// it is reported. The error is [ErrForm] (wrapped) or a [*FlagError]; with a FlagError the
// returned name still carries prefix, account and zone.
func Parse(s string, zones func(string) bool) (Name, error) {
	if len(s) > maxBytes {
		return Name{}, fmt.Errorf("%w: longer than %d bytes", ErrForm, maxBytes)
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

// zoneEnd counts the words of the zone. The first word belongs to it, even if it is spelt
// like a flag.
func zoneEnd(words []string, zones func(string) bool) int {
	for end := len(words); end > 0; end-- {
		if zones(strings.Join(words[:end], "-")) {
			return end
		}
	}
	return 1 + untilKnown(words[1:])
}

func parseFlags(words []string) (Flags, error) {
	if len(words) == 0 {
		return Flags{}, nil // the common case allocates nothing
	}
	var f Flags
	var seen []string
	for len(words) > 0 {
		one := bySpelling[words[0]]
		if one == nil {
			return f, &FlagError{words[0], unknownFlag}
		}
		if slices.Contains(seen, one.name) {
			return f, &FlagError{one.name, "given twice"}
		}
		seen = append(seen, one.name)
		words = words[1:]
		if one.bare != nil {
			*one.bare(&f) = true
			continue
		}
		if len(words) == 0 {
			return f, &FlagError{one.name, "its value is missing"}
		}
		// The first word belongs to the value, even if it is spelt like a flag ("session-s").
		n := 1 + untilKnown(words[1:])
		value := strings.Join(words[:n], "-")
		if value == "" {
			return f, &FlagError{one.name, "its value is missing"}
		}
		*one.value(&f) = value
		words = words[n:]
	}
	return f, nil
}

func untilKnown(words []string) int {
	for i, w := range words {
		if IsFlag(w) {
			return i
		}
	}
	return len(words)
}

// Check validates the flags' values; the error is a [*FlagError].
func (f Flags) Check() error {
	if f == (Flags{}) {
		return nil
	}
	return f.check()
}

func (f Flags) check() error {
	for i := range flags {
		one := &flags[i]
		if one.value == nil {
			continue
		}
		if v := *one.value(&f); v != "" && !one.ok(v) {
			return &FlagError{one.name, "takes " + one.takes}
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

// maxValue bounds every value.
const maxValue = 64

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// charset accepts values of at most so many of these characters.
func charset(characters string, most int) func(string) bool {
	return func(v string) bool { return len(v) <= most && strings.Trim(v, characters) == "" }
}

func isCountry(v string) bool { return len(v) == 2 && strings.Trim(v, lower) == "" }

func isVisible(v string) bool {
	return len(v) <= maxValue && !strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func oneOf(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, v) }
}
