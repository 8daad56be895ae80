package account

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/scenario"
)

// Zone is a snapshot of a zone with its access details (service.md 2.2). Password is the
// first of its passwords.
type Zone struct {
	Name             string `json:"name"`
	Product          string `json:"product"`
	Password         string `json:"password"`
	IdentityVerified bool   `json:"identity_verified"`
	// RatePer1000 and RatePerGB are what the zone is charged, in dollars for 1,000 requests
	// and for 10^9 bytes. The account leaves them 0: prices are the server's.
	RatePer1000 float64 `json:"rate_per_1000,omitempty"`
	RatePerGB   float64 `json:"rate_per_gb,omitempty"`

	rec *record
}

// Status is a zone's state (public documentation).
type Status string

// The states of a zone. A disabled zone refuses by both access methods; a deleted one is
// only a name.
const (
	Active   Status = "active"
	Disabled Status = "disabled"
	Deleted  Status = "deleted"
)

// Limit stops a zone once it has cost Value dollars in a day ("d") or a month ("m"), UTC.
type Limit struct {
	Value float64 `json:"value"`
	Cycle string  `json:"cycle"`
}

// Settings are what a zone has beyond [Zone]. The slices must not be changed.
type Settings struct {
	Created     time.Time `json:"created"`
	Status      Status    `json:"status"`
	Passwords   []string  `json:"passwords"`
	Plan        Plan      `json:"plan"`
	Description string    `json:"description,omitempty"`
	// The lists as they were given. An empty AllowIPs or AllowDomains allows any.
	AllowIPs     []string `json:"allow_ips,omitempty"`
	DenyIPs      []string `json:"deny_ips,omitempty"`
	AllowDomains []string `json:"allow_domains,omitempty"`
	DenyDomains  []string `json:"deny_domains,omitempty"`
	Limit        *Limit   `json:"usage_limit,omitempty"`
}

// record is the stored form of a zone. A published record never changes.
type record struct {
	Name             string `json:"name"`
	Product          string `json:"product"`
	IdentityVerified bool   `json:"identity_verified,omitempty"`
	Settings

	sums        [][sha256.Size]byte // of Passwords
	allow, deny []span
	callers     *callers // the same one after every change but deletion
}

func fromScenario(sc *scenario.Scenario, z scenario.Zone, start time.Time) (*record, error) {
	r := &record{Name: z.Name, Product: z.Product, IdentityVerified: z.IdentityVerified, Settings: Settings{
		Created: start, Status: Active, Passwords: append([]string{sc.ZonePassword(z)}, z.MorePasswords...), Plan: planOf(z.Product),
	}}
	if z.Disabled {
		r.Status = Disabled
	}
	if z.UsageLimit != nil {
		r.Limit = &Limit{Value: z.UsageLimit.Dollars, Cycle: "m"}
		if z.UsageLimit.Cycle == "day" {
			r.Limit.Cycle = "d"
		}
	}
	var err error
	if r.AllowIPs, err = editCallers(nil, z.AllowIPs, false); err != nil {
		return nil, err
	}
	if r.DenyIPs, err = editCallers(nil, z.DenyIPs, false); err != nil {
		return nil, err
	}
	if r.AllowDomains, err = domains(z.AllowDomains); err != nil {
		return nil, err
	}
	if r.DenyDomains, err = domains(z.DenyDomains); err != nil {
		return nil, err
	}
	return r, r.prepare()
}

// prepare computes what every request needs.
func (r *record) prepare() (err error) {
	if r.callers == nil {
		r.callers = &callers{}
	}
	r.sums = nil
	for _, p := range r.Passwords {
		r.sums = append(r.sums, sha256.Sum256([]byte(p)))
	}
	if r.allow, err = spans(r.AllowIPs); err != nil {
		return err
	}
	r.deny, err = spans(r.DenyIPs)
	return err
}

func (r *record) zone() Zone {
	z := Zone{Name: r.Name, Product: r.Product, IdentityVerified: r.IdentityVerified, rec: r}
	if len(r.Passwords) > 0 { // a deleted zone has none
		z.Password = r.Passwords[0]
	}
	return z
}

