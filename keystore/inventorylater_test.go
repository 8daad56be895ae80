package keystore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// A LaterInventory reads nothing until it is used, and an unread inventory differs from an empty one.
func TestAnInventoryIsReadWhenItIsAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.toml")
	noerr.Must(t, noerr.From(openIn(t, path).Import(t.Context(), manyKeys(3), false)))
	var given []string
	var v *Inventory
	v = LaterInventory(path, func(keys []model.Key) {
		for _, k := range keys {
			given = append(given, k.Name)
		}
		if shown, err := v.Known(); !errors.Is(err, ErrKeysUnread) || len(shown) > 0 {
			t.Errorf("others saw %d keys (%v) before the first", len(shown), err)
		}
	})
	if keys, err := v.Known(); !errors.Is(err, ErrKeysUnread) || len(keys) > 0 || given != nil {
		t.Errorf("before it is read: %v, %v", keys, err)
	}
	if k, ok := v.Get("key-000001"); !ok || k.Note != "of the batch" {
		t.Errorf("a key that was asked for: %+v", k)
	}
	for range 2 {
		noerr.Must(t, v.Reload())
	}
	if keys, err := v.Known(); err != nil || len(keys) != 3 || !slices.Equal(given, []string{"key-000000", "key-000001", "key-000002"}) {
		t.Errorf("after it was read: %d keys, %v, given first %q", len(keys), err, given)
	}
}

// An unreadable file gives no keys and an error, until it can be read.
func TestAnInventoryThatCannotBeReadIsReadOnceItIsCorrected(t *testing.T) {
	for what, again := range map[string]func(v *Inventory) error{
		"reload": func(v *Inventory) error { return v.Reload() },
		"change": func(v *Inventory) error { return v.Add(t.Context(), model.Key{Name: "other"}) },
	} {
		path := filepath.Join(t.TempDir(), "keys.toml")
		noerr.Must(t, os.WriteFile(path, []byte("[[keys]]\nname = \"etl"), 0o600))
		given := 0
		v := LaterInventory(path, func(keys []model.Key) { given += len(keys) })
		fault := v.Read()
		if keys, err := v.Known(); fault == nil || err == nil || err.Error() != fault.Error() || errors.Is(err, ErrKeysUnread) || len(keys) > 0 || len(v.List()) > 0 {
			t.Fatalf("%s: a damaged file is %v, %v, then %v", what, keys, err, fault)
		}
		if err := again(v); err == nil || given != 0 {
			t.Errorf("%s: of a damaged file: %v", what, err)
		}
		noerr.Must(t, os.WriteFile(path, []byte("[[keys]]\nname = \"etl\"\n"), 0o600))
		if err := v.Read(); err == nil {
			t.Errorf("%s: it was read again without being asked to", what)
		}
		if err := again(v); err != nil || v.Unread() != nil || given != 1 {
			t.Errorf("%s: once corrected: %v, %v, %d given", what, err, v.Unread(), given)
		}
		if _, ok := v.Get("etl"); !ok {
			t.Errorf("%s: the key of the corrected file is not there", what)
		}
	}
}
