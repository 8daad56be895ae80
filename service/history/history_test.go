package history

import (
	"errors"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/database"
	"zonedeck/service/journal"
	"zonedeck/service/servicetest"
)

func TestAHistoryThatKeepsNothingSaysSo(t *testing.T) {
	h := New(journal.None(), config.Paths{}, "test", time.Now)
	if list, err := h.Entries(t.Context(), model.HistoryFilter{}); list != nil || !errors.Is(err, ErrNoHistory) {
		t.Errorf("the timeline: %v, %v", list, err)
	}
	if r, err := h.LoadFetch(t.Context(), "f_1"); r.ID != "" || !errors.Is(err, ErrNoHistory) {
		t.Errorf("a fetch: %v, %v", r.ID, err)
	}
	for what, err := range map[string]error{
		"an agent's call that begins": h.BeginCall(t.Context(), model.HistoryEntry{Ref: "c_1"}, true),
		"one that ended":              h.PutCall(t.Context(), model.HistoryEntry{Ref: "c_1"}),
		"a baseline":                  h.KeepBaseline(t.Context(), model.Baseline{}),
	} {
		if !errors.Is(err, ErrNoHistory) {
			t.Errorf("%s: %v", what, err)
		}
	}
	kept, _ := servicetest.Journal(t)
	h = New(kept, config.Paths{}, "test", time.Now)
	noerr.Must(t, kept.PutFetch(t.Context(), "test", model.FetchResult{ID: "f_1"}))
	if list, err := h.Entries(t.Context(), model.HistoryFilter{}); err != nil || len(list) != 1 {
		t.Errorf("the timeline: %v, %v", list, err)
	}
	if r, err := h.LoadFetch(t.Context(), "f_1"); r.ID != "f_1" || err != nil {
		t.Errorf("a fetch: %v, %v", r.ID, err)
	}
	if _, err := h.LoadFetch(t.Context(), "f_2"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("no fetch: %v", err)
	}
}

func TestAFilterNamesAProfileOrAll(t *testing.T) {
	for _, c := range []struct {
		text, inUse, profile string
	}{
		{"shop", "acme", "acme"},
		{`"profile:x"`, "acme", "acme"}, // a word
		{"profile:all", "acme", ""},
		{"profile:allied zone:x", "acme", "allied"},
		{"Profile=beta", "acme", "beta"},
		{`profile:"all"`, "acme", "all"},
		{"profile:all", "all", "all"},
		{"-profile:beta", "acme", ""},
	} {
		f, err := ParseFilter(c.text, c.inUse, time.Now())
		if err != nil || f.Profile != c.profile {
			t.Errorf("%s with %s: profile %q, %v; want %q", c.text, c.inUse, f.Profile, err, c.profile)
		}
	}
}
