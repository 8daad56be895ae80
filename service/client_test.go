package service

import (
	"context"
	"errors"
	"testing"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/servicetest"
)

func TestAClientWithoutAJournalSaysSo(t *testing.T) {
	o := Options{
		Source: servicetest.SourceFor(servicetest.Profile("http://api.test")),
	}
	c := New(o)
	if list, err := c.Activity(t.Context(), model.ActivityFilter{}); list != nil || !errors.Is(err, ErrNoJournal) {
		t.Errorf("the timeline: %v, %v", list, err)
	}
	if r, err := c.LoadFetch(t.Context(), "f_1"); r.ID != "" || !errors.Is(err, ErrNoJournal) {
		t.Errorf("a fetch: %v, %v", r.ID, err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	o.Journal, _ = servicetest.Journal(t)
	c = New(o)
	if err := o.Journal.PutFetch(t.Context(), "test", model.FetchResult{ID: "f_1"}); err != nil {
		t.Fatal(err)
	}
	if list, err := c.Activity(t.Context(), model.ActivityFilter{}); err != nil || len(list) != 1 {
		t.Errorf("the timeline: %v, %v", list, err)
	}
	if r, err := c.LoadFetch(t.Context(), "f_1"); r.ID != "f_1" || err != nil {
		t.Errorf("a fetch: %v, %v", r.ID, err)
	}
	if _, err := c.LoadFetch(t.Context(), "f_2"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("no fetch: %v", err)
	}
	end := c.wire.Begin()
	defer end()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a call is under way: %v", err)
	}
}
