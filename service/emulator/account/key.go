package account

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
)

const (
	maxName = 64
	// defaultKey is the name of the key that an account begins with. Its level, ADMIN, and
	// its unlimited life are assumptions: the contract says only that it is issued.
	defaultKey = "default"
	// freshLife is how long the new value of an expired key lives where the old one's life
	// is not known: the recommended rotation (service.md 5.4).
	freshLife = 90 * 24 * time.Hour
)

// Key is an API key as account settings list it (service.md 2.1). Value is set only for
// unchanged keys of the scenario: the others are shown once and kept as hashes.
type Key struct {
	Name  string      `json:"name"`
	Level level.Level `json:"level" enum:"ADMIN|FINANCE|OPS|LIMIT|USER"`
	Duty  string      `json:"duty"`
	Value string      `json:"value" jsonschema:"empty for a key that was created or refreshed at run time"`
	// Expires is an RFC 3339 moment or "Unlimited".
	Expires string `json:"expires" jsonschema:"a date and time, or Unlimited"`
	// Rotated and Created are RFC 3339 moments; empty is unknown.
	Rotated string `json:"rotated" jsonschema:"a date and time, or empty where unknown"`
	Created string `json:"created"`
}

// key is the stored form of a key.
type key struct {
	Name  string      `json:"name"`
	Level level.Level `json:"level"`
	Duty  string      `json:"duty,omitempty"`
	// Hash is the SHA-256 of the value.
	Hash    []byte    `json:"hash,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: Unlimited
	Rotated time.Time `json:"rotated,omitzero"`
	Created time.Time `json:"created,omitzero"`

	// Deleted marks a key that the scenario, or the first start, would bring back.
	Deleted bool `json:"deleted,omitempty"`

	plain string // scenario keys, and the default key until it was handed out
}

// restoreKeys applies the stored keys to those of the scenario. issued reports whether a
// default key was stored.
func (a *Account) restoreKeys(v *view) (issued bool, err error) {
	err = keysTable.Each(a.state, func(name string, k key) error {
		issued = issued || name == defaultKey
		switch i := indexOf(v.keys, name); {
		case k.Deleted && i >= 0:
			v.keys = slices.Delete(v.keys, i, i+1)
		case k.Deleted:
		case len(k.Hash) != sha256.Size:
			return errors.New("it has no hash")
		case i >= 0:
			v.keys[i] = k
		default:
			v.keys = append(v.keys, k)
		}
		return nil
	})
	return issued, err
}

// datedKey is a scenario key with dates relative to the first start.
func datedKey(s *scenario.Scenario, k scenario.Key, first time.Time) key {
	out := key{Name: k.Name, Level: k.Level, Duty: k.Duty, plain: s.KeyValue(k)}
	out.Hash = hashOf(out.plain)
	if !k.Unlimited {
		out.Expires = first.Add(k.ExpiresIn)
	}
	if k.RotatedAgo >= 0 {
		out.Rotated = first.Add(-k.RotatedAgo)
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
// error is [ErrKeyMissing], [errKeyUnknown] or, with the key, [ErrKeyExpired].
func (a *Account) Authenticate(value string) (key, error) {
	if value == "" {
		return key{}, ErrKeyMissing
	}
	sum := sha256.Sum256([]byte(value))
	keys := a.view.Load().keys
	found := -1
	for i := range keys {
		if subtle.ConstantTimeCompare(sum[:], keys[i].Hash) == 1 {
			found = i
		}
	}
	if found < 0 {
		return key{}, errKeyUnknown
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

// maxRetired bounds the replaced values that [Account.Secrets] remembers.
const maxRetired = 1000

// Secrets lists the values that must never be shown: the keys known in plain, and the
// passwords of zones. A replaced or deleted value stays in the list, because its client may
// still send it: those of the scenario for good, of the others the last [maxRetired] of this
// run. The caller must not change the list.
func (a *Account) Secrets() []string {
	v := a.view.Load()
	v.once.Do(func() {
		v.secrets = slices.Concat(a.demo, v.retired, v.plainValues())
		slices.Sort(v.secrets)
		v.secrets = slices.Compact(v.secrets)
	})
	return v.secrets
}

// plainValues lists the valid values that are known in plain.
func (v *view) plainValues() (out []string) {
	for _, k := range v.keys {
		if k.plain != "" {
			out = append(out, k.plain)
		}
	}
	for _, name := range v.order {
		out = append(out, v.zones[name].Passwords...)
	}
	return out
}

// publish shows a view to readers; called under change.
func (a *Account) publish(v *view) {
	old := a.view.Load()
	valid := map[string]bool{}
	for _, value := range v.plainValues() {
		valid[value] = true
	}
	v.retired = slices.Clone(old.retired)
	for _, value := range old.plainValues() {
		if !valid[value] && !slices.Contains(a.demo, value) {
			v.retired = append(v.retired, value)
		}
	}
	v.retired = v.retired[max(0, len(v.retired)-maxRetired):]
	a.view.Store(v)
}

// HandOut is [Account.Keys], and shows the value of the default key for the last time.
func (a *Account) HandOut() []Key {
	toldNow := func(k key) bool { return k.plain != "" && !a.scenarioKeys[k.Name] }
	if !slices.ContainsFunc(a.view.Load().keys, toldNow) {
		return a.Keys() // the common case, without a lock
	}
	a.change.Lock()
	defer a.change.Unlock()
	out := a.Keys()
	v := a.view.Load().clone()
	for i, k := range v.keys {
		if toldNow(k) {
			v.keys[i].plain = ""
		}
	}
	a.publish(v)
	return out
}

func indexOf(keys []key, name string) int {
	return slices.IndexFunc(keys, func(k key) bool { return k.Name == name })
}

// ValidName reports whether a key or a zone can have this name: 1 to 64 letters, digits,
// '.', '_' or '-', the first one a letter or a digit.
func ValidName(name string) bool {
	const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return name != "" && len(name) <= maxName && strings.Trim(name, alphanumeric+"._-") == "" && strings.IndexByte(alphanumeric, name[0]) >= 0
}

// issueDefault gives the account its first key, on disk before anyone sees it.
func (a *Account) issueDefault() error {
	now := a.now().UTC()
	value, k := newValue(key{Name: defaultKey, Level: level.Admin, Duty: "human", Rotated: now, Created: now})
	return a.apply(func(v *view, tx *state.Tx) error {
		v.keys = append(v.keys, k)
		v.keys[0].plain = value // until it is handed out; never on disk
		return keysTable.Put(tx, k.Name, k)
	})
}

// CreateKey adds a key and gives its value, which is never shown again.
func (a *Account) CreateKey(name string, lv level.Level, duty string, expires time.Time) (Key, error) {
	now := a.now().UTC()
	value, k := newValue(key{Name: name, Level: lv, Duty: duty, Expires: expires, Rotated: now, Created: now})
	return withValue(value, k, a.apply(func(v *view, tx *state.Tx) error {
		if indexOf(v.keys, name) >= 0 {
			return ErrKeyExists
		}
		if len(v.keys) >= maxKeys {
			return ErrTooMany
		}
		v.keys = append(v.keys, k)
		return keysTable.Put(tx, name, k)
	}))
}

// RefreshKey gives a key a new value; the old one is invalid from that instant
// (service.md 3). A key that has expired is usable again (service.md 5.4: on expiry, use
// Refresh), for as long as its last value lived: assumption.
func (a *Account) RefreshKey(name string) (Key, error) {
	var value string
	var k key
	err := a.apply(func(v *view, tx *state.Tx) error {
		i := indexOf(v.keys, name)
		if i < 0 {
			return ErrNoSuchKey
		}
		k = v.keys[i].renewed(a.now().UTC())
		value, k = newValue(k)
		v.keys[i] = k
		return keysTable.Put(tx, name, k)
	})
	return withValue(value, k, err)
}

// renewed is a key with a new value. It keeps an expiry in the future.
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

// withValue is a key on the one occasion when its value is shown.
func withValue(value string, k key, err error) (Key, error) {
	if err != nil {
		return Key{}, err
	}
	out := k.public()
	out.Value = value
	return out, nil
}

// DeleteKey removes a key; requests with it are refused from that instant.
func (a *Account) DeleteKey(name string) error {
	return a.apply(func(v *view, tx *state.Tx) error {
		i := indexOf(v.keys, name)
		if i < 0 {
			return ErrNoSuchKey
		}
		v.keys = slices.Delete(v.keys, i, i+1)
		if a.scenarioKeys[name] || name == defaultKey {
			return keysTable.Put(tx, name, key{Name: name, Deleted: true})
		}
		return keysTable.Delete(tx, name)
	})
}

func newValue(k key) (string, key) {
	value := randomHex(32)
	k.plain = ""
	k.Hash = hashOf(value)
	return value, k
}

func hashOf(value string) []byte {
	sum := sha256.Sum256([]byte(value))
	return sum[:]
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}
