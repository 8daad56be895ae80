package account

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/username"
)

const (
	maxPassword  = 128
	maxPasswords = 100
)

// NewZone is what a zone is created from.
type NewZone struct {
	Name string
	Plan Plan
	// Passwords may be empty: the service then makes one.
	Passwords []string
	// AllowIPs may be empty: any caller.
	AllowIPs    []string
	Description string
	// Loose accepts unknown fields of the plan.
	Loose bool
}

// CreateZone adds a zone. Errors: an [*answer.InvalidError] that names the fields,
// [ErrZoneExists], [ErrTooMany]. The name of a deleted zone is free again.
func (a *Account) CreateZone(n NewZone) (Zone, error) {
	r, err := n.record()
	if err != nil {
		return Zone{}, err
	}
	r.Created = a.now().UTC()
	err = a.apply(func(v *view, tx *state.Tx) error {
		if old := v.zones[n.Name]; old != nil && old.Status != Deleted {
			return ErrZoneExists
		}
		if live, _ := v.count(); live >= maxZones {
			return ErrTooMany
		}
		v.putZone(r)
		return zonesTable.Put(tx, r.Name, *r)
	})
	if err != nil {
		return Zone{}, err
	}
	return r.zone(), nil
}

func (n NewZone) record() (*record, error) {
	bad := &answer.InvalidError{}
	switch word := flagIn(n.Name); {
	case !ValidName(n.Name) || strings.Contains(n.Name, "."):
		bad.Add("zone.name must be 1 to %d letters, digits, '_' or '-'", maxName)
	case word != "":
		bad.Add("zone.name: %q after a '-' is a flag of usernames", word)
	}
	n.Plan.check(n.Loose, bad)
	r := &record{Name: n.Name, Settings: Settings{Status: Active, Passwords: n.Passwords, Plan: n.Plan, Description: n.Description}}
	r.Product = n.Plan.product(bad)
	if len(r.Passwords) == 0 {
		r.Passwords = []string{randomHex(10)}
	}
	if err := checkPasswords(r.Passwords); err != nil {
		bad.Add("zone.password: %v", err)
	}
	var err error
	if r.AllowIPs, err = editCallers(nil, withoutAny(n.AllowIPs), false); err != nil {
		bad.Add("zone.ips: %v", err)
	}
	if r.AllowDomains, err = domains(strings.Fields(n.Plan.text("domain_whitelist"))); err != nil {
		bad.Add("plan.domain_whitelist: %v", err)
	}
	if len(bad.Details) > 0 {
		return nil, bad
	}
	return r, r.prepare()
}

// flagIn finds a word of a zone's name that usernames would read as a flag
// (service.md 5.2 rule 2: "-" separates).
func flagIn(name string) string {
	for _, word := range strings.Split(name, "-")[1:] {
		if username.IsFlag(word) {
			return word
		}
	}
	return ""
}

// withoutAny empties an allowlist with "any": an empty list means the same.
func withoutAny(entries []string) []string {
	if slices.Contains(entries, anyone) {
		return nil
	}
	return entries
}