// Zone finds a zone by its exact name (names are case-sensitive, service.md 5.2). A
// deleted zone is [ErrNoSuchZone]; a disabled one is found, and refused by
// [Account.Admit].
func (a *Account) Zone(name string) (Zone, error) {
	if r := a.view.Load().zones[name]; r != nil && r.Status != Deleted {
		return r.zone(), nil
	}
	return Zone{}, ErrNoSuchZone
}

// Zones are the zones with their access details, without the deleted ones.
func (a *Account) Zones() []Zone {
	return slices.DeleteFunc(a.AllZones(), func(z Zone) bool { return z.rec.Status == Deleted })
}

// AllZones are the zones, deleted ones included.
func (a *Account) AllZones() []Zone {
	v := a.view.Load()
	out := make([]Zone, len(v.order))
	for i, name := range v.order {
		out[i] = v.zones[name].zone()
	}
	return out
}

// Accepts compares a password to the zone's own, in constant time.
func (z Zone) Accepts(password string) bool {
	if z.rec == nil {
		return false
	}
	sum := sha256.Sum256([]byte(password))
	same := 0
	for i := range z.rec.sums {
		same |= subtle.ConstantTimeCompare(sum[:], z.rec.sums[i][:])
	}
	return same == 1
}

// Native reports whether a zone's product is reached by proxy login (service.md 5.2).
func (z Zone) Native() bool {
	switch z.Product {
	case "datacenter", "isp", "residential", "mobile", "unlocker", "browser":
		return true
	default:
		return false
	}
}

// Resigned reports whether HTTPS through a zone is re-signed by the service's own
// certificate authority (service.md 5.2 rule 3).
func (z Zone) Resigned() bool {
	return !z.IdentityVerified && (z.Product == "residential" || z.Product == "unlocker")
}

// Settings are the zone's settings at the moment when it was found.
func (z Zone) Settings() Settings {
	if z.rec == nil {
		return Settings{}
	}
	return z.rec.Settings
}

// Type is the product's word on the wire (public documentation; for products that it
// gives no zone type, this emulator's own name: assumption).
func (z Zone) Type() string { return TypeOf(z.Product) }

// Plan is what a zone was created with, field by field as it was sent.
type Plan map[string]json.RawMessage

// maxPlanField bounds one field of a plan, in bytes.
const maxPlanField = 4096

// planFields are the known fields of a plan (public documentation) and their kinds: 't'ext,
// 'n'umber, 'f'lag, or anything.
func planFields() map[string]byte {
	return map[string]byte{
		"type": 't', "product": 't', "start": 't', "pool_ip_type": 't', "ip_alloc_preset": 't', "ips_type": 't',
		"vips_type": 't', "bandwidth": 't', "unl_bw_tiers": 't', "country": 't', "country_city": 't',
		"default_country": 't', "vip_country": 't', "vip_country_city": 't', "domain_whitelist": 't', "pool": 't',
		"ips": 'n', "vips": 'n',
		"serp": 'f', "mobile": 'f', "city": 'f', "asn": 'f', "vip": 'f', "ub_premium": 'f', "ip_fallback": 'f',
		"solve_captcha_disable": 'f', "custom_headers": 'f', "exclusive": 'f', "not_gdpr": 'f',
		"auto_cost_override": '*',
	}
}

// Unknown lists the unknown fields, in order.
func (p Plan) Unknown() []string {
	known := planFields()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p)), func(name string) bool { return known[name] != 0 })
}

// Plain is the plan with flags and numbers that came as text ("false", "0") turned into JSON
// values: an early public SDK sends them as text. spelled lists those fields. Other text
// stays, and is refused later.
func (p Plan) Plain() (plain Plan, spelled []string) {
	known := planFields()
	plain = maps.Clone(p)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		var text string
		if json.Unmarshal(p[name], &text) != nil {
			continue
		}
		var number float64
		isFlag := known[name] == 'f' && isFlagText(text)
		isNumber := known[name] == 'n' && text != "null" && json.Unmarshal([]byte(text), &number) == nil
		if isFlag || isNumber {
			plain[name] = json.RawMessage(text)
			spelled = append(spelled, name)
		}
	}
	return plain, spelled
}

func isFlagText(v string) bool { return slices.Contains([]string{"true", "false", "0", "1"}, v) }

func (p Plan) text(name string) string {
	var v string
	_ = json.Unmarshal(p[name], &v) // check refused everything but text
	return v
}

func (p Plan) flag(name string) bool {
	v := string(p[name])
	return v == "true" || v == "1"
}

