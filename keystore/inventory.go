package keystore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// The errors of an Inventory that callers may check for.
var (
	errNoKey      = errors.New("no such key in the inventory")
	errKeyExists  = errors.New("the inventory has a key of that name")
	ErrKeyFields  = errors.New("key cannot be recorded")
	ErrKeyValue   = errors.New("not the value of a key")
	ErrKeysUnread = errors.New("the keys are still being read")
)

// Inventory is the list of keys in keys.toml. It holds references and
// fingerprints, never values.
//
// Every change locks the file, reads it again, changes it and replaces it: several
// consoles do not lose each other's changes. A file that cannot be read is never
// overwritten. Unchanged text is not parsed again.
type Inventory struct {
	path  string
	first func([]model.Key) // gets the keys of the first read before anybody else; may be nil

	mu      sync.Mutex        // never held during I/O: callers of Known must not wait
	keys    []model.Key       // replaced as a whole, never changed in place
	sum     [sha256.Size]byte // of the text that keys were parsed from; zero for no file
	unread  error             // nil once keys were read; else ErrKeysUnread, or the fault of the file
	changes int               // how many changes were written

	reloading sync.Mutex
	changing  sync.RWMutex // held for reading while a change is written
}

// inventoryBounds limits keys.toml: 100,000 keys with all their fields take about 35 MiB.
var inventoryBounds = textfile.Long("keys")

// OpenInventory reads the inventory. A missing file counts as empty; the first change
// creates it. A fault in the file is a *textfile.Error.
func OpenInventory(path string) (*Inventory, error) {
	v := LaterInventory(path, nil)
	if err := v.Read(); err != nil {
		return nil, err
	}
	return v, nil
}

// LaterInventory is an inventory whose file is read on first use. first, which may be nil, gets the keys
// before any caller does. It must neither change them nor call the inventory.
func LaterInventory(path string, first func([]model.Key)) *Inventory {
	return &Inventory{path: path, first: first, unread: ErrKeysUnread}
}

// Read reads the file unless that was tried before. After an error there are no keys until Reload
// succeeds.
func (v *Inventory) Read() error {
	if err := v.Unread(); !errors.Is(err, ErrKeysUnread) {
		return err
	}
	v.reloading.Lock()
	defer v.reloading.Unlock()
	if err := v.Unread(); !errors.Is(err, ErrKeysUnread) {
		return err
	}
	return v.reload()
}

// Unread says why no keys have been read: ErrKeysUnread until the first read has ended, then the fault of
// the file, or nil. It does not block.
func (v *Inventory) Unread() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.unread
}

// read returns the keys that are in the file now, and the checksum of its text. Nobody may change the
// keys in place.
func (v *Inventory) read() (keys []model.Key, sum [sha256.Size]byte, err error) {
	if err := textfile.Trusted(v.path); err != nil {
		return nil, sum, err
	}
	text, err := inventoryBounds.ReadFile(v.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, sum, nil
	case err != nil:
		return nil, sum, err
	}
	sum = sha256.Sum256(text)
	if keys, same := v.parsed(sum); same {
		return keys, sum, nil
	}
	keys, err = parseInventory(v.path, text)
	return keys, sum, err
}

// parsed returns the keys in memory if they were parsed from a text with this checksum.
func (v *Inventory) parsed(sum [sha256.Size]byte) (keys []model.Key, same bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.keys, v.sum == sum
}

func parseInventory(path string, text []byte) ([]model.Key, error) {
	var f inventoryFile
	doc, err := inventoryBounds.Decode(path, text, &f)
	if err != nil {
		return nil, err
	}
	return f.keys(doc)
}

// writeInventory writes the keys only if they can be read again: too many keys leave the file as it was.
// changed are the keys that were not read from it.
func writeInventory(path string, keys, changed []model.Key) (sum [sha256.Size]byte, err error) {
	text := renderInventory(keys)
	if err = inventoryBounds.Check(path, text); err == nil {
		_, err = parseInventory(path, renderInventory(changed))
	}
	if err != nil {
		return sum, fmt.Errorf("nothing was written, because %d keys could not be read again: %w", len(keys), err)
	}
	return sha256.Sum256(text), textfile.Write(path, text)
}

