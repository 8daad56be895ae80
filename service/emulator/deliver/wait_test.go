package deliver

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"zonedeck/service/emulator/state/statetest"
)

func TestReadersDoNotWaitForTheDisk(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	r := receive(t)
	e := open(t, Config{State: d})
	m := Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL}
	first, err := e.Deliver(m)
	if err != nil {
		t.Fatal(err)
	}
	begun, release := statetest.Hold(t, d, "deliveries")
	added := make(chan error, 1)
	go func() { added <- e.Add(m) }()
	<-begun
	if all := e.List("sd_1"); len(all) != 1 || all[0].ID != first.ID {
		t.Errorf("%+v", all)
	}
	if got, err := e.Get(first.ID); err != nil || got.Status != Waiting {
		t.Errorf("%+v, %v", got, err)
	}
	release()
	if err := <-added; err != nil {
		t.Fatal(err)
	}
}

func TestClosingWaitsForADeliveryThatIsBeingTaken(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	e := open(t, Config{State: d})
	begun, release := statetest.Hold(t, d, "deliveries")
	added := make(chan error, 1)
	go func() { added <- e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: "http://x.test/"}) }()
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	select {
	case err := <-closed:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // what does not wait has returned by then
	}
	release()
	if err := errors.Join(<-added, <-closed); err != nil {
		t.Fatal(err)
	}
	if all := open(t, Config{State: d}).List(""); len(all) != 1 {
		t.Errorf("after the next start: %+v", all)
	}
}

// An attempt stands on disk before it is made, and its end before it is forgotten: both
// while readers look.
func TestAnAttemptThatIsBeingKeptHoldsUpNoReader(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	e := open(t, Config{State: d, Send: func(*http.Request) (*http.Response, error) { return nil, errors.New("nobody there") }})
	first, err := e.Deliver(Message{Snapshot: "sd_1", Kind: Notify, URL: "http://x.test/"})
	if err != nil {
		t.Fatal(err)
	}
	begun, release := statetest.Hold(t, d, "deliveries")
	e.Start()
	<-begun
	if got, err := e.Get(first.ID); err != nil || len(got.Attempts) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	release()
	until(t, e, tried(1))
}
