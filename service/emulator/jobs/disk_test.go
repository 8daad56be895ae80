package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/service/emulator/state/statetest"
)

func TestAJobEndsOnceItsEndCanBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := statetest.Open(t, t.TempDir())
		s := &site{gate: make(chan struct{})}
		e, err := Open(t.Context(), Config{State: d, Fetch: s.fetch, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		snap, err := e.Trigger(Spec{Dataset: "gd_pages", Inputs: []json.RawMessage{json.RawMessage(`{"url":"http://x.test/"}`)}})
		if err != nil {
			t.Fatal(err)
		}
		mend := statetest.Refuse(t, d.Path("."), "jobs")
		s.gate <- struct{}{}
		synctest.Wait()
		if got, err := e.Get(snap.ID); err != nil || got.Status.Ended() || got.Done != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		mend()
		ctx, cancel := context.WithTimeout(t.Context(), 2*diskPause)
		defer cancel()
		if got, err := e.Wait(ctx, snap.ID); err != nil || got.Status != Ready {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestReadersDoNotWaitForTheDisk(t *testing.T) {
	for _, table := range []string{"records", "jobs"} {
		d := statetest.Open(t, t.TempDir())
		s := &site{gate: make(chan struct{})}
		e := open(t, d, s)
		snap, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(1)})
		if err != nil {
			t.Fatal(err)
		}
		begun, release := statetest.Hold(t, d, table)
		s.gate <- struct{}{}
		<-begun // its line, or its end, is being written
		all := e.List()
		got, err := e.Get(snap.ID)
		if err != nil || got.Status.Ended() || len(all) != 1 || all[0].Status.Ended() {
			t.Errorf("%s: %+v, %v", table, got, err)
		}
		if in, err := e.Inputs(snap.ID); err != nil || len(in) != 1 {
			t.Errorf("%s: %v inputs, %v", table, len(in), err)
		}
		release()
		until(t, e, snap.ID, ended)
	}
}

func TestClosingWaitsForAJobThatIsBeingKept(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	e := open(t, d, &site{})
	begun, release := statetest.Hold(t, d, "inputs")
	kept := make(chan error, 1)
	go func() {
		_, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(1)})
		kept <- err
	}()
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	select {
	case err := <-closed:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // what does not wait has returned by then
	}
	release()
	if err := errors.Join(<-kept, <-closed); err != nil {
		t.Fatal(err)
	}
	if err := e.Cancel(e.List()[0].ID); err != nil {
		t.Error(err)
	}
	if all := open(t, d, &site{}).List(); len(all) != 1 {
		t.Errorf("after the next start: %+v", all)
	}
}

func TestManyInputsKeepTheirOrder(t *testing.T) {
	d := statetest.Open(t, "")
	s := &site{gate: make(chan struct{})} // nothing is fetched
	const n = 3*inputsPerLine + 7
	e := open(t, d, s)
	snap, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(n)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Inputs(snap.ID)
	if err != nil || !slices.EqualFunc(got, inputs(n), func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Errorf("%d inputs, %v", len(got), err)
	}
}

func TestAKeptSnapshotIsNotRerun(t *testing.T) {
	e := open(t, statetest.Open(t, ""), &site{})
	kept, err := e.Keep(Spec{Dataset: "gd_pages", Inputs: []json.RawMessage{json.RawMessage(`{"filter":{}}`)}}, []json.RawMessage{json.RawMessage(`{"url":"http://x.test/"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Rerun(kept.ID, ""); !errors.Is(err, ErrNoInput) {
		t.Errorf("error %v", err)
	}
}