func textJSON(v string) json.RawMessage {
	b, _ := json.Marshal(v) // a string always encodes
	return b
}

// check names every field that is unknown or of the wrong kind. loose accepts unknown ones.
func (p Plan) check(loose bool, bad *answer.InvalidError) {
	known := planFields()
	for _, name := range slices.Sorted(maps.Keys(p)) {
		kind, ok := known[name]
		raw := p[name]
		var text string
		var number float64
		switch {
		case len(raw) > maxPlanField:
			bad.Add("plan.%s is longer than %d bytes", name, maxPlanField)
		case !ok && !loose:
			bad.Add("plan.%s is not allowed", name)
		case kind == 't' && json.Unmarshal(raw, &text) != nil:
			bad.Add("plan.%s must be a string", name)
		case kind == 'n' && json.Unmarshal(raw, &number) != nil:
			bad.Add("plan.%s must be a number", name)
		case kind == 'f' && !isFlagText(string(raw)):
			bad.Add("plan.%s must be true or false", name)
		}
	}
}

// product reads the recipe of a plan (public documentation). The type beside the plan has no
// effect: an ISP zone without pool_ip_type is a datacenter zone.
func (p Plan) product(bad *answer.InvalidError) string {
	switch t := p.text("type"); t {
	case "unblocker":
		if p.flag("serp") {
			return "serp"
		}
		return "unlocker"
	case "serp":
		return "serp"
	case "browser_api":
		return "browser"
	case "resident":
		switch {
		case p.flag("serp"):
			return "serp"
		case p.flag("mobile"):
			return "mobile"
		}
		return "residential"
	case "static":
		if c := p.text("country"); c != strings.ToLower(c) {
			bad.Add("plan.country: no IPs available (countries are written in lower case)")
		}
		if p.text("pool_ip_type") != "static_res" {
			return "datacenter"
		}
		if p.text("bandwidth") == "unlimited" && p.text("unl_bw_tiers") != "std" {
			bad.Add(`plan.unl_bw_tiers must be "std" for unlimited bandwidth`)
		}
		return "isp"
	case "crawl", "scrapers", "datasets", "discover", "deep_lookup", "agent":
		return t // the emulator's words: no public recipe is known
	case "":
		bad.Add("plan.type is required")
	default:
		bad.Add("plan.type %q is not known", t)
	}
	return ""
}

// planOf is the recipe of a zone that the scenario describes by its product.
func planOf(product string) Plan {
	recipes := map[string]string{
		"datacenter":  `{"type":"static","ips_type":"shared","ip_alloc_preset":"shared_block"}`,
		"isp":         `{"type":"static","ips_type":"shared","pool_ip_type":"static_res"}`,
		"residential": `{"type":"resident","vips_type":"shared"}`,
		"mobile":      `{"type":"resident","mobile":true}`,
		"serp":        `{"type":"unblocker","serp":true}`,
	}
	p := Plan{"type": textJSON(TypeOf(product))}
	if recipe, ok := recipes[product]; ok {
		_ = json.Unmarshal([]byte(recipe), &p) // is JSON, see above
	}
	return p
}

// complete is the plan with what the service adds to it.
func (p Plan) complete(r *record) Plan {
	out := maps.Clone(p)
	if out == nil {
		out = Plan{}
	}
	out["start"] = textJSON(r.Created.UTC().Format(time.RFC3339))
	out["product"] = textJSON(TypeOf(r.Product))
	if r.Status == Disabled {
		out["disabled"] = json.RawMessage("1")
	}
	return out
}

// Plan is the zone's plan as its settings show it.
func (z Zone) Plan() Plan {
	if z.rec == nil {
		return Plan{}
	}
	return z.rec.Plan.complete(z.rec)
}

// TypeOf is a product's word on the wire; see [Zone.Type].
func TypeOf(product string) string {
	words := map[string]string{"datacenter": "dc", "residential": "res_rotating", "unlocker": "unblocker", "browser": "browser_api"}
	return cmp.Or(words[product], product)
}

const (
	// maxListed bounds a list of a zone.
	maxListed = 1000
	maxEntry  = 253
	anyone    = "any"
)

// span is the addresses from first to last, both included.
type span struct{ first, last netip.Addr }

