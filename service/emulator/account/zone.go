package account

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"time"

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
	seen        *callers // the same one after every change but deletion
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
	if r.AllowIPs, err = edited(nil, z.AllowIPs, false); err != nil {
		return nil, err
	}
	if r.DenyIPs, err = edited(nil, z.DenyIPs, false); err != nil {
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
	if r.seen == nil {
		r.seen = &callers{}
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
