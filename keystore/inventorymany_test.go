package keystore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// manyKeys are keys with all their fields.
func manyKeys(n int) []model.Key {
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	keys := make([]model.Key, n)
	for i := range keys {
		keys[i] = model.Key{
			Name: fmt.Sprintf("key-%06d", i), Level: model.Levels()[i%5], Duty: model.DutyBatch, Expires: model.ExpiresAt(day.AddDate(0, 0, i%400)),
			Created: day.AddDate(-1, 0, 0), Rotation: model.Rotation{Last: day.AddDate(0, 0, -i%150)}, Secret: fmt.Sprintf("env:KEY_%d", i),
			Fingerprint: fmt.Sprintf("%016x", i), Last4: fmt.Sprintf("%04d", i%10_000), UsedBy: []string{"nightly", "reports"}, Note: "of the batch",
		}
	}
	return keys
}

// More keys than a file written by hand may hold are imported, read by another console, and edited by
// two of them in turn.
func TestManyKeysAreImportedListedAndEdited(t *testing.T) {
	const n = 2000
	path := filepath.Join(t.TempDir(), "keys.toml")
	want := manyKeys(n)
	var table bytes.Buffer
	noerr.Must(t, WriteCSV(&table, want))
	read, err := ReadCSV(&table)
	noerr.Must(t, err)
	one := openIn(t, path)
	if done, err := one.Import(t.Context(), read, false); err != nil || len(done.Added) != n {
		t.Fatalf("%d added, %v", len(done.Added), err)
	}
	other := openIn(t, path)
	if !reflect.DeepEqual(other.List(), want) || !reflect.DeepEqual(one.List(), want) {
		t.Fatalf("%d and %d keys, others than were imported", len(other.List()), len(one.List()))
	}
	for i, v := range []*Inventory{one, other, one} {
		err := v.Update(t.Context(), "key-000007", func(k model.Key) (model.Key, error) {
			k.UsedBy = append(k.UsedBy, fmt.Sprint("user ", i))
			return k, nil
		})
		noerr.Must(t, err)
	}
	noerr.Must(t, other.Remove(t.Context(), want[8]))
	noerr.Must(t, one.Reload())
	k, _ := one.Get("key-000007")
	if len(one.List()) != n-1 || len(k.UsedBy) != 5 || len(want[7].UsedBy) != 2 {
		t.Errorf("%d keys; the one that was edited is used by %q", len(one.List()), k.UsedBy)
	}
}

// A caller that sorts or changes a list does not change the inventory.
func TestAListIsTheCallersOwn(t *testing.T) {
	v := openIn(t, filepath.Join(t.TempDir(), "keys.toml"))
	noerr.Must(t, noerr.From(v.Import(t.Context(), manyKeys(3), false)))
	list := v.List()
	list[0], list[1].UsedBy = list[2], append(list[1].UsedBy, "mine")
	k, _ := v.Get("key-000002")
	k.UsedBy[0] = "mine"
	if !reflect.DeepEqual(v.List(), manyKeys(3)) {
		t.Errorf("%+v", v.List())
	}
}

// Unchanged text is not parsed again; changed text is, even if size and time are the same.
func TestATextIsParsedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.toml")
	v := openIn(t, path)
	noerr.Must(t, noerr.From(v.Import(t.Context(), manyKeys(3), false)))
	before := v.keys
	if err := v.Reload(); err != nil || &v.keys[0] != &before[0] {
		t.Errorf("the file was parsed again (%v)", err)
	}
	info, err := os.Stat(path)
	noerr.Must(t, err)
	text, err := os.ReadFile(path)
	noerr.Must(t, err)
	noerr.Must(t, os.WriteFile(path, bytes.Replace(text, []byte("key-000001"), []byte("key-00000x"), 1), 0o600))
	noerr.Must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	if err := v.Reload(); err != nil || v.List()[1].Name != "key-00000x" {
		t.Errorf("%+v, %v", v.List(), err)
	}
}

// BenchmarkManyKeys is what a file with 100,000 keys costs: read by a process that starts, looked at
// by one that has read it, and one of them edited.
func BenchmarkManyKeys(b *testing.B) {
	path := filepath.Join(b.TempDir(), "keys.toml")
	v, err := OpenInventory(path)
	noerr.Must(b, err)
	noerr.Must(b, noerr.From(v.Import(b.Context(), manyKeys(100_000), false)))
	for name, f := range map[string]func(i int) error{
		"open":   func(int) error { _, err := OpenInventory(path); return err },
		"reload": func(int) error { return v.Reload() },
		"edit": func(i int) error {
			return v.Update(b.Context(), "key-050000", func(k model.Key) (model.Key, error) { k.Note = fmt.Sprint(i); return k, nil })
		},
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				noerr.Must(b, f(i))
			}
		})
	}
}

// Fingerprints of many keys are one write: each write of a long file takes a second.
func TestWhatWasSeenOfManyKeysIsWrittenOnce(t *testing.T) {
	v := openIn(t, filepath.Join(t.TempDir(), "keys.toml"))
	values := map[string]Secret{"env:NOBODY": NewSecret("of-no-key-0000")}
	for n := range 20 {
		k := fullKey()
		k.Name, k.Secret, k.Fingerprint, k.Last4 = fmt.Sprintf("key-%02d", n), fmt.Sprintf("env:KEY_%d", n/2), "", ""
		if n == 7 {
			k.Fingerprint, k.Last4 = "0123456789abcdef", "4444"
		}
		noerr.Must(t, v.Add(t.Context(), k))
		if n != 19 {
			values[k.Secret] = NewSecret(fmt.Sprintf("value-of-%d-%04d", n/2, n/2))
		}
	}
	for _, want := range []int{1, 0} {
		before := v.changes
		rotated, err := v.RecordSeen(t.Context(), values)
		if err != nil || v.changes-before != want || want == 1 && !slices.Equal(rotated, []string{"key-07"}) || want == 0 && len(rotated) > 0 {
			t.Errorf("%d writes, want %d; rotated are %q, %v", v.changes-before, want, rotated, err)
		}
	}
	noerr.Must(t, v.Reload())
	for _, k := range v.List() {
		if value := values[k.Secret]; k.Fingerprint != value.Fingerprint() || k.Last4 != value.Last4() {
			t.Errorf("%s: %s, ••••%s", k.Name, k.Fingerprint, k.Last4)
		}
	}
}
