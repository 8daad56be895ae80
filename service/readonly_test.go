package service

import (
	"errors"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/profiles"
)

func TestNoAccountIsAddedWithAReadOnlyProfile(t *testing.T) {
	s := openTest(t, options(t, nil))
	if refused := s.Profiles.Refusal(); refused != nil {
		t.Errorf("before: %v", refused)
	}
	p := s.Base
	p.ReadOnly = true
	s.InUse.SetProfile(p)
	if s.Profiles.Refusal() == nil {
		t.Error("it is not refused")
	}
}

func TestNoRatesAreSavedWhereNoneMayBe(t *testing.T) {
	s := openTest(t, options(t, nil))
	p := s.Base
	for _, c := range []struct {
		local, readOnly bool
		want            error
	}{{true, false, profiles.ErrOwnRates}, {false, true, model.ErrReadOnly}} {
		p.Local, p.ReadOnly = c.local, c.readOnly
		s.InUse.SetProfile(p)
		if err := s.Profiles.SaveRates(t.Context(), nil); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestATimeoutIsSavedInTheProfileInUse(t *testing.T) {
	o := options(t, nil)
	o.NoProfile = true
	s := noerr.Try(Open(t.Context(), o)).Must(t)
	_, err := saveProfile(t, s, profiles.Draft{Profile: model.Profile{Name: "acme", BaseURL: "https://api.example.com", APIVersion: model.DefaultAPIVersion, Verify: true}, Reference: "env:ACME_KEY"}, nil)
	noerr.Must(t, errors.Join(err, s.Close(t.Context())))
	o.NoProfile, o.Profile = false, "acme"
	s = openTest(t, o)
	noerr.Must(t, s.Profiles.SetTimeout(t.Context(), model.ProductUnlocker, 6*time.Minute))
	s.Watcher().Look(t.Context())
	if got := s.CurrentProfile().Timeouts.String(); got != "unlocker=6m0s" {
		t.Error(got)
	}
	p := s.Base
	p.ReadOnly = true
	s.InUse.SetProfile(p)
	if err := s.Profiles.SetTimeout(t.Context(), model.ProductUnlocker, time.Minute); !errors.Is(err, model.ErrReadOnly) {
		t.Error(err)
	}
}

// A form does not switch off read_only if that was set after the form was opened.
func TestAProfileThatBecameReadOnlyMeanwhileIsNotSaved(t *testing.T) {
	o := options(t, nil)
	o.NoProfile = true
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	opened, err := saveProfile(t, s, profiles.Draft{Profile: model.Profile{Name: "acme", BaseURL: "https://api.example.com", APIVersion: model.DefaultAPIVersion, Verify: true}, Reference: "env:ACME_KEY"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	locked := opened
	locked.ReadOnly = true
	if _, err := saveProfile(t, s, profiles.Draft{Profile: locked, Before: &opened}, nil); err != nil {
		t.Fatal(err)
	}
	s.Watcher().Look(t.Context())
	colored := opened
	colored.Color = "red"
	if _, err := saveProfile(t, s, profiles.Draft{Profile: colored, Before: &opened}, nil); !errors.Is(err, model.ErrReadOnly) {
		t.Errorf("%v", err)
	}
	if _, err := s.Profiles.Removal("acme"); !errors.Is(err, model.ErrReadOnly) {
		t.Errorf("its removal is asked about: %v", err)
	}
	if _, err := saveProfile(t, s, profiles.Draft{Profile: colored, Before: &locked}, nil); err != nil {
		t.Errorf("switched off: %v", err)
	}
}
