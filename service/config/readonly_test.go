package config

import (
	"errors"
	"path/filepath"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestAReadOnlyProfileRefusesWhatChangesSomething(t *testing.T) {
	open, closed := model.Profile{Name: "acme"}, model.Profile{Name: "prod", ReadOnly: true}
	if err := errors.Join(open.Refuse("launch jobs"), open.RefuseMethod("POST")); err != nil {
		t.Errorf("a profile that may: %v", err)
	}
	if err := closed.Refuse("launch jobs"); !errors.Is(err, model.ErrReadOnly) || err.Error() != "profile prod is read-only: it does not launch jobs" {
		t.Errorf("%v", err)
	}
	for method, allowed := range map[string]bool{"": true, "GET": true, "head": true, "OPTIONS": true, "POST": false, "put": false, "PATCH": false, "DELETE": false, "BREW": false} {
		if err := closed.RefuseMethod(method); (err == nil) != allowed {
			t.Errorf("%q: %v", method, err)
		}
	}
}

func TestColorAndReadOnlyAreKeptInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	want := model.Profile{Name: "prod", BaseURL: "https://api.example.com", Verify: true, ReadOnly: true, Color: "red"}
	noerr.Must(t, AddProfile(t.Context(), path, want))
	f, err := Load(path)
	noerr.Must(t, err)
	p, err := f.Profile("prod")
	if err != nil || !p.ReadOnly || p.Color != "red" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = (Override{"base_url": "https://other.example.com"}).On(p); err != nil || !p.ReadOnly {
		t.Errorf("a flag lifts it: %+v, %v", p, err)
	}
	want.Name, want.Color = "other", "pink"
	if err := AddProfile(t.Context(), path, want); !errors.Is(err, ErrProfile) {
		t.Errorf("a color that is not known: %v", err)
	}
}
