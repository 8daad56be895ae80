package service

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/local"
	"zonedeck/service/radius"
)

func TestTheDemoAccountsKeysAreUsed(t *testing.T) {
	s, err := Open(t.Context(), options(t, map[string]string{"ZONEDECK_PROFILE": "local"}))
	noerr.Must(t, err)
	defer func() { noerr.Want(t, s.Close(t.Context())) }()
	noerr.Must(t, noerr.From(s.Profile(t.Context())))
	audit, err := s.Keys.Inventory().Audit(t.Context(), false, 14*24*time.Hour, nil)
	if err != nil || len(audit.Problems) > 0 {
		t.Fatalf("%v %q", err, audit.Problems)
	}
	for _, k := range audit.Keys {
		if len(k.UsedBy) == 0 {
			t.Errorf("nothing uses %s", k.Name)
		}
	}
	etl, ok := s.Keys.Key("etl-main")
	report, err := s.Keys.Inventory().Radius(t.Context(), []radius.Subject{radius.KeySubject(etl, "local")}, nil, nil)
	if !ok || err != nil || len(report.Uses[0]) == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, u := range report.Uses[0] {
		if !u.Measurable() || u.Kind == radius.RunningJob {
			t.Errorf("etl-main: %+v", u)
		}
	}
}

func TestTheDemoAccountsKeysKeepTheirDates(t *testing.T) {
	o := options(t, map[string]string{"ZONEDECK_PROFILE": "local"})
	first := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	listed := func(days int) []model.Key {
		t.Helper()
		o.Now = func() time.Time { return first.AddDate(0, 0, days) }
		s, err := Open(t.Context(), o)
		noerr.Must(t, err)
		defer func() { noerr.Want(t, s.Close(t.Context())) }()
		noerr.Must(t, noerr.From(s.Profile(t.Context())))
		return s.Keys.Inventory().All()
	}
	begun := listed(0)
	for _, k := range begun {
		if k.Created.IsZero() != (k.Name == "old-admin") || k.Note != "" {
			t.Errorf("%s: created %s, %q", k.Name, k.Created, k.Note)
		}
	}
	for name, want := range map[string]string{local.DemoKey: "2026-11-21", "expired-user": "", "ops-zones": ""} {
		later := listed(61)
		i := slices.IndexFunc(later, func(k model.Key) bool { return k.Name == name })
		if note := later[i].Note; (want == "") != (note == "") || !strings.Contains(note, want) {
			t.Errorf("%s, 61 days later: %q", name, note)
		}
		for i := range later {
			later[i].Note = ""
		}
		if !reflect.DeepEqual(begun, later) {
			t.Errorf("61 days later the keys are\n%+v\nwant\n%+v", later, begun)
		}
	}
}