// Path is the path of the file.
func (v *Inventory) Path() string { return v.path }

// List is every key in the order of the file, as of the last read or change. The caller may change the
// list, but not the UsedBy of its keys in place.
func (v *Inventory) List() []model.Key {
	_ = v.Read() // Known reports the error
	keys, _ := v.Known()
	return keys
}

// Known is List for callers that must not wait. Until the first read has ended there are no keys, and the
// error is ErrKeysUnread. If the file could not be read, the error says why.
func (v *Inventory) Known() ([]model.Key, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.keys), v.unread
}

// Get finds a key by name.
func (v *Inventory) Get(name string) (model.Key, bool) {
	_ = v.Read()
	v.mu.Lock()
	defer v.mu.Unlock()
	i := index(v.keys, name)
	if i < 0 {
		return model.Key{}, false
	}
	return cloneKey(v.keys[i]), true
}

// Reload reads the file again, for changes made by another process or by hand.
// After an error the list is as before.
func (v *Inventory) Reload() error {
	v.reloading.Lock() // an older read must not replace a newer one
	defer v.reloading.Unlock()
	return v.reload()
}

func (v *Inventory) reload() error {
	for {
		v.mu.Lock()
		before, unread := v.changes, v.unread
		v.mu.Unlock()
		keys, sum, err := v.read()
		switch {
		case err != nil && unread != nil:
			v.mu.Lock()
			defer v.mu.Unlock()
			v.unread = err
			return err
		case err != nil:
			return err
		case unread != nil && v.first != nil:
			v.first(keys)
		}
		if v.setRead(keys, sum, before) {
			return nil
		}
	}
}

// setRead takes over the keys that were read, unless v.changes is no longer before. It reports whether it did.
func (v *Inventory) setRead(keys []model.Key, sum [sha256.Size]byte, before int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changes != before {
		return false
	}
	v.keys, v.sum, v.unread = keys, sum, nil
	return true
}

// Add records a key. Errors wrap errKeyExists or ErrKeyFields where they apply.
func (v *Inventory) Add(ctx context.Context, k model.Key) error {
	if err := checkName(k.Name, k.Fingerprint); err != nil {
		return fmt.Errorf("adding a key: %w", err)
	}
	return v.change(ctx, "adding key", k.Name, func(keys []model.Key) (next, changed []model.Key, err error) {
		if index(keys, k.Name) >= 0 {
			return nil, nil, errKeyExists
		}
		k, err := normalise(k)
		return merged(keys, []model.Key{k}), []model.Key{k}, err
	})
}

// Update changes the key that is in the file now. f may rename it.
func (v *Inventory) Update(ctx context.Context, name string, f func(model.Key) (model.Key, error)) error {
	return v.change(ctx, "changing key", name, func(keys []model.Key) (next, changed []model.Key, err error) {
		i := index(keys, name)
		if i < 0 {
			return nil, nil, errNoKey
		}
		k, err := f(cloneKey(keys[i]))
		if err != nil {
			return nil, nil, err
		}
		if k.Name != name {
			if index(keys, k.Name) >= 0 {
				return nil, nil, fmt.Errorf("renaming to %q: %w", k.Name, errKeyExists)
			}
			if err := checkName(k.Name, k.Fingerprint); err != nil {
				return nil, nil, err
			}
		}
		keys[i], err = normalise(k)
		return keys, keys[i : i+1], err
	})
}

// Remove drops a key from the inventory. The key itself and its secret stay where they
// are: keys are deleted in the account settings (service.md 4). If the record has changed
// since it was seen, it stays, and the error is a *ConflictError.
func (v *Inventory) Remove(ctx context.Context, seen model.Key) error {
	return v.change(ctx, "removing key", seen.Name, func(keys []model.Key) (next, changed []model.Key, err error) {
		i := index(keys, seen.Name)
		if i < 0 {
			return nil, nil, errNoKey
		}
		if fields := Changes(seen, keys[i]); len(fields) > 0 {
			return nil, nil, &ConflictError{Base: cloneKey(keys[i]), Fields: fields}
		}
		return slices.Delete(keys, i, i+1), nil, nil
	})
}

