package scenario

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/guard"
	"zonedeck/service/emulator/level"
)

// Bounds of a scenario.
const (
	maxEntries = 10_000 // keys, zones, targets, elements of a list
	maxName    = 128
	maxWait    = 10 * time.Minute
	maxAge     = 100 * 365 * day
	maxDollars = 1e12
	maxRate    = 1e6 // dollars; sums of 10^-9 of them are counted in 64 bits
	maxSeed    = 1<<63 - 1
)

// Parse reads a scenario; file names it in mistakes. What the text leaves out is the
// demo account's. Ages are relative to the emulator's first start with a state folder, so
// that a test with a new folder sees the same states every day. The error is the first mistake, a *document.Error with
// line, column and what belongs there.
func Parse(file string, text []byte) (*Scenario, error) {
	t, err := document.TOML(file, text)
	if err != nil {
		return nil, err
	}
	s := Demo()
	s.account(t)
	if t.Has("keys") {
		s.Keys = unique(t, "keys", "key", parseKey, func(k Key) string { return k.Name })
	}
	if t.Has("zones") {
		s.Zones = unique(t, "zones", "zone", parseZone, func(z Zone) string { return z.Name })
	}
	for _, in := range boundedTables(t, "targets") {
		s.Targets = append(s.Targets, parseTarget(in))
	}
	s.Faults = unique(t, "faults", "fault", fault.Parse, func(r fault.Rule) string { return r.ID })
	t.FailIf(len(s.Faults) > fault.MaxRules, "faults", fmt.Sprintf("there are %d faults", len(s.Faults)), fmt.Sprintf("at most %d", fault.MaxRules))
	t.Done()
	if err := t.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Scenario) account(t *document.Table) {
	if v := t.Text("name"); v != "" {
		s.Name = v
	}
	if v := t.Text("account"); v != "" {
		s.Account = v
		if rest, ok := strings.CutPrefix(v, "hl_"); !ok || rest == "" || !word(rest) {
			t.Fail("account", document.Quote(v)+" is not an account", "an identifier like hl_1234abcd")
		}
	}
	if v := t.Text("username_prefix"); v != "" {
		s.Prefix = v
		t.FailIf(!word(v), "username_prefix", document.Quote(v)+" cannot begin a username", "one word of letters and digits")
	}
	if t.Has("page_delay") {
		s.PageDelay = t.Duration("page_delay", maxWait)
	}
	s.Grace404 = t.Duration("grace404", maxWait)
	s.WebhookSecret = t.Text("webhook_secret")
	s.ClockStart = t.Time("clock_start")
	s.Seed = uint64(t.Int("seed", 0, maxSeed))
	s.Balance = t.Float("balance", 0, maxDollars)
	s.Suspended = t.Bool("suspended")
	s.AllowPrivate = t.Texts("allow_private")
	for _, v := range s.AllowPrivate {
		if _, err := guard.Parse([]string{v}); err != nil {
			t.Fail("allow_private", document.Quote(v)+" is neither a host nor a range", "names, addresses or ranges like 10.0.0.0/8, each with an optional port")
		}
	}
}

// word: letters, digits and underscores, since "-" and ":" separate the parts of a
// username (service.md 5.2 rule 2).
func word(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// hostName is the form of a name in DNS, near enough to catch slips.
func hostName(s string) bool {
	return s != "" && len(s) <= 253 && !strings.HasPrefix(s, ".") && !strings.HasPrefix(s, "-") &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r != '.' && r != '-' && r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
		})
}

func boundedTables(t *document.Table, name string) []*document.Table {
	all := t.Tables(name)
	if len(all) > maxEntries {
		t.Fail(name, fmt.Sprintf("there are %d %s", len(all), name), fmt.Sprintf("at most %d", maxEntries))
		return nil
	}
	return all
}

// unique reads a list whose elements have names that differ. Faults alone may have none.
func unique[T any](t *document.Table, list, what string, parse func(*document.Table) T, name func(T) string) []T {
	all := boundedTables(t, list)
	out := make([]T, 0, len(all))
	seen := map[string]bool{}
	field := "name"
	if what == "fault" {
		field = "id"
	}
	for _, in := range all {
		v := parse(in)
		if n := name(v); n != "" {
			in.FailIf(seen[n], field, fmt.Sprintf("a second %s is named %s", what, document.Quote(n)), "every "+what+" once")
			seen[n] = true
		}
		out = append(out, v)
	}
	return out
}

func parseKey(t *document.Table) Key {
	k := Key{Name: t.Text("name"), Level: parseLevel(t), Duty: t.Text("duty"), Value: t.Text("value"), RotatedAgo: unknownAge}
	if k.Name == "" || len(k.Name) > maxName || strings.ContainsFunc(k.Name, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }) {
		t.Fail("name", "the key has no name that it can have", "a name without slashes, like ci-fetch")
	}
	t.FailIf(strings.ContainsFunc(k.Value, func(r rune) bool { return r <= ' ' || r > '~' }), "value", "the value cannot stand in a header", "visible ASCII without spaces")
	if v := t.Text("expires_in"); v == "" || strings.EqualFold(v, "unlimited") {
		k.Unlimited = true
	} else {
		d, err := document.ParseDuration(v)
		t.FailIf(err != nil || d > maxAge || d < -maxAge, "expires_in", document.Quote(v)+" is not an expiry", "a duration like 7d (or -3d, for the past), or Unlimited")
		k.ExpiresIn = d
	}
	if t.Has("rotated_ago") {
		k.RotatedAgo = t.Duration("rotated_ago", maxAge)
	}
	t.Done()
	return k
}

