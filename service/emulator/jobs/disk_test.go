package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A folder in the place of job.json stands for a full disk: the state cannot be written.
func TestAJobEndsOnceItsEndCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &site{gate: make(chan struct{})}
		e, err := Open(t.Context(), Config{Dir: dir, Fetch: s.fetch, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		snap, err := e.Trigger(Spec{Dataset: "gd_pages", Inputs: []json.RawMessage{json.RawMessage(`{"url":"http://x.test/"}`)}})
		if err != nil {
			t.Fatal(err)
		}
		state := filepath.Join(dir, snap.ID, metaName)
		if err := errors.Join(os.Remove(state), os.MkdirAll(filepath.Join(state, "full"), 0o700)); err != nil {
			t.Fatal(err)
		}
		s.gate <- struct{}{}
		synctest.Wait()
		if got, err := e.Get(snap.ID); err != nil || got.Status.Ended() {
			t.Fatalf("%+v, %v", got, err)
		}
		if err := os.RemoveAll(state); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*diskPause)
		defer cancel()
		if got, err := e.Wait(ctx, snap.ID); err != nil || got.Status != Ready {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestASnapshotOfRecordsThatWereThereIsNotRunAgain(t *testing.T) {
	e := open(t, t.TempDir(), &site{})
	kept, err := e.Keep(Spec{Dataset: "gd_pages", Inputs: []json.RawMessage{json.RawMessage(`{"filter":{}}`)}}, []json.RawMessage{json.RawMessage(`{"url":"http://x.test/"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Rerun(kept.ID, ""); !errors.Is(err, ErrNoInput) {
		t.Errorf("error %v", err)
	}
}