// edit changes zones (nil: all that are not deleted) in one step, and returns them as they
// are then.
func (a *Account) edit(names []string, change func(*record) error) ([]Zone, error) {
	var out []Zone
	err := a.apply(func(v *view, tx *state.Tx) error {
		all := names == nil
		if all {
			names = v.order
		}
		for _, name := range names {
			old := v.zones[name]
			if old == nil || old.Status == Deleted {
				if all {
					continue
				}
				return ErrNoSuchZone
			}
			r := *old
			if err := change(&r); err != nil {
				return err
			}
			if err := r.prepare(); err != nil {
				return err
			}
			if err := zonesTable.Put(tx, name, r); err != nil {
				return err
			}
			v.zones[name] = &r
			out = append(out, r.zone())
		}
		_, deleted := v.count()
		for range deleted - maxZones {
			if err := v.forget(tx, a.scenarioZones); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (a *Account) editOne(name string, change func(*record) error) (Zone, error) {
	zs, err := a.edit([]string{name}, change)
	if err != nil {
		return Zone{}, err
	}
	return zs[0], nil
}

// DeleteZones deletes zones for good; nil is all of them. The names of the last
// [maxZones] stay listed.
func (a *Account) DeleteZones(names []string) ([]Zone, error) {
	return a.edit(names, func(r *record) error {
		*r = record{Name: r.Name, Product: r.Product, Settings: Settings{Created: r.Created, Status: Deleted}} // without its secrets
		return nil
	})
}

// DisableZone makes a zone refuse, or serve again.
func (a *Account) DisableZone(name string, disabled bool) (Zone, error) {
	return a.editOne(name, func(r *record) error {
		r.Status = Active
		if disabled {
			r.Status = Disabled
		}
		return nil
	})
}

// LimitZone sets what a zone may cost; nil removes the limit.
func (a *Account) LimitZone(name string, l *Limit) (Zone, error) {
	return a.editOne(name, func(r *record) error {
		r.Limit = l
		return nil
	})
}

// NewPassword regenerates a zone's password, effective immediately (service.md 3). It
// replaces all passwords of the zone.
func (a *Account) NewPassword(zone string) (Zone, error) {
	return a.editOne(zone, func(r *record) error {
		r.Passwords = []string{randomHex(10)}
		return nil
	})
}

// AddPasswords lets a zone accept further passwords, effective immediately.
func (a *Account) AddPasswords(zone string, passwords []string) (Zone, error) {
	if err := checkPasswords(passwords); err != nil {
		return Zone{}, answer.Invalid("password: " + err.Error())
	}
	return a.editOne(zone, func(r *record) error {
		next := slices.Clone(r.Passwords)
		for _, p := range passwords {
			if !slices.Contains(next, p) {
				next = append(next, p)
			}
		}
		if len(next) > maxPasswords {
			return fmt.Errorf("password: %w: %d at most", ErrTooMany, maxPasswords)
		}
		r.Passwords = next
		return nil
	})
}

// RemovePasswords removes passwords from a zone, effective immediately. It removes all of
// them or none. Errors: [ErrNoPassword] for one that the zone does not have, [ErrOnePassword]
// if none would be left.
func (a *Account) RemovePasswords(zone string, passwords []string) (Zone, error) {
	return a.editOne(zone, func(r *record) error {
		next := slices.Clone(r.Passwords)
		for _, p := range passwords {
			if !slices.Contains(next, p) {
				return ErrNoPassword
			}
			next = slices.DeleteFunc(next, func(o string) bool { return o == p })
		}
		if len(next) == 0 {
			return ErrOnePassword
		}
		r.Passwords = next
		return nil
	})
}

func checkPasswords(ps []string) error {
	if len(ps) > maxPasswords {
		return fmt.Errorf("%w: %d at most", ErrTooMany, maxPasswords)
	}
	for _, p := range ps {
		if p == "" || len(p) > maxPassword || strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("a password is 1 to 128 visible ASCII characters")
		}
	}
	return nil
}

// List names one of the lists of a zone.
type List string

// The lists of a zone (public documentation).
const (
	Allow List = "whitelist"
	Deny  List = "blacklist"
)

// EditIPs adds callers to a list of zones (nil: all), or removes them. An empty allowlist, or
// one with "any", admits every caller. The error for an invalid entry is an
// [*answer.InvalidError].
func (a *Account) EditIPs(zones []string, list List, entries []string, remove bool) ([]Zone, error) {
	return a.edit(zones, func(r *record) error {
		listed := &r.AllowIPs
		if list == Deny {
			listed = &r.DenyIPs
		}
		next, err := editCallers(*listed, entries, remove)
		if err != nil {
			return invalid(err)
		}
		if list == Allow {
			next = withoutAny(next)
		}
		*listed = next
		return nil
	})
}

func invalid(err error) error { return answer.Invalid(err.Error()) }

// EditDomains adds targets to a list of a zone, or removes them. The error for an
// invalid name is an [*answer.InvalidError].
func (a *Account) EditDomains(zone string, list List, entries []string, remove bool) (Zone, error) {
	changed, err := domains(entries)
	if err != nil {
		return Zone{}, invalid(err)
	}
	return a.editOne(zone, func(r *record) error {
		listed := &r.AllowDomains
		if list == Deny {
			listed = &r.DenyDomains
		}
		next := slices.DeleteFunc(slices.Clone(*listed), func(d string) bool { return slices.Contains(changed, d) })
		if !remove {
			next = append(next, changed...)
		}
		next, err := domains(next)
		if err != nil {
			return invalid(err)
		}
		*listed = next
		return nil
	})
}
