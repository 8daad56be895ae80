package session

import (
	"testing"
	"time"

	"zonedeck/service/radius"
)

func TestTheDemoAccountsKeysAreUsed(t *testing.T) {
	s, err := Open(t.Context(), options(t, map[string]string{"ZONEDECK_PROFILE": "local"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Profile(t.Context()); err != nil {
		t.Fatal(err)
	}
	audit, err := s.AuditKeys(t.Context(), false, 14*24*time.Hour, nil)
	if err != nil || len(audit.Problems) > 0 {
		t.Fatalf("%v %q", err, audit.Problems)
	}
	for _, k := range audit.Keys {
		if used := len(k.UsedBy) > 0; used != (k.Name != "old-admin") {
			t.Errorf("%s is used by %q", k.Name, k.UsedBy)
		}
	}
	etl, ok := s.Key("etl-main")
	report, err := s.Radius(t.Context(), []radius.Subject{radius.KeySubject(etl, "local")}, nil, nil)
	if !ok || err != nil || len(report.Uses[0]) == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, u := range report.Uses[0] {
		if !u.Measurable() || u.Kind == radius.RunningJob {
			t.Errorf("etl-main: %+v", u)
		}
	}
}