func (s span) holds(a netip.Addr) bool {
	return s.first.BitLen() == a.BitLen() && s.first.Compare(a) <= 0 && a.Compare(s.last) <= 0
}

// parseSpan reads an entry of a list of callers: an address, "first-last", a CIDR, or
// "address/netmask" (public documentation).
func parseSpan(entry string) (span, error) {
	wrong := fmt.Errorf("ip %q is not an address, a range, a CIDR or an address with a netmask", entry)
	if len(entry) > maxEntry {
		return span{}, wrong
	}
	if first, last, ok := strings.Cut(entry, "-"); ok {
		a, errA := parseAddr(first)
		b, errB := parseAddr(last)
		if errA != nil || errB != nil || a.BitLen() != b.BitLen() || b.Less(a) {
			return span{}, wrong
		}
		return span{a, b}, nil
	}
	addr, mask, ok := strings.Cut(entry, "/")
	a, err := parseAddr(addr)
	if err != nil {
		return span{}, wrong
	}
	if !ok {
		return span{a, a}, nil
	}
	bits, ok := maskBits(strings.TrimSpace(mask), a)
	if !ok {
		return span{}, wrong
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return span{}, wrong
	}
	return span{p.Addr(), lastOf(p)}, nil
}

func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err == nil && a.Zone() != "" {
		return a, fmt.Errorf("%q has a zone", s)
	}
	return a.Unmap(), err
}

// maskBits reads what follows the slash: a count of bits, or a netmask like
// 255.255.255.0, whose ones must be together.
func maskBits(mask string, a netip.Addr) (int, bool) {
	if p, err := netip.ParsePrefix(a.String() + "/" + mask); err == nil {
		return p.Bits(), true
	}
	m, err := netip.ParseAddr(mask)
	if err != nil || !m.Is4() || !a.Is4() {
		return 0, false
	}
	bits, length := net.IPMask(m.AsSlice()).Size()
	return bits, length != 0
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b) // 4 or 16 bytes, as they came
	return a
}

// anySpans is the two spans of "any".
func anySpans() []span {
	return []span{
		{netip.IPv4Unspecified(), netip.AddrFrom4([4]byte{255, 255, 255, 255})},
		{netip.IPv6Unspecified(), lastOf(netip.PrefixFrom(netip.IPv6Unspecified(), 0))},
	}
}

func spans(entries []string) ([]span, error) {
	var out []span
	for _, e := range entries {
		if e == anyone {
			out = append(out, anySpans()...)
			continue
		}
		s, err := parseSpan(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func holds(list []span, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(s span) bool { return s.holds(a) })
}

// editCallers adds entries to a list of callers, or takes them off it; what has the same
// addresses is the same entry.
func editCallers(list, entries []string, remove bool) ([]string, error) {
	out := slices.Clone(list)
	for _, e := range entries {
		e = strings.TrimSpace(e)
		changed, err := spans([]string{e})
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(o string) bool {
			listed, err := spans([]string{o})
			return err == nil && slices.Equal(listed, changed)
		})
		if !remove {
			out = append(out, e)
		}
	}
	if len(out) > maxListed {
		return nil, fmt.Errorf("ip: %w: %d entries at most", ErrTooMany, maxListed)
	}
	return out, nil
}

// domains reads entries of a list of targets: host names, whose subdomains belong to them,
// or addresses; a leading "*." says the same as none.
func domains(entries []string) ([]string, error) {
	var out []string
	for _, e := range entries {
		d := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(e, "*"), "."), "."))
		if !validHost(d) {
			return nil, fmt.Errorf("domain %q is not a host name", e)
		}
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) > maxListed {
		return nil, fmt.Errorf("domain: %w: %d entries at most", ErrTooMany, maxListed)
	}
	return out, nil
}

func validHost(d string) bool {
	if a, err := netip.ParseAddr(d); err == nil {
		return a.Zone() == "" // a zone is a name of one machine, and any bytes
	}
	if d == "" || len(d) > maxEntry {
		return false
	}
	for label := range strings.SplitSeq(d, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r < 0x80
		}) {
			return false
		}
	}
	return true
}

// underDomain reports whether a host is one of the domains or below one.
func underDomain(list []string, host string) bool {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return slices.ContainsFunc(list, func(d string) bool {
		return host == d || len(host) > len(d) && strings.HasSuffix(host, d) && host[len(host)-len(d)-1] == '.'
	})
}
