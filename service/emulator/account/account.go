package account

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
)

// Bounds of an account.
const (
	MaxKeys = 1000
	// MaxZones bounds the zones that are not deleted, and the deleted ones that are
	// remembered.
	MaxZones = 1000
)

// ErrNewer means that account.json is of a later version, which this one would cut short.
var ErrNewer = errors.New("the account was written by a newer version of the emulator")

// Answers of the account to those who decide on them.
var (
	ErrTooMany     = errors.New("the account holds no more of these")
	ErrNoSuchZone  = errors.New("no such zone")
	ErrZoneExists  = errors.New("duplicate zone name: a zone of this name already exists")
	ErrNoSuchKey   = errors.New("no such key")
	ErrKeyExists   = errors.New("a key of this name exists")
	ErrKeyMissing  = errors.New("no key was sent")
	ErrKeyUnknown  = errors.New("no key has this value")
	ErrKeyExpired  = errors.New("the key has expired")
	ErrNoPassword  = errors.New("the zone has no such password")
	ErrOnePassword = errors.New("a zone cannot be without a password: add one before the last is removed")
)

const (
	accountName   = "account.json"
	schemaVersion = 2
)

// accountFile is what was changed at run time; everything else is the scenario's.
type accountFile struct {
	SchemaVersion int `json:"schema_version"`
	// Keys created or refreshed, with absolute dates; Deleted are scenario keys.
	Keys    []key    `json:"keys"`
	Deleted []string `json:"deleted,omitempty"`
	// Opened says that the default key was issued once.
	Opened bool `json:"opened,omitempty"`
	// Zones created or changed, by name. A zone's access details list its passwords
	// (service.md 2.2), so they are kept as they are, in a file only its owner reads.
	Zones map[string]*record `json:"zones,omitempty"`
	// Suspended is set once the account was suspended or made active at run time.
	Suspended *bool `json:"suspended,omitempty"`
	// Passwords of zones is how version 1 kept what it changed.
	Passwords map[string]string `json:"passwords,omitempty"`
}

// view is the account at one moment. It is never changed, only replaced.
type view struct {
	keys []key
	// zones by name, deleted ones included; order is how they are listed.
	zones     map[string]*record
	order     []string
	suspended bool

	once    sync.Once
	secrets []string // made when they are first asked for
}

// Account is the keys and zones.
type Account struct {
	// ID starts with "hl_" (service.md 2.3); Prefix is the first word of usernames.
	ID, Prefix string
	// Opening is what the account had to spend at first, in dollars.
	Opening float64

	now   func() time.Time
	state *state.Dir
	owned map[string]bool // names of the scenario's keys
	given map[string]bool // names of the scenario's zones
	rates map[string]scenario.Rate
	spent func(zone string, from, to time.Time) float64

	view   atomic.Pointer[view]
	change sync.Mutex // one writer, through disk; guards file
	file   accountFile
}

// Open reads what was changed in earlier runs over the scenario. An account without any
// key gets its default key (service.md 2.1).
func Open(sc *scenario.Scenario, s *state.Dir, now func() time.Time) (*Account, error) {
	a := &Account{
		ID: sc.Account, Prefix: sc.Prefix, Opening: sc.Balance, now: now, state: s,
		owned: map[string]bool{}, given: map[string]bool{}, rates: map[string]scenario.Rate{},
	}
	if a.Opening == 0 {
		a.Opening = scenario.DefaultBalance
	}
	if err := s.Read(accountName, &a.file); err != nil {
		return nil, err
	}
	if a.file.SchemaVersion > schemaVersion {
		return nil, fmt.Errorf("reading %s: %w", s.Path(accountName), ErrNewer)
	}
	a.file.SchemaVersion = schemaVersion
	if a.file.Zones == nil {
		a.file.Zones = map[string]*record{}
	}
	v := &view{keys: a.openKeys(sc), zones: map[string]*record{}, suspended: sc.Suspended}
	if a.file.Suspended != nil {
		v.suspended = *a.file.Suspended
	}
	if err := a.openZones(sc, v); err != nil {
		return nil, err
	}
	a.view.Store(v)
	if len(v.keys) == 0 && len(sc.Keys) == 0 && !a.file.Opened {
		return a, a.issueDefault()
	}
	return a, nil
}

