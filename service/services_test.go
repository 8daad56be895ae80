package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/profiles"
)

// twoServices is a Service with profiles of two services, which are never called.
type twoServices struct {
	*Service
	config string
}

// newServices has the profiles aaa, whose key is acme, and bbb, which is in use.
func newServices(t *testing.T) *twoServices {
	t.Helper()
	a := &twoServices{config: filepath.Join(t.TempDir(), "config.toml")}
	text := "default_profile = \"bbb\"\n"
	for _, p := range []struct{ name, base, key string }{{"aaa", "https://a.example", "acme"}, {"bbb", "https://b.example", "other"}} {
		text += fmt.Sprintf("[profiles.%s]\nbase_url = %q\nkey = %q\ndialect = \"brightdata\"\n[[profiles.%[1]s.zones]]\nname = \"unl\"\nproduct = \"unlocker\"\n", p.name, p.base, p.key)
	}
	a.write(t, text)
	o := options(t, map[string]string{"ACME_KEY": "old-value-0123456789"})
	o.Config = a.config
	var err error
	if a.Service, err = Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(t.Context()) })
	for _, k := range []model.Key{{Name: "acme", Level: model.LevelUser, Secret: "env:ACME_KEY"}, {Name: "other", Level: model.LevelUser, Secret: "env:OTHER"}} {
		if err := a.Keys.Inventory().Add(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (a *twoServices) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(a.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (a *twoServices) edit(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(a.config)
	if err != nil || !strings.Contains(string(b), from) {
		t.Fatalf("%s has no %q: %v", a.config, from, err)
	}
	a.write(t, strings.Replace(string(b), from, to, 1))
}

func (a *twoServices) key(t *testing.T, name string) model.Key {
	t.Helper()
	k, ok := a.Keys.Key(name)
	if !ok {
		t.Fatalf("there is no key %s", name)
	}
	return k
}

// A record that cannot be used, like the lists of an early version, stops what it names and nothing else.
func TestARecordThatCannotBeUsedStopsOnlyWhatItNames(t *testing.T) {
	a := newServices(t)
	id := keystore.PlanRotation(model.Key{Name: "other"}, keystore.RotateByNewKey, nil, time.Now()).ID
	list := `{"id":"` + id + `","key":"other","method":"new key","users":[{"name":"profile bbb","proved":false}],"steps":[{"kind":"store","done":false}],"new_ref":"file:new"}`
	dir := a.Paths.RotationsDir()
	noerr.Must(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, id+".json"), []byte(list), 0o600)))
	rotations := a.Rotations(a.Keys.Inventory())
	for key, want := range map[string]error{"acme": nil, "other": keystore.ErrRotationFile} {
		if _, err := rotations.Rotation(t.Context(), rotations.OfKey(a.key(t, key), keystore.RotateByNewKey)); !errors.Is(err, want) {
			t.Errorf("rotating %s: %v, want %v", key, err, want)
		}
	}
	for ref, held := range map[string]bool{"file:new": true, "file:rotation-" + id + "-old": true, "file:another": false} {
		if text := rotations.HoldingReference(ref); strings.Contains(text, id) != held || held == (text == "") {
			t.Errorf("%s is held: %q, want %v", ref, text, held)
		}
	}
	for name, needed := range map[string]bool{"aaa": false, "bbb": true} {
		r, err := a.Profiles.Removal(name)
		noerr.Must(t, err)
		if err := a.Profiles.Remove(t.Context(), r, true, true); errors.Is(err, keystore.ErrRotationFile) != needed || !needed && err != nil {
			t.Errorf("removing profile %s: %v", name, err)
		}
	}
}

// Nothing that a rotation needs can be removed, and a rotation without its key can still be ended.
func TestWhatARotationNeedsIsNotRemoved(t *testing.T) {
	a := newServices(t)
	rotations := a.Rotations(a.Keys.Inventory())
	r, err := rotations.Rotation(t.Context(), rotations.OfKey(a.key(t, "acme"), keystore.RotateByNewKey))
	if err == nil {
		r, err = r.Begin(t.Context(), ask.Answers{}.Always(ask.BeginRotation))
	}
	if err != nil {
		t.Fatal(err)
	}
	plan := r.Plan
	other, err := a.Profiles.Removal("bbb")
	if err != nil {
		t.Fatal(err)
	}
	goes, err := a.Profiles.Removal("aaa")
	if err != nil || goes.Key.Name != "acme" {
		t.Fatalf("%+v, %v", goes, err)
	}
	held := profiles.Removal{Profile: other.Profile, Secrets: []string{"env:ACME_KEY"}}
	for what, err := range map[string]error{
		"the profile":             a.Profiles.Remove(t.Context(), goes, false, false),
		"the profile and its key": a.Profiles.Remove(t.Context(), goes, true, true),
		"a reference":             a.Profiles.Remove(t.Context(), held, false, true),
		"the key's record":        a.Profiles.Remove(t.Context(), profiles.Removal{Profile: other.Profile, Key: goes.Key}, true, false),
	} {
		if err == nil || !strings.Contains(err.Error(), "the rotation of key acme needs it") {
			t.Errorf("removing %s: %v", what, err)
		}
	}
	if err := a.Profiles.Remove(t.Context(), other, true, true); err != nil {
		t.Errorf("another account: %v", err)
	}
	if err := a.Keys.Inventory().Remove(t.Context(), goes.Key); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"acme", plan.ID} {
		if p, ok, err := a.Rotations(nil).UnderWay(name); !ok || err != nil || p.ID != plan.ID {
			t.Errorf("%s: %+v, %v, %v", name, p, ok, err)
		}
	}
	if r, err = r.Abandon(t.Context()); err != nil || !r.Plan.Abandoned {
		t.Fatalf("%v", err)
	}
	if _, ok, _ := a.Rotations(nil).UnderWay("acme"); ok {
		t.Error("it is still under way")
	}
	if err := a.Profiles.Remove(t.Context(), goes, false, true); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestACommandWhoseProfileIsGoneIsToldOfNoKey(t *testing.T) {
	a := newServices(t)
	a.edit(t, "[profiles.bbb]", "[profiles.ccc]")
	a.edit(t, "[[profiles.bbb.zones]]", "[[profiles.ccc.zones]]")
	a.edit(t, `default_profile = "bbb"`, `default_profile = "ccc"`)
	said := ""
	for _, change := range a.reload(t.Context()) {
		said += change.Text
	}
	if _, err := a.Profile(t.Context()); err == nil || !strings.HasPrefix(said, "nothing is sent with profile bbb: no such profile") || strings.Contains(said, "@") {
		t.Errorf("%q, %v", said, err)
	}
}
