// Package account is the emulated account: its keys, levels and zones, kept in the state
// folder. Changes are on disk before they are answered. An [Account] is safe for
// concurrent use.
package account

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
)

// Answers of the account to those who decide on them.
var (
	ErrKeyMissing = errors.New("no key was sent")
	ErrKeyUnknown = errors.New("no key has this value")
	ErrKeyExpired = errors.New("the key has expired")
	ErrNoSuchKey  = errors.New("no such key")
	ErrKeyExists  = errors.New("a key of this name exists")
	ErrNoSuchZone = errors.New("no such zone")
)

// Key is an API key as account settings list it (service.md 2.1). Value is set for
// untouched keys of the scenario only: the others are shown once and kept as hashes.
type Key struct {
	Name  string      `json:"name"`
	Level level.Level `json:"level"`
	Duty  string      `json:"duty"`
	Value string      `json:"value"`
	// Expires is an RFC 3339 moment or "Unlimited".
	Expires string `json:"expires"`
	// Rotated and Created are RFC 3339 moments; empty is unknown.
	Rotated string `json:"rotated"`
	Created string `json:"created"`
}

// Zone is a zone with its access details (service.md 2.2).
type Zone struct {
	Name             string `json:"name"`
	Product          string `json:"product"`
	Password         string `json:"password"`
	IdentityVerified bool   `json:"identity_verified"`
}

// key is one key as the emulator holds it.
type key struct {
	Name  string      `json:"name"`
	Level level.Level `json:"level"`
	Duty  string      `json:"duty,omitempty"`
	// Hash is the SHA-256 of the value in hex.
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires,omitzero"` // zero: Unlimited
	Rotated time.Time `json:"rotated,omitzero"`
	Created time.Time `json:"created,omitzero"`

	plain string // scenario keys only
	hash  [sha256.Size]byte
}

// accountFile is what was changed at run time; everything else is the scenario's.
type accountFile struct {
	SchemaVersion int `json:"schema_version"`
	// Keys created or refreshed, with absolute dates; Deleted are scenario keys.
	Keys    []key    `json:"keys"`
	Deleted []string `json:"deleted,omitempty"`
	// Passwords of zones, by name. A zone's access details list its password
	// (service.md 2.2), so it is kept as it is, in a file only its owner reads.
	Passwords map[string]string `json:"passwords,omitempty"`
}

const accountName = "account.json"

// Account is the keys and zones. Changes are on disk before they are answered, and
// take effect for every request that looks a key up afterwards.
type Account struct {
	// ID starts with "hl_" (service.md 2.3); Prefix is the first word of usernames.
	ID, Prefix string
	now        func() time.Time
	state      *state.Dir
	owned      map[string]bool // names of the scenario's keys

	// change serialises writers through disk; mu guards what readers see.
	change sync.Mutex
	mu     sync.RWMutex
	keys   []key
	zones  []Zone
	file   accountFile
}

// Open reads what was changed in earlier runs over the scenario.
func Open(sc *scenario.Scenario, s *state.Dir, now func() time.Time) (*Account, error) {
	a := &Account{ID: sc.Account, Prefix: sc.Prefix, now: now, state: s, owned: map[string]bool{}}
	if err := s.Read(accountName, &a.file); err != nil {
		return nil, err
	}
	a.file.SchemaVersion = 1
	if a.file.Passwords == nil {
		a.file.Passwords = map[string]string{}
	}
	start := now().UTC()
	for _, k := range sc.Keys {
		a.owned[k.Name] = true
		if slices.Contains(a.file.Deleted, k.Name) {
			continue
		}
		a.keys = append(a.keys, at(sc, k, start))
	}
	for _, k := range a.file.Keys {
		b, err := hex.DecodeString(k.Hash)
		if err != nil || len(b) != sha256.Size {
			s.Note(fmt.Sprintf("key %q has no readable hash in %s and is left out", k.Name, accountName))
			continue
		}
		k.hash = [sha256.Size]byte(b)
		if i := a.indexOf(k.Name); i >= 0 {
			a.keys[i] = k
		} else {
			a.keys = append(a.keys, k)
		}
	}
	for _, z := range sc.Zones {
		zone := Zone{Name: z.Name, Product: z.Product, IdentityVerified: z.IdentityVerified, Password: sc.ZonePassword(z)}
		if p := a.file.Passwords[z.Name]; p != "" {
			zone.Password = p
		}
		a.zones = append(a.zones, zone)
	}
	return a, nil
}

// at is a scenario key with dates relative to the start.
func at(s *scenario.Scenario, k scenario.Key, start time.Time) key {
	out := key{Name: k.Name, Level: k.Level, Duty: k.Duty, plain: s.KeyValue(k)}
	out.hash = sha256.Sum256([]byte(out.plain))
	if !k.Unlimited {
		out.Expires = start.Add(k.ExpiresIn)
	}
	if k.RotatedAgo >= 0 {
		out.Rotated = start.Add(-k.RotatedAgo)
		out.Created = out.Rotated
	}
	return out
}

func (k key) public() Key {
	out := Key{Name: k.Name, Level: k.Level, Duty: k.Duty, Value: k.plain, Expires: "Unlimited"}
	if !k.Expires.IsZero() {
		out.Expires = k.Expires.UTC().Format(time.RFC3339)
	}
	if !k.Rotated.IsZero() {
		out.Rotated = k.Rotated.UTC().Format(time.RFC3339)
	}
	if !k.Created.IsZero() {
		out.Created = k.Created.UTC().Format(time.RFC3339)
	}
	return out
}

