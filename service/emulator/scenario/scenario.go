// Package scenario describes what an emulator plays: account, keys, zones, targets, faults.
// A [Scenario] is plain values; [Parse] reads one from a TOML file, strictly. The command
// line and the tests make them, the server plays them.
package scenario

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/level"
)

const day = 24 * time.Hour

// Scenario is the account that the emulator plays. Its keys and passwords are plain
// and the same at every start; what is changed at run time lies in the state folder.
type Scenario struct {
	// Name seeds the values of keys and passwords.
	Name string
	// Account starts with "hl_"; Prefix is the first word of proxy usernames.
	Account, Prefix string
	// Keys may be empty: the account then gets a default key (service.md 2.1).
	Keys  []Key
	Zones []Zone
	// Balance is what the account has to spend at its opening, in dollars; zero is
	// [DefaultBalance].
	Balance float64
	// Suspended refuses all fetches until the account is made active.
	Suspended bool
	// PageDelay is how long a job waits before each page, so that progress shows.
	PageDelay time.Duration
	// Grace404 is how long a new snapshot is not yet known to progress (public
	// documentation: about 20 s); zero is not at all.
	Grace404 time.Duration
	// WebhookSecret signs webhooks by Standard Webhooks; empty is unsigned.
	WebhookSecret string
	// ClockStart is what the emulator's clock shows at its first start; zero is the
	// machine's time.
	ClockStart time.Time
	// AllowPrivate are hosts, addresses and CIDR ranges outside the public internet that
	// may be targets.
	AllowPrivate []string
	// Targets are pages that the emulator itself serves to its products.
	Targets []Target
	// Faults act from the start; Seed seeds their random draws.
	Faults []fault.Rule
	Seed   uint64
}

// Target is one page of a host that exists within the emulator only.
type Target struct {
	// Host is a name without port. Path may have "*" for any text; empty is every path.
	Host, Path string
	// Method limits the page to one method; empty is every method.
	Method string
	// Status 0 is 200.
	Status int
	Header map[string]string
	Body   string
	// Delay is waited before the answer begins.
	Delay time.Duration
}

// Key is a key the scenario owns. Its ages are relative to the emulator's first start with a
// state folder, so that its dates are the same after every later start.
type Key struct {
	Name  string
	Level level.Level
	// Duty is what the key is used for, as text ("batch job", "human").
	Duty string
	// Unlimited keys never expire; the others expire ExpiresIn after the first start (a
	// negative value: before it).
	Unlimited bool
	ExpiresIn time.Duration
	// RotatedAgo is the age of the value at the first start; negative is unknown.
	RotatedAgo time.Duration
	// Value is the key; empty derives 64 hex digits from scenario and name.
	Value string
}

// Zone is a zone of the scenario.
type Zone struct {
	Name, Product    string
	IdentityVerified bool
	// Password for native access; empty derives one from scenario and name.
	Password string
	// MorePasswords work as well as Password.
	MorePasswords []string
	// Rate is what the zone's plan charges; nil is the product's default.
	Rate *Rate
	// Disabled zones refuse by both access methods.
	Disabled bool
	// Async says how the zone takes requests: "both" (also where it is empty), "off" or
	// "only" (public documentation: a toggle per zone).
	Async string
	// AllowIPs and DenyIPs say which callers may use the zone: addresses, ranges
	// ("a-b"), CIDR, "address/netmask" or "any". No AllowIPs is any.
	AllowIPs, DenyIPs []string
	// AllowDomains and DenyDomains say which targets may be fetched, subdomains
	// included. No AllowDomains is any.
	AllowDomains, DenyDomains []string
	// UsageLimit refuses fetches once the zone's cost has reached it; nil is unlimited.
	UsageLimit *UsageLimit
}

// Rate is in dollars: per 10^9 bytes, and per 1,000 billable requests.
type Rate struct{ GB, Thousand float64 }

// UsageLimit is in dollars, per "day" or "month" (UTC); an empty Cycle is a month.
type UsageLimit struct {
	Dollars float64
	Cycle   string
}

// DefaultBalance is in dollars (an assumption of this emulator).
const DefaultBalance = 100

