package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/journal"
	"zonedeck/service/snippet"
)

// Inventory is the list of the keys: those that come with the profile in use, and the recorded ones. Its changes
// are written into the history.
type Inventory struct {
	*keystore.Inventory
	ks *Keys
}

// What a read-only profile refuses.
const (
	changeKeys = "change the key inventory"
	rotateKeys = "rotate keys"
)

// All returns the keys that come with the profile (see Supplied), then those of the inventory. A
// supplied key without a reference is left out if the inventory has a key of its name.
func (v Inventory) All() []model.Key {
	_ = v.Inventory.Read()
	return v.AllNow()
}

// Recorded are the keys of the inventory, with the intervals of the configuration and the fingerprints
// that were seen in this run.
func (v Inventory) Recorded() []model.Key {
	_ = v.Inventory.Read() // if it cannot be read, there are no keys, and nothing is sent
	keys, _ := v.Known()
	return keys
}

// Known is Recorded for callers that must not wait. unread is why the inventory's keys are not known.
func (v Inventory) Known() (keys []model.Key, unread error) {
	keys, unread = v.Inventory.Known()
	set := v.ks.cfg.Profiles.File().Keys()
	v.ks.marks.fill(keys)
	for i, k := range keys {
		keys[i] = set.Apply(k)
	}
	return keys, Unreadable(unread)
}

// Read reads the inventory unless it was read, and returns why it could not be read.
func (v Inventory) Read() error { return Unreadable(v.Inventory.Read()) }

// Unread is why the inventory's keys are not known; nil if they are. It does not block.
func (v Inventory) Unread() error { return Unreadable(v.Inventory.Unread()) }

// Unreadable adds to the error of an unreadable inventory what to do about it.
func Unreadable(err error) error {
	if err == nil || errors.Is(err, keystore.ErrKeysUnread) {
		return err
	}
	return fmt.Errorf("read the key inventory: %w; correct the file, or put a copy of it back: nothing is written to it before", err)
}

// ScanFolders are the folders that the configuration names for scans.
func (v Inventory) ScanFolders() []string { return v.ks.cfg.Profiles.File().Keys().Scan }

// SnippetOptions are the options of the scheduled check of the keys.
type SnippetOptions = snippet.Options

// Snippet is the text for a program that runs the check of the keys on schedule. Command prints it.
type Snippet struct{ Title, Text, Command string }

// Intervals are the days that a value is used, by level, where the configuration says them.
func (v Inventory) Intervals() map[model.Level]int { return v.ks.cfg.Profiles.File().Keys().Intervals }

// Snippets has one Snippet for each program, with the intervals of the configuration.
func (v Inventory) Snippets(o SnippetOptions) (out []Snippet) {
	o.Intervals = v.Intervals()
	for _, k := range snippet.Kinds(snippet.Keys) {
		text, _ := snippet.Write(snippet.Keys, k.Name, o) // it is one of them
		out = append(out, Snippet{k.Title, text, snippet.Command(k.Name, o)})
	}
	return out
}

// Supplied are the keys that come with the profile: the demo account's, or that of the environment.
func (v Inventory) Supplied(recorded []model.Key) (keys []model.Key) {
	if v.ks.cfg.Emulator != nil {
		if demo, first := v.ks.cfg.Emulator.Keys(); demo != nil {
			keys = v.ks.renewed(demo)
			v.ks.noteExpired(keys, first)
		}
	} else if v.ks.cfg.Env.Getenv(config.EnvKey) != "" {
		keys = append(keys, v.ks.environmentKey(recorded))
	}
	for i, k := range keys {
		keys[i] = v.ks.cfg.Profiles.File().Keys().Apply(k)
	}
	return slices.DeleteFunc(keys, func(k model.Key) bool {
		return k.Secret == "" && slices.ContainsFunc(recorded, func(r model.Key) bool { return r.Name == k.Name })
	})
}

// AllNow is All for callers that must not wait.
func (v Inventory) AllNow() []model.Key {
	recorded, _ := v.Known()
	return append(v.Supplied(recorded), recorded...)
}

