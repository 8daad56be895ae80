package keystore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// A name is shown everywhere: a value in its place is refused, and repeated nowhere.
func TestAKeysValueIsNotTakenForItsName(t *testing.T) {
	const plain, random = "correct horse battery", "4f8a2c7e91d04b6c" // only the second one can be told from a name
	path := filepath.Join(t.TempDir(), "keys.toml")
	v := openIn(t, path)
	noerr.Must(t, v.Add(t.Context(), model.Key{Name: "etl", Fingerprint: NewSecret(plain).Fingerprint()}))
	rename := func(to string) error {
		return v.Update(t.Context(), "etl", func(k model.Key) (model.Key, error) { k.Name = to; return k, nil })
	}
	add := func(name, value string) error {
		return v.Add(t.Context(), model.Key{Name: name, Fingerprint: NewSecret(value).Fingerprint()})
	}
	importing := func(name, value string) error {
		_, err := v.Import(t.Context(), []model.Key{{Name: "other"}, {Name: name, Fingerprint: NewSecret(value).Fingerprint()}}, true)
		return err
	}
	for way, err := range map[string]error{
		"adding":                 add(plain, plain),
		"adding, in other words": add("key "+plain[:7], plain[:7]),
		"adding what looks so":   add(random, ""),
		"renaming":               rename(plain),
		"renaming to a token":    rename(random),
		"importing":              importing(plain, plain),
		"importing a token":      importing(random, ""),
	} {
		switch {
		case !errors.Is(err, ErrKeyFields):
			t.Errorf("%s: %v", way, err)
		case strings.Contains(err.Error(), plain[:7]) || strings.Contains(err.Error(), random):
			t.Errorf("%s: the error repeats it: %v", way, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), plain) || strings.Contains(string(text), random) || len(v.List()) != 1 {
		t.Errorf("%s %v", text, err)
	}
}

// A key that already has such a name can be changed, and imported again.
func TestAKeyWithTheNameOfATokenStaysUsable(t *testing.T) {
	const name = "productionscraper1"
	path := filepath.Join(t.TempDir(), "keys.toml")
	noerr.Must(t, os.WriteFile(path, []byte("version = 1\n[[keys]]\nname = \""+name+"\"\n"), 0o600))
	v := openIn(t, path)
	noerr.Want(t, v.Update(t.Context(), name, func(k model.Key) (model.Key, error) { k.Note = "seen"; return k, nil }))
	if done, err := v.Import(t.Context(), []model.Key{{Name: name, Level: model.LevelUser}}, true); err != nil || len(done.Changed) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
}