// errAsSeen cancels a change that would change nothing.
var errAsSeen = errors.New("already recorded")

// RecordSeen records the fingerprints of the values, by their references, at the keys with those references, in one
// write. It writes only if something changes. It leaves the rotation clock alone: a value seen for the first time may
// have any age. rotated names the keys that had another value before: they were rotated elsewhere.
func (v *Inventory) RecordSeen(ctx context.Context, values map[string]Secret) (rotated []string, err error) {
	news := func(k model.Key) bool {
		value := values[k.Secret]
		return !value.Empty() && k.Fingerprint != value.Fingerprint()
	}
	if !slices.ContainsFunc(v.List(), news) {
		return nil, nil
	}
	err = v.change(ctx, "recording", "what was seen of keys", func(keys []model.Key) (next, changed []model.Key, err error) {
		for i, k := range keys {
			if !news(k) {
				continue
			}
			if k.Fingerprint != "" {
				rotated = append(rotated, k.Name)
			}
			value := values[k.Secret]
			keys[i].Fingerprint, keys[i].Last4 = value.Fingerprint(), value.Last4()
			changed = append(changed, keys[i])
		}
		if len(changed) == 0 { // another process was here
			return nil, nil, errAsSeen
		}
		return keys, changed, nil
	})
	if errors.Is(err, errAsSeen) {
		err = nil
	}
	if err != nil {
		rotated = nil
	}
	return rotated, err
}

// Settle waits until every change under way has been written or has failed.
func (v *Inventory) Settle() {
	v.changing.Lock()
	defer v.changing.Unlock()
}