// MayBeKey reports whether a reference belongs to a key, or may belong to one because the keys are not known. It
// does not block.
func (v Inventory) MayBeKey(ref string) bool {
	return v.Unread() != nil || slices.ContainsFunc(v.AllNow(), func(k model.Key) bool { return k.Secret == ref })
}

// Named finds a key by name, or the profile's key for an empty name. It does not block.
func (v Inventory) Named(name string) model.Key {
	return named(v.AllNow(), cmp.Or(name, v.ks.cfg.Profiles.Profile().Key))
}

// List is every key of the inventory, with the intervals of the configuration; none until the first read
// has ended. It does not block.
func (v Inventory) List() []model.Key {
	keys, _ := v.Known()
	return keys
}

// Get finds a key of List by name.
func (v Inventory) Get(name string) (model.Key, bool) {
	if v.Unread() != nil {
		return model.Key{}, false
	}
	k, ok := v.Inventory.Get(name)
	one := []model.Key{v.ks.cfg.Profiles.File().Keys().Apply(k)}
	v.ks.marks.fill(one)
	return one[0], ok
}

// Add records a key.
func (v Inventory) Add(ctx context.Context, k model.Key) error {
	err := v.ks.cfg.Profiles.Profile().Refuse(changeKeys)
	if err == nil {
		err = v.Inventory.Add(ctx, k)
	}
	if err == nil {
		v.ks.Events().Recorded(ctx, v.ks.cfg.Profiles.Base().Name, k, "in the inventory, level "+k.Level.String())
	}
	return err
}

// Import records keys; see keystore.Inventory.Import.
func (v Inventory) Import(ctx context.Context, keys []model.Key, update bool) (keystore.Imported, error) {
	if err := v.ks.cfg.Profiles.Base().Refuse(changeKeys); err != nil {
		return keystore.Imported{}, err
	}
	done, err := v.Inventory.Import(ctx, keys, update)
	for _, name := range done.Added {
		v.ks.putKeyEvent(ctx, name, journal.EventRecorded, "in the inventory, by an import")
	}
	for _, name := range done.Changed {
		v.ks.putKeyEvent(ctx, name, "changed", "in the inventory, by an import")
	}
	return done, err
}

// Update changes a key.
func (v Inventory) Update(ctx context.Context, name string, change func(model.Key) (model.Key, error)) error {
	if err := v.ks.cfg.Profiles.Profile().Refuse(changeKeys); err != nil {
		return err
	}
	var before, after model.Key
	err := v.Inventory.Update(ctx, name, func(k model.Key) (model.Key, error) {
		var err error
		before = k
		after, err = change(k)
		return after, err
	})
	if err == nil {
		v.changed(ctx, before, after)
	}
	return err
}

// changed writes the difference between two records of a key into the history.
func (v Inventory) changed(ctx context.Context, before, after model.Key) {
	if after.Name != before.Name {
		v.ks.putKeyEvent(ctx, after.Name, "renamed", "in the inventory, from "+before.Name)
		before.Name = after.Name
	}
	what := keystore.Changes(before, after)
	switch {
	case len(what) == 0:
	case after.Fingerprint != before.Fingerprint:
		v.ks.putKeyEvent(ctx, after.Name, "refreshed", "it has another value, made on "+madeOn(after))
	default:
		v.ks.putKeyEvent(ctx, after.Name, "changed", "in the inventory: "+strings.Join(what, ", "))
	}
}

func madeOn(k model.Key) string {
	if k.Rotation.Last.IsZero() {
		return "an unknown day"
	}
	return k.Rotation.Last.UTC().Format(time.DateOnly)
}

// Remove drops a key.
func (v Inventory) Remove(ctx context.Context, seen model.Key) error {
	err := v.ks.cfg.Profiles.Profile().Refuse(changeKeys)
	if err == nil {
		err = v.Inventory.Remove(ctx, seen)
	}
	if err == nil {
		v.ks.putKeyEvent(ctx, seen.Name, "removed", "from the inventory; it is still valid at the service")
	}
	return err
}