func (a *Account) openZones(sc *scenario.Scenario, v *view) error {
	start := a.now().UTC()
	for _, z := range sc.Zones {
		a.given[z.Name] = true
		if z.Rate != nil {
			a.rates[z.Name] = *z.Rate
		}
		r, err := fromScenario(sc, z, start)
		if err != nil {
			return fmt.Errorf("zone %q of the scenario: %w", z.Name, err)
		}
		if p := a.file.Passwords[z.Name]; p != "" && a.file.Zones[z.Name] == nil {
			r.Passwords = []string{p}
			a.file.Zones[z.Name] = r
			delete(a.file.Passwords, z.Name)
		}
		v.put(r)
	}
	for _, name := range slices.Sorted(maps.Keys(a.file.Zones)) {
		r := a.file.Zones[name]
		if r == nil || r.Name != name || len(r.Passwords) == 0 && r.Status != Deleted || r.Product == "" {
			a.state.Note(fmt.Sprintf("zone %q is not readable in %s and is left out", name, accountName))
			delete(a.file.Zones, name)
			continue
		}
		if err := r.prepare(); err != nil {
			a.state.Note(fmt.Sprintf("zone %q in %s has a list that is not readable: %v", name, accountName, err))
			delete(a.file.Zones, name)
			continue
		}
		v.put(r)
	}
	return nil
}

// put adds or replaces a zone; v must not be published yet.
func (v *view) put(r *record) {
	if v.zones[r.Name] == nil {
		v.order = append(v.order, r.Name)
	}
	v.zones[r.Name] = r
}

// forget drops the deleted zone that was listed first. One of the scenario's stays on
// record: it would be back at the next start.
func (v *view) forget(f *accountFile, scenario map[string]bool) {
	for i, name := range v.order {
		if v.zones[name].Status == Deleted && !scenario[name] {
			v.order = slices.Delete(v.order, i, i+1)
			delete(v.zones, name)
			delete(f.Zones, name)
			return
		}
	}
}

// count is how many zones there are, and how many deleted ones.
func (v *view) count() (there, deleted int) {
	for _, r := range v.zones {
		if r.Status == Deleted {
			deleted++
		}
	}
	return len(v.zones) - deleted, deleted
}

func (v *view) clone() *view {
	return &view{keys: slices.Clone(v.keys), zones: maps.Clone(v.zones), order: slices.Clone(v.order), suspended: v.suspended}
}

func (f accountFile) clone() accountFile {
	f.Keys, f.Deleted = slices.Clone(f.Keys), slices.Clone(f.Deleted)
	f.Zones, f.Passwords = maps.Clone(f.Zones), maps.Clone(f.Passwords)
	return f
}

// apply makes a change: on disk first, then for every reader. When edit or the disk
// refuses, nothing has changed.
func (a *Account) apply(edit func(*view, *accountFile) error) error {
	a.change.Lock()
	defer a.change.Unlock()
	v, f := a.view.Load().clone(), a.file.clone()
	if err := edit(v, &f); err != nil {
		return err
	}
	if err := state.WriteJSON(a.state.Path(accountName), f); err != nil {
		return err
	}
	a.file = f
	a.view.Store(v)
	return nil
}

// Moment stands for the account as it is now: another one, by ==, after every change. What
// was decided at a moment holds while it is the same.
func (a *Account) Moment() any { return a.view.Load() }

// Suspended reports whether the account has its fetches refused.
func (a *Account) Suspended() bool { return a.view.Load().suspended }

// Suspend refuses the account's fetches from now on, or lets them pass again.
func (a *Account) Suspend(suspended bool) error {
	return a.apply(func(v *view, f *accountFile) error {
		v.suspended, f.Suspended = suspended, &suspended
		return nil
	})
}

// Rate is what the scenario charges for a zone; false is the product's default.
func (a *Account) Rate(zone string) (scenario.Rate, bool) {
	r, ok := a.rates[zone]
	return r, ok
}
