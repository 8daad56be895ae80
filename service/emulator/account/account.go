// Package account is the emulated account: its keys, levels and zones (service.md 2), kept
// in the state folder. The API, native access and the control API ask it what a key or a
// login permits, and change it.
//
// An [Account] is safe for concurrent use. Readers take no lock: they see the account after
// the last change. A change is on disk before it is answered, and every later request sees
// it.
package account

import (
	"cmp"
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
	maxKeys = 1000
	// maxZones bounds the zones that are not deleted, and the deleted ones that are
	// remembered.
	maxZones = 1000
)

// Errors that callers decide on.
var (
	ErrTooMany     = errors.New("the account holds no more of these")
	ErrNoSuchZone  = errors.New("no such zone")
	ErrZoneExists  = errors.New("duplicate zone name: a zone of this name already exists")
	ErrNoSuchKey   = errors.New("no such key")
	ErrKeyExists   = errors.New("a key of this name exists")
	ErrKeyMissing  = errors.New("no key was sent")
	errKeyUnknown  = errors.New("no key has this value")
	ErrKeyExpired  = errors.New("the key has expired")
	ErrNoPassword  = errors.New("the zone has no such password")
	ErrOnePassword = errors.New("a zone cannot be without a password: add one before the last is removed")
)

// The tables keep changes made at run time; the rest comes from the scenario. Zones keep
// their passwords, because their access details list them (service.md 2.2).
const (
	keysTable  = state.Table[key]("keys")
	zonesTable = state.Table[record]("zones")
	// keptSuspended has a value, under suspendedName, once the account was suspended or made
	// active.
	suspendedTable = state.Table[bool]("settings")
	suspendedName  = "suspended"
)

// view is the account at one moment. It never changes; a change replaces it.
type view struct {
	keys []key
	// zones by name, deleted ones included; order is how they are listed.
	zones     map[string]*record
	order     []string
	suspended bool

	retired []string // values that this run replaced, the oldest first

	once    sync.Once
	secrets []string // made on first use
}

// Account is the keys and zones.
type Account struct {
	// ID starts with "hl_" (service.md 2.3); Prefix is the first word of usernames.
	ID, Prefix string
	// Opening is the first balance of the account, in dollars.
	Opening float64

	now           func() time.Time
	state         *state.Dir
	scenarioKeys  map[string]bool // names of the scenario's keys
	scenarioZones map[string]bool // names of the scenario's zones
	demo          []string        // the scenario's keys and passwords in plain
	spent         func(zone string, from, to time.Time) float64

	view   atomic.Pointer[view]
	change sync.Mutex // serialises changes, including their writes; readers do not take it
}

// Open applies the changes of earlier runs to the scenario. An account without any key gets
// its default key (service.md 2.1). The ages of the scenario's keys count from first, the
// first start.
func Open(sc *scenario.Scenario, s *state.Dir, now func() time.Time, first time.Time) (*Account, error) {
	a := &Account{
		ID: sc.Account, Prefix: sc.Prefix, Opening: cmp.Or(sc.Balance, scenario.DefaultBalance), now: now, state: s,
		scenarioKeys: map[string]bool{}, scenarioZones: map[string]bool{},
	}
	v := &view{zones: map[string]*record{}, suspended: sc.Suspended}
	if err := a.takeScenario(sc, v, first.UTC()); err != nil {
		return nil, err
	}
	a.demo = v.plainValues()
	issued, err := a.restoreKeys(v)
	if err != nil {
		return nil, err
	}
	if err := a.restoreZones(v); err != nil {
		return nil, err
	}
	suspended, kept, err := suspendedTable.Get(s, suspendedName)
	if err != nil {
		return nil, err
	}
	if kept {
		v.suspended = suspended
	}
	a.view.Store(v)
	if len(v.keys) == 0 && len(sc.Keys) == 0 && !issued {
		return a, a.issueDefault()
	}
	return a, nil
}

func (a *Account) takeScenario(sc *scenario.Scenario, v *view, first time.Time) error {
	for _, k := range sc.Keys {
		a.scenarioKeys[k.Name] = true
		v.keys = append(v.keys, datedKey(sc, k, first))
	}
	for _, z := range sc.Zones {
		a.scenarioZones[z.Name] = true
		r, err := fromScenario(sc, z, first)
		if err != nil {
			return fmt.Errorf("zone %q of the scenario: %w", z.Name, err)
		}
		v.putZone(r)
	}
	return nil
}

func (a *Account) restoreZones(v *view) error {
	return zonesTable.Each(a.state, func(_ string, r record) error {
		if err := r.prepare(); err != nil {
			return err
		}
		v.putZone(&r)
		return nil
	})
}

// putZone adds or replaces a zone; v must not be published yet.
func (v *view) putZone(r *record) {
	if v.zones[r.Name] == nil {
		v.order = append(v.order, r.Name)
	}
	v.zones[r.Name] = r
}

// forget drops the first deleted zone in the list. A zone of the scenario stays recorded as
// deleted: otherwise it would return at the next start.
func (v *view) forget(tx *state.Tx, scenario map[string]bool) error {
	for i, name := range v.order {
		if v.zones[name].Status == Deleted && !scenario[name] {
			v.order = slices.Delete(v.order, i, i+1)
			delete(v.zones, name)
			return zonesTable.Delete(tx, name)
		}
	}
	return nil
}

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

// apply makes a change, first on disk, then for readers. If edit or the disk fails, nothing
// has changed. What it replaced may be a secret, and is erased.
func (a *Account) apply(edit func(*view, *state.Tx) error) error {
	a.change.Lock()
	defer a.change.Unlock()
	v := a.view.Load().clone()
	if err := a.state.Erase(func(tx *state.Tx) error { return edit(v, tx) }); err != nil {
		return err
	}
	a.publish(v)
	return nil
}

// Moment identifies the present state of the account: it differs, by ==, after every change.
// A decision holds while the moment stays the same.
func (a *Account) Moment() any { return a.view.Load() }

// Suspended reports whether the fetches of the account are refused.
func (a *Account) Suspended() bool { return a.view.Load().suspended }

// Suspend refuses the fetches of the account from now on, or allows them again.
func (a *Account) Suspend(suspended bool) error {
	return a.apply(func(v *view, tx *state.Tx) error {
		v.suspended = suspended
		return suspendedTable.Put(tx, suspendedName, suspended)
	})
}
