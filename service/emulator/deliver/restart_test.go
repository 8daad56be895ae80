package deliver

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/service/emulator/state"
)

// TestADeadProcessLosesNoDeliveryAndRepeatsNoneWithoutEnd starts engines on one folder
// that all die within their attempt.
func TestADeadProcessLosesNoDeliveryAndRepeatsNoneWithoutEnd(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	schedule := []time.Duration{time.Second, time.Second}
	reached := 0
	for range 5 {
		begun := make(chan struct{}, 1)
		e := open(t, Config{Dir: dir, Now: c.now, Schedule: schedule, Send: func(r *http.Request) (*http.Response, error) {
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
	e := open(t, Config{Dir: dir, Now: c.now})
	if d := e.List("sd_1"); len(d) != 1 || d[0].Status != Failed || len(d[0].Attempts) != 3 || d[0].Attempts[0].Over {
		t.Errorf("%+v", d)
	}
}

func TestADeliveryGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	r := receive(t)
	e := open(t, Config{Dir: dir}) // never started: killed before it sent
	if err := e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL, Auth: "Basic eA=="}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d_aaaaaaaaaaaaaaaa.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, state.HalfWritten+"1"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	e = open(t, Config{Dir: dir})
	if len(e.Notes()) != 1 {
		t.Errorf("notes: %q", e.Notes())
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