// unknownAge marks a key whose last rotation is unknown.
const unknownAge = -1 * time.Nanosecond

// Demo is the scenario of a fresh machine: a zone of every product, and keys of every
// level in every state of expiry and rotation.
func Demo() *Scenario {
	days := func(n int) time.Duration { return time.Duration(n) * day }
	s := &Scenario{
		Name: "demo", Account: "hl_demo01", Prefix: "brd", PageDelay: 40 * time.Millisecond,
		Keys: []Key{
			{Name: "etl-main", Level: level.Ops, Duty: "batch job", Unlimited: true, RotatedAgo: days(112)},
			{Name: "ci-fetch", Level: level.User, Duty: "batch job", ExpiresIn: days(7), RotatedAgo: days(52)},
			{Name: "old-admin", Level: level.Admin, Duty: "human", ExpiresIn: days(41), RotatedAgo: unknownAge},
			{Name: "batch-user", Level: level.User, Duty: "batch job", ExpiresIn: days(60), RotatedAgo: days(20)},
			{Name: "finance-review", Level: level.Finance, Duty: "human", ExpiresIn: days(120), RotatedAgo: days(90)},
			{Name: "limit-lists", Level: level.Limit, Duty: "batch job", ExpiresIn: days(90), RotatedAgo: days(80)},
			{Name: "expired-user", Level: level.User, Duty: "batch job", ExpiresIn: days(-3), RotatedAgo: days(95)},
			{Name: "ops-zones", Level: level.Ops, Duty: "human", ExpiresIn: days(75), RotatedAgo: days(10)},
		},
	}
	for _, p := range products() {
		s.Zones = append(s.Zones, Zone{Name: p + "_demo", Product: p})
	}
	return s
}

// products are what a zone can give access to (service.md 1).
func products() []string {
	return []string{
		"datacenter", "isp", "residential", "mobile", "unlocker", "serp", "browser", "crawl",
		"scrapers", "datasets", "discover", "deep_lookup", "agent",
	}
}

// KeyValue is the value of one of the scenario's keys.
func (s *Scenario) KeyValue(k Key) string {
	if k.Value != "" {
		return k.Value
	}
	return derived(s.Name, "key", k.Name)
}

// ZonePassword is the password of one of the scenario's zones.
func (s *Scenario) ZonePassword(z Zone) string {
	if z.Password != "" {
		return z.Password
	}
	return derived(s.Name, "password", z.Name)[:20]
}

func derived(scenario, kind, name string) string {
	sum := sha256.Sum256([]byte("zonedeck emulator\x00" + scenario + "\x00" + kind + "\x00" + name))
	return hex.EncodeToString(sum[:])
}

// Hosts are the names that the scenario's targets stand under, in lower case.
func (s *Scenario) Hosts() []string {
	hosts := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		hosts[i] = t.Host
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Site serves the scenario's targets, and everything else from next. The first target
// that fits answers; a host of the scenario without a page that fits answers 404.
func (s *Scenario) Site(next http.Handler) http.Handler {
	if len(s.Targets) == 0 {
		return next
	}
	hosts := map[string][]Target{}
	for _, t := range s.Targets {
		hosts[t.Host] = append(hosts[t.Host], t)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		pages, ok := hosts[strings.ToLower(strings.TrimSuffix(host, "."))]
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		for i := range pages {
			if pages[i].matches(r) {
				pages[i].ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	})
}

func (t *Target) matches(r *http.Request) bool {
	method := t.Method == "" || t.Method == r.Method || t.Method == http.MethodGet && r.Method == http.MethodHead
	return method && fault.Glob(t.Path, r.URL.Path)
}

// ServeHTTP answers with the page.
func (t *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t.Delay > 0 && clock.Pause(r.Context(), t.Delay) != nil {
		panic(http.ErrAbortHandler)
	}
	for name, v := range t.Header {
		w.Header().Set(name, v)
	}
	w.WriteHeader(cmp.Or(t.Status, http.StatusOK))
	_, _ = io.WriteString(w, t.Body) // the caller may be gone
}