// Authenticate finds the key of a value. Every key is compared, in constant time.
func (a *Account) Authenticate(value string) (key, error) {
	if value == "" {
		return key{}, ErrKeyMissing
	}
	sum := sha256.Sum256([]byte(value))
	a.mu.RLock()
	found := -1
	for i := range a.keys {
		if subtle.ConstantTimeCompare(sum[:], a.keys[i].hash[:]) == 1 {
			found = i
		}
	}
	var k key
	if found >= 0 {
		k = a.keys[found]
	}
	a.mu.RUnlock()
	if found < 0 {
		return key{}, ErrKeyUnknown
	}
	if !k.Expires.IsZero() && !a.now().Before(k.Expires) {
		return k, ErrKeyExpired
	}
	return k, nil
}

// Zone finds a zone by its exact name (names are case-sensitive, service.md 5.2).
func (a *Account) Zone(name string) (Zone, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, z := range a.zones {
		if z.Name == name {
			return z, nil
		}
	}
	return Zone{}, ErrNoSuchZone
}

// Keys are the keys as account settings list them.
func (a *Account) Keys() []Key {
	a.mu.RLock()
	defer a.mu.RUnlock()
	out := make([]Key, len(a.keys))
	for i, k := range a.keys {
		out[i] = k.public()
	}
	return out
}

// Zones are the zones with their access details.
func (a *Account) Zones() []Zone {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Clone(a.zones)
}

func (a *Account) indexOf(name string) int {
	return slices.IndexFunc(a.keys, func(k key) bool { return k.Name == name })
}

var keyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ValidKeyName reports whether a key can have this name.
func ValidKeyName(name string) bool { return keyName.MatchString(name) }

// CreateKey adds a key and gives its value, which is never shown again.
func (a *Account) CreateKey(name string, lv level.Level, duty string, expires time.Time) (Key, error) {
	a.change.Lock()
	defer a.change.Unlock()
	if a.indexOf(name) >= 0 { // only writers change keys, and this is the only one
		return Key{}, ErrKeyExists
	}
	now := a.now().UTC()
	value, k := newValue(key{Name: name, Level: lv, Duty: duty, Expires: expires, Rotated: now, Created: now})
	f := a.file.with(k)
	if err := state.WriteJSON(a.state.Path(accountName), f); err != nil {
		return Key{}, err
	}
	a.mu.Lock()
	a.file, a.keys = f, append(a.keys, k)
	a.mu.Unlock()
	out := k.public()
	out.Value = value
	return out, nil
}

// RefreshKey gives a key a new value; the old one is invalid from that instant
// (service.md 3).
func (a *Account) RefreshKey(name string) (Key, error) {
	a.change.Lock()
	defer a.change.Unlock()
	i := a.indexOf(name)
	if i < 0 {
		return Key{}, ErrNoSuchKey
	}
	k := a.keys[i]
	k.Rotated = a.now().UTC()
	value, k := newValue(k)
	f := a.file.with(k)
	if err := state.WriteJSON(a.state.Path(accountName), f); err != nil {
		return Key{}, err
	}
	a.mu.Lock()
	a.file, a.keys[i] = f, k
	a.mu.Unlock()
	out := k.public()
	out.Value = value
	return out, nil
}

// DeleteKey removes a key; requests with it are refused from that instant.
func (a *Account) DeleteKey(name string) error {
	a.change.Lock()
	defer a.change.Unlock()
	i := a.indexOf(name)
	if i < 0 {
		return ErrNoSuchKey
	}
	f := a.file.without(name, a.owned[name])
	if err := state.WriteJSON(a.state.Path(accountName), f); err != nil {
		return err
	}
	a.mu.Lock()
	a.file, a.keys = f, slices.Delete(slices.Clone(a.keys), i, i+1)
	a.mu.Unlock()
	return nil
}

// NewPassword regenerates a zone's password, effective immediately (service.md 3).
func (a *Account) NewPassword(zone string) (Zone, error) {
	a.change.Lock()
	defer a.change.Unlock()
	i := slices.IndexFunc(a.zones, func(z Zone) bool { return z.Name == zone })
	if i < 0 {
		return Zone{}, ErrNoSuchZone
	}
	f := a.file
	f.Passwords = map[string]string{}
	for k, v := range a.file.Passwords {
		f.Passwords[k] = v
	}
	f.Passwords[zone] = randomHex(10)
	if err := state.WriteJSON(a.state.Path(accountName), f); err != nil {
		return Zone{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.file, a.zones[i].Password = f, f.Passwords[zone]
	return a.zones[i], nil
}

func (f accountFile) with(k key) accountFile {
	out := f
	out.Keys = slices.DeleteFunc(slices.Clone(f.Keys), func(o key) bool { return o.Name == k.Name })
	out.Keys = append(out.Keys, k)
	out.Deleted = slices.DeleteFunc(slices.Clone(f.Deleted), func(n string) bool { return n == k.Name })
	return out
}

func (f accountFile) without(name string, owned bool) accountFile {
	out := f
	out.Keys = slices.DeleteFunc(slices.Clone(f.Keys), func(o key) bool { return o.Name == name })
	if owned && !slices.Contains(f.Deleted, name) {
		out.Deleted = append(slices.Clone(f.Deleted), name)
	}
	return out
}

func newValue(k key) (string, key) {
	value := randomHex(32)
	k.plain = ""
	k.hash = sha256.Sum256([]byte(value))
	k.Hash = hex.EncodeToString(k.hash[:])
	return value, k
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
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
