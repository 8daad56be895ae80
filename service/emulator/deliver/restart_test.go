package deliver

import (
	"net/http"
	"testing"
	"time"

	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

// TestADeadProcessLosesNoDeliveryAndRepeatsNoneWithoutEnd starts engines on one folder
// that all die within their attempt.
func TestADeadProcessLosesNoDeliveryAndRepeatsNoneWithoutEnd(t *testing.T) {
	d, c := statetest.Open(t, t.TempDir()), newClock()
	schedule := []time.Duration{time.Second, time.Second}
	reached := 0
	for range 5 {
		begun := make(chan struct{}, 1)
		e := open(t, Config{State: d, Now: c.now, Schedule: schedule, Send: func(r *http.Request) (*http.Response, error) {
			begun <- struct{}{}
			<-r.Context().Done()
			return nil, r.Context().Err()
		}})
		e.Start()
		if err := e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: "http://x.test/", Auth: "a"}); err != nil {
			t.Fatal(err)
		}
		ended := false
		until(t, e, func(d Delivery) bool {
			select {
			case <-begun:
				reached++
				return true
			default:
				ended = d.Status.ended()
				return ended
			}
		})
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if ended {
			break
		}
		c.forward(time.Second)
	}
	if reached != 3 {
		t.Errorf("%d attempts, want 3: one and two waits", reached)
	}
	e := open(t, Config{State: d, Now: c.now})
	if ds := e.List("sd_1"); len(ds) != 1 || ds[0].Status != Failed || len(ds[0].Attempts) != 3 || ds[0].Attempts[0].Over {
		t.Errorf("%+v", ds)
	}
}

func TestADeliveryGoesOnAfterARestart(t *testing.T) {
	r := receive(t)
	d := statetest.Open(t, t.TempDir())
	e := open(t, Config{State: d}) // never started: killed before it sent
	if err := e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL, Auth: "Basic eA=="}); err != nil {
		t.Fatal(err)
	}
	broken := Delivery{ID: "another", Status: Waiting, Message: Message{Parts: 1}}
	if err := d.Update(func(tx *state.Tx) error { return keptDeliveries.Put(tx, "broken", broken) }); err != nil {
		t.Fatal(err)
	}
	d = statetest.Open(t, statetest.Killed(t, d))
	e = open(t, Config{State: d})
	if n := d.Notes(); len(n) != 1 || n[0] != `"broken" of deliveries is left out: it cannot be read (its id or its parts are wrong)` {
		t.Errorf("notes: %q", n)
	}
	e.Start()
	// Handed over again: the same webhook, not another one.
	if err := e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL, Auth: "Basic eA=="}); err != nil {
		t.Fatal(err)
	}
	until(t, e, is(Done))
	if g := r.all(); len(g) != 1 || g[0].header.Get("Authorization") != "Basic eA==" {
		t.Errorf("%+v", g)
	}
}
