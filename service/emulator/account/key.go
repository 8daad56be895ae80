package account

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/scenario"
)

const (
	maxName = 64
	// DefaultKey is the name of the key that an account begins with. Its level, ADMIN, and
	// its unlimited life are assumptions: the contract says only that it is issued.
	DefaultKey = "default"
	// freshLife is how long the new value of an expired key lives where the old one's life
	// is not known: the recommended rotation (service.md 5.4).
	freshLife = 90 * 24 * time.Hour
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

	plain string // scenario keys, and the default key until it was handed out
	hash  [sha256.Size]byte
}

func (a *Account) openKeys(sc *scenario.Scenario) []key {
	var keys []key
	start := a.now().UTC()
	for _, k := range sc.Keys {
		a.owned[k.Name] = true
		if !slices.Contains(a.file.Deleted, k.Name) {
			keys = append(keys, at(sc, k, start))
		}
	}
	for _, k := range a.file.Keys {
		b, err := hex.DecodeString(k.Hash)
		if err != nil || len(b) != sha256.Size {
			a.state.Note(fmt.Sprintf("key %q has no readable hash in %s and is left out", k.Name, accountName))
			continue
		}
		k.hash = [sha256.Size]byte(b)
		if i := indexOf(keys, k.Name); i >= 0 {
			keys[i] = k
		} else {
			keys = append(keys, k)
		}
	}
	return keys
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

// Authenticate finds the key of a value. Every key is compared, in constant time. The
// error is [ErrKeyMissing], [ErrKeyUnknown] or, with the key, [ErrKeyExpired].
func (a *Account) Authenticate(value string) (key, error) {
	if value == "" {
		return key{}, ErrKeyMissing
	}
	sum := sha256.Sum256([]byte(value))
	keys := a.view.Load().keys
	found := -1
	for i := range keys {
		if subtle.ConstantTimeCompare(sum[:], keys[i].hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return key{}, ErrKeyUnknown
	}
	k := keys[found]
	if !k.Expires.IsZero() && !a.now().Before(k.Expires) {
		return k, ErrKeyExpired
	}
	return k, nil
}

// Keys are the keys as account settings list them.
func (a *Account) Keys() []Key {
	keys := a.view.Load().keys
	out := make([]Key, len(keys))
	for i, k := range keys {
		out[i] = k.public()
	}
	return out
}

// Secrets are the values that nothing may show: the keys' that are known in plain, and the
// passwords of zones, deleted ones included. The list is the caller's to read only.
func (a *Account) Secrets() []string {
	v := a.view.Load()
	v.once.Do(func() {
		for _, k := range v.keys {
			if k.plain != "" {
				v.secrets = append(v.secrets, k.plain)
			}
		}
		for _, name := range v.order {
			v.secrets = append(v.secrets, v.zones[name].Passwords...)
		}
	})
	return v.secrets
}

// HandOut is [Account.Keys], and the last time that the default key's value is shown.
func (a *Account) HandOut() []Key {
	a.change.Lock()
	defer a.change.Unlock()
	out := a.Keys()
	toldNow := func(k key) bool { return k.plain != "" && !a.owned[k.Name] }
	if !slices.ContainsFunc(a.view.Load().keys, toldNow) {
		return out
	}
	v := a.view.Load().clone()
	for i, k := range v.keys {
		if toldNow(k) {
			v.keys[i].plain = ""
		}
	}
	a.view.Store(v)
	return out
}

func indexOf(keys []key, name string) int {
	return slices.IndexFunc(keys, func(k key) bool { return k.Name == name })
}

// ValidName reports whether a key or a zone can have this name: 1 to 64 letters, digits,
// '.', '_' or '-', the first one a letter or a digit.
func ValidName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// issueDefault gives the account its first key, on disk before anyone sees it.
func (a *Account) issueDefault() error {
	now := a.now().UTC()
	value, k := newValue(key{Name: DefaultKey, Level: level.Admin, Duty: "human", Rotated: now, Created: now})
	return a.apply(func(v *view, f *accountFile) error {
		f.Opened = true
		f.setKey(k)
		k.plain = value // until it is handed out; never on disk
		v.keys = append(v.keys, k)
		return nil
	})
}

// CreateKey adds a key and gives its value, which is never shown again.
func (a *Account) CreateKey(name string, lv level.Level, duty string, expires time.Time) (Key, error) {
	now := a.now().UTC()
	value, k := newValue(key{Name: name, Level: lv, Duty: duty, Expires: expires, Rotated: now, Created: now})
	return shown(value, k, a.apply(func(v *view, f *accountFile) error {
		if indexOf(v.keys, name) >= 0 {
			return ErrKeyExists
		}
		if len(v.keys) >= MaxKeys {
			return ErrTooMany
		}
		f.setKey(k)
		v.keys = append(v.keys, k)
		return nil
	}))
}

// RefreshKey gives a key a new value; the old one is invalid from that instant
// (service.md 3). A key that has expired is usable again (service.md 5.4: on expiry, use
// Refresh), for as long as its last value lived: assumption.
func (a *Account) RefreshKey(name string) (Key, error) {
	var value string
	var k key
	err := a.apply(func(v *view, f *accountFile) error {
		i := indexOf(v.keys, name)
		if i < 0 {
			return ErrNoSuchKey
		}
		k = v.keys[i].renewed(a.now().UTC())
		value, k = newValue(k)
		f.setKey(k)
		v.keys[i] = k
		return nil
	})
	return shown(value, k, err)
}

// renewed is a key whose value is made anew at a moment. Its expiry stays where it lies
// ahead.
func (k key) renewed(now time.Time) key {
	if !k.Expires.IsZero() && !now.Before(k.Expires) {
		life := k.Expires.Sub(k.Rotated)
		if k.Rotated.IsZero() || life <= 0 {
			life = freshLife
		}
		k.Expires = now.Add(life)
	}
	k.Rotated = now
	return k
}

// shown is a key on the one occasion that its value is told.
func shown(value string, k key, err error) (Key, error) {
	if err != nil {
		return Key{}, err
	}
	out := k.public()
	out.Value = value
	return out, nil
}

// DeleteKey removes a key; requests with it are refused from that instant.
func (a *Account) DeleteKey(name string) error {
	return a.apply(func(v *view, f *accountFile) error {
		i := indexOf(v.keys, name)
		if i < 0 {
			return ErrNoSuchKey
		}
		v.keys = slices.Delete(v.keys, i, i+1)
		f.Keys = slices.DeleteFunc(f.Keys, func(o key) bool { return o.Name == name })
		if a.owned[name] && !slices.Contains(f.Deleted, name) {
			f.Deleted = append(f.Deleted, name)
		}
		return nil
	})
}

func (f *accountFile) setKey(k key) {
	f.Keys = append(slices.DeleteFunc(f.Keys, func(o key) bool { return o.Name == k.Name }), k)
	f.Deleted = slices.DeleteFunc(f.Deleted, func(n string) bool { return n == k.Name })
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