// change is the read-modify-write cycle. f gets its own copy of the list, but must not change a UsedBy in
// place. It returns the next list, and the keys in it that it made or changed.
func (v *Inventory) change(ctx context.Context, doing, name string, f func([]model.Key) (next, changed []model.Key, err error)) error {
	if v.Unread() != nil { // the file may be readable by now
		if err := v.Reload(); err != nil {
			return fmt.Errorf("%s %q: %w", doing, name, err)
		}
	}
	v.changing.RLock()
	defer v.changing.RUnlock()
	unlock, err := textfile.Lock(ctx, v.path)
	if err != nil {
		return fmt.Errorf("%s %q: %w", doing, name, err)
	}
	defer unlock()
	var changed []model.Key
	var sum [sha256.Size]byte
	keys, _, err := v.read()
	if err == nil {
		keys, changed, err = f(slices.Clone(keys))
	}
	if err == nil {
		sum, err = writeInventory(v.path, keys, changed)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", doing, name, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.keys, v.sum = keys, sum
	v.changes++
	return nil
}

// normalise checks a key and reduces it to what the file can hold: whole seconds, UTC.
func normalise(k model.Key) (model.Key, error) {
	if problem := keyNameProblem(k.Name); problem != "" {
		return k, fmt.Errorf("%w: %s", ErrKeyFields, problem)
	}
	if _, err := model.ParseLevel(string(k.Level)); err != nil {
		return k, fmt.Errorf("%w: %w", ErrKeyFields, err)
	}
	if k.Secret != "" {
		if _, err := ParseRef(k.Secret); err != nil {
			return k, fmt.Errorf("%w: %w", ErrKeyFields, err)
		}
	}
	if k.Expires.Kind == model.ExpiryDate {
		k.Expires = model.ExpiresAt(k.Expires.At.Truncate(time.Second))
	}
	k.Rotation.Interval = 0 // the configuration has it
	if !k.Created.IsZero() {
		k.Created = k.Created.UTC().Truncate(time.Second)
	}
	if !k.Rotation.Last.IsZero() {
		k.Rotation.Last = k.Rotation.Last.UTC().Truncate(time.Second)
	}
	for _, text := range append([]string{string(k.Duty), k.Note}, k.UsedBy...) {
		if holdsValue(text, k.Fingerprint) {
			return k, fmt.Errorf("%w: a text field holds the key's value", ErrKeyFields)
		}
	}
	if k.Fingerprint != "" && !isHex16(k.Fingerprint) {
		return k, fmt.Errorf("%w: a fingerprint is 16 hex digits", ErrKeyFields)
	}
	if len([]rune(k.Last4)) > 4 {
		return k, fmt.Errorf("%w: only the last four characters of a key are recorded", ErrKeyFields)
	}
	k.UsedBy = slices.Clone(k.UsedBy)
	return k, nil
}

// cloneKey copies a key so that it shares nothing with the list.
func cloneKey(k model.Key) model.Key {
	k.UsedBy = slices.Clone(k.UsedBy)
	return k
}

func index(keys []model.Key, name string) int {
	return slices.IndexFunc(keys, func(k model.Key) bool { return k.Name == name })
}

// ErrOtherSecret is wrapped when a reference no longer gives the secret that was to be removed.
var ErrOtherSecret = errors.New("another secret is there now")

// Remove removes the secret behind a keyring: or file: reference. A missing secret is no error.
func (r *Resolver) Remove(ctx context.Context, ref string) error {
	return r.remove(ctx, ref, func() error { return nil })
}

// RemoveIf is Remove if the reference still gives value. Else the secret stays and the error wraps
// ErrOtherSecret. No console writes between the check and the removal, but the keyring's own programs can.
func (r *Resolver) RemoveIf(ctx context.Context, ref string, value Secret) error {
	return r.remove(ctx, ref, func() error {
		there, err := r.Resolve(ctx, ref)
		switch {
		case errors.Is(err, ErrSecretMissing):
			return nil
		case err == nil && !there.Equal(value):
			return &SecretError{Ref: Ref(ref).Label(), Problem: "the secret stays", Kind: ErrOtherSecret, Err: ErrOtherSecret}
		}
		return err
	})
}

// remove removes a secret if check returns nil. No console writes a secret meanwhile.
func (r *Resolver) remove(ctx context.Context, ref string, check func() error) error {
	parsed, err := ParseRef(ref)
	if err != nil {
		return &SecretError{Problem: err.Error(), Kind: errRefForm}
	}
	if !parsed.Storable() || parsed.Scheme() == SchemeFile && r.o.SecretsDir == "" {
		return &SecretError{
			Ref: parsed.Label(), Problem: "the console cannot remove secrets there", Kind: ErrNotStorable,
			Fix: "remove it where it lives",
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("removing %s: %w", parsed.Label(), err)
	}
	fault := func(err error) error {
		return &SecretError{Ref: parsed.Label(), Problem: "it cannot be removed", Kind: ErrSecretUnreachable, Err: err}
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return fault(err)
	}
	defer unlock()
	if err := check(); err != nil {
		return err
	}
	if parsed.Scheme() == SchemeKeyring {
		if err := r.keyring.remove(ctx, parsed); !errors.Is(err, ErrSecretMissing) {
			return err
		}
		return nil
	}
	if err := removeInside(r.o.SecretsDir, parsed.Target()+ageSuffix); err != nil {
		return fault(err)
	}
	return nil
}

// lock keeps out every other writer of secrets, in this process and in others. Without a secrets folder
// there is no place for a lock file, and only this process is covered.
func (r *Resolver) lock(ctx context.Context) (unlock func(), err error) {
	r.files.Lock()
	if r.o.SecretsDir == "" {
		return r.files.Unlock, nil
	}
	release, err := textfile.Lock(ctx, r.o.AgeIdentityFile)
	if err != nil {
		r.files.Unlock()
		return nil, err
	}
	return func() { release(); r.files.Unlock() }, nil
}

// removeInside removes a file in the folder. The name cannot lead out of it.
func removeInside(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a folder's handle; nothing was written through it
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