func parseLevel(t *document.Table) level.Level {
	v := level.Level(strings.ToUpper(t.Text("level")))
	if !slices.Contains(level.All(), v) {
		var names []string
		for _, l := range level.All() {
			names = append(names, string(l))
		}
		t.Fail("level", document.Quote(t.Text("level"))+" is not a level", "one of "+strings.Join(names, ", "))
	}
	return v
}

func parseZone(t *document.Table) Zone {
	z := Zone{
		Name: t.Text("name"), Product: t.OneOf("product", products()...), IdentityVerified: t.Bool("identity_verified"),
		Password: t.Text("password"), MorePasswords: t.Texts("more_passwords"), Disabled: t.Bool("disabled"), Async: t.OneOf("async", "both", "off", "only"),
		AllowIPs: addresses(t, "allow_ips"), DenyIPs: addresses(t, "deny_ips"),
		AllowDomains: domains(t, "allow_domains"), DenyDomains: domains(t, "deny_domains"),
	}
	if z.Name == "" || len(z.Name) > maxName || strings.ContainsFunc(z.Name, func(r rune) bool {
		return r == ':' || unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar
	}) {
		t.Fail("name", "the zone has no name that it can have", "a name without spaces and colons, like unlocker1")
	}
	t.FailIf(!t.Has("product"), "", "the zone has no product", "product = one of "+strings.Join(products(), ", "))
	for _, p := range append([]string{z.Password}, z.MorePasswords...) {
		if len(p) > maxName || strings.ContainsFunc(p, unicode.IsControl) {
			t.Fail("password", "the password cannot stand in a login", fmt.Sprintf("at most %d characters in one line", maxName))
		}
	}
	t.FailIf(slices.Contains(z.MorePasswords, ""), "more_passwords", "an empty password lets everybody in", "a password that is not empty")
	if in := t.Table("rate"); in != nil {
		z.Rate = &Rate{GB: in.Float("gb", 0, maxRate), Thousand: in.Float("thousand", 0, maxRate)}
		in.Done()
	}
	if in := t.Table("usage_limit"); in != nil {
		z.UsageLimit = &UsageLimit{Dollars: in.Float("dollars", 0, maxDollars), Cycle: in.OneOf("cycle", "day", "month")}
		in.FailIf(!in.Has("dollars"), "", "the usage limit has no dollars", "dollars = 10")
		in.Done()
	}
	t.Done()
	return z
}

// addresses is a list of callers: an address, a range, CIDR, address/netmask or any.
func addresses(t *document.Table, name string) []string {
	all := t.Texts(name)
	for _, v := range all {
		t.FailIf(!caller(v), name, document.Quote(v)+" is not an address", `addresses, "a-b", CIDR, "address/netmask" or "any"`)
	}
	return all
}

func caller(s string) bool {
	if s == "any" {
		return true
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	for _, sep := range [...]string{"-", "/"} {
		if from, to, ok := strings.Cut(s, sep); ok {
			a, errA := netip.ParseAddr(from)
			b, errB := netip.ParseAddr(to)
			return errA == nil && errB == nil && a.Is4() == b.Is4()
		}
	}
	_, err := netip.ParseAddr(s)
	return err == nil
}

func domains(t *document.Table, name string) []string {
	all := t.Texts(name)
	for _, v := range all {
		t.FailIf(!hostName(strings.TrimPrefix(v, "*.")), name, document.Quote(v)+" is not a domain", "names like example.com")
	}
	return all
}

// pathForm: what follows the host of an address.
func pathForm(s string) bool {
	return strings.HasPrefix(s, "/") && !strings.ContainsFunc(s, func(r rune) bool {
		return r == '?' || r == '#' || unicode.IsSpace(r) || unicode.IsControl(r)
	})
}

func parseTarget(t *document.Table) Target {
	out := Target{
		Host: strings.ToLower(t.Text("host")), Path: t.Text("path"), Method: strings.ToUpper(t.Text("method")),
		Status: int(t.Int("status", 200, 599)), Header: t.Map("headers"), Body: t.Text("body"), Delay: t.Duration("delay", maxWait),
	}
	t.FailIf(!hostName(out.Host), "host", document.Quote(out.Host)+" is not a host", "a name like shop.test, without a port")
	t.FailIf(out.Path != "" && !pathForm(out.Path), "path", document.Quote(out.Path)+" is not a path", `a path like /page, where "*" is any text`)
	t.FailIf(out.Method != "" && !httpguts.ValidHeaderFieldName(out.Method), "method", document.Quote(out.Method)+" is not a method", "a method like "+http.MethodPost)
	for name, v := range out.Header {
		t.FailIf(!httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v), "headers", document.Quote(name)+" is not a header", "a name and one line of text")
	}
	t.Done()
	return out
}
