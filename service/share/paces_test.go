package share

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/pace"
	"zonedeck/service/pace/pacetest"
)

// servers gives a server, or says why there is none.
type servers struct {
	server *database.Server
	err    error
	asked  int
}

func (s *servers) Server(context.Context) (*database.Server, error) {
	s.asked++
	return s.server, s.err
}

// paces are two workers, and the server of both.
func paces(t *testing.T) (a, b *Paces, clock *pacetest.Clock, at *servers) {
	t.Helper()
	dir := t.TempDir()
	clock, at = &pacetest.Clock{At: time.Now()}, &servers{server: postgrestest.Server(t, dir)}
	one := func(name string) *Paces {
		return &Paces{Servers: at, Zones: pace.Files{Dir: filepath.Join(dir, name)}, Safes: pace.Safes{Dir: filepath.Join(dir, name, "safe")}, Clock: clock}
	}
	return one("a"), one("b"), clock, at
}

// move moves the clocks of all.
func move(clock *pacetest.Clock, by time.Duration, workers ...*Paces) {
	clock.At = clock.At.Add(by)
	for _, p := range workers {
		p.moved += by
	}
}

func TestAServerIsAStoreOfPaces(t *testing.T) {
	pacetest.Run(t, func(t *testing.T) (pace.Store, pace.Store, *pacetest.Clock, func(time.Duration)) {
		a, b, clock, _ := paces(t)
		return a, b, clock, func(by time.Duration) { move(clock, by+knownFor, a, b) }
	})
}

func TestWithoutAServerTheWorkersOfAMachineGoByItsFiles(t *testing.T) {
	pacetest.Run(t, func(t *testing.T) (pace.Store, pace.Store, *pacetest.Clock, func(time.Duration)) {
		clock, gone, zones := &pacetest.Clock{At: time.Now()}, &servers{err: database.ErrGone}, pace.Files{Dir: t.TempDir()}
		one := func() *Paces {
			p := &Paces{Servers: gone, Zones: zones, Clock: clock}
			if err := p.Update(t.Context(), "acme", "z", false, func(*pace.Zone) {}); !errors.Is(err, database.ErrGone) {
				t.Error(err)
			}
			p.rest = clock.At.Add(time.Hour) // it is asked, and its fault told, every so often
			return p
		}
		return one(), one(), clock, func(by time.Duration) { clock.At = clock.At.Add(by) }
	})
}

func TestTheServersClockIsFollowed(t *testing.T) {
	a, _, clock, _ := paces(t)
	clock.At = clock.At.Add(-time.Hour)
	ahead := func() time.Duration {
		noerr.Must(t, a.Update(t.Context(), "acme", "z", false, func(*pace.Zone) {}))
		return a.Ahead().Round(time.Minute)
	}
	if d := ahead(); d != time.Hour {
		t.Errorf("it is ahead by %v", d)
	}
	clock.At = clock.At.Add(30 * time.Minute)
	if d := ahead(); d != 30*time.Minute {
		t.Errorf("after this machine's clock was set, by %v", d)
	}
}

var tooFast = pace.Answer{TooFast: true, ByService: true}

func TestAZoneThatIsKnownIsAskedForOnceABeat(t *testing.T) {
	a, b, clock, at := paces(t)
	la, lb := &pace.Limiter{Store: a, Clock: clock}, &pace.Limiter{Store: b, Clock: clock}
	for range 5 {
		turn, _ := pacetest.Enter(t, lb, pacetest.Call)
		turn.End(t.Context(), pace.Answer{Good: true})
	}
	turn, _ := pacetest.Enter(t, la, pacetest.Call)
	turn.End(t.Context(), tooFast)
	in := func(want int) {
		t.Helper()
		for n := 0; ; n++ {
			if turn, _ := pacetest.Enter(t, lb, pacetest.Call); turn == nil || n == 10 {
				if n != want {
					t.Errorf("%d go, want %d", n, want)
				}
				return
			}
		}
	}
	move(clock, knownFor-1, a, b)
	in(10) // it does not know yet
	move(clock, 1, a, b)
	in(4)
	noerr.Must(t, at.server.Close())
	in(0) // what waits asks nothing
}

func TestThePlaceOfADeadWorkerIsFreeWhenItsCallMustHaveEnded(t *testing.T) {
	a, b, clock, _ := paces(t)
	la, lb := &pace.Limiter{Store: a, Clock: clock}, &pace.Limiter{Store: b, Clock: clock}
	turn, _ := pacetest.Enter(t, la, pacetest.Call)
	turn.End(t.Context(), tooFast)
	for range 4 {
		pacetest.Enter(t, la, pacetest.Call)
	}
	move(clock, pacetest.Call.Timeout, a, b)
	if turn, why := pacetest.Enter(t, lb, pacetest.Call); turn != nil || why == "" {
		t.Errorf("within its time: %q", why)
	}
	move(clock, margin+time.Second, a, b)
	if turn, why := pacetest.Enter(t, lb, pacetest.Call); turn == nil {
		t.Errorf("after it: %q", why)
	}
}

func TestWhileThereIsNoServerAWorkerGoesByItsFiles(t *testing.T) {
	a, _, clock, at := paces(t)
	at.err = database.ErrGone
	begin := func() error {
		return a.Update(t.Context(), "acme", "z", true, func(z *pace.Zone) { z.Paces = map[string]*pace.Pace{"": {Cap: 8, Limit: 2}} })
	}
	if err := begin(); !errors.Is(err, database.ErrGone) {
		t.Errorf("the first time: %v", err)
	}
	noerr.Must(t, begin()) // it is said once
	known := func() (n int) {
		noerr.Must(t, a.Update(t.Context(), "acme", "z", false, func(z *pace.Zone) { n = len(z.Paces) }))
		return n
	}
	if n := known(); n != 1 || at.asked != 1 {
		t.Errorf("known %d, asked %d times", n, at.asked)
	}
	at.err, clock.At = nil, clock.At.Add(restFor)
	if n := known(); n != 0 || at.asked != 2 {
		t.Errorf("when the server is back: known %d, asked %d times", n, at.asked)
	}
}

// silentServer is a server that never answers.
type silentServer struct{}

func (silentServer) Server(ctx context.Context) (*database.Server, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestACallWaitsForASilentServerForThreeSecondsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := &Paces{Servers: silentServer{}, Zones: pace.Files{Dir: t.TempDir()}, Clock: &pacetest.Clock{At: began}}
		for n := range 2 {
			if err := p.Update(t.Context(), "acme", "z", false, func(*pace.Zone) {}); errors.Is(err, context.DeadlineExceeded) != (n == 0) {
				t.Errorf("%v", err)
			}
		}
		if took := time.Since(began); took != answerIn {
			t.Errorf("it took %s", took)
		}
	})
}

func TestWhatAProbeFoundIsKnownToAllWorkers(t *testing.T) {
	a, b, _, at := paces(t)
	if found, ok := b.Find(t.Context(), pacetest.Call); ok {
		t.Errorf("before: %+v", found)
	}
	noerr.Must(t, a.Keep(t.Context(), pacetest.Call, pace.Safe{AtOnce: 5}))
	noerr.Must(t, a.Keep(t.Context(), pacetest.Call, pace.Safe{AtOnce: 6, Words: "6 of 8"}))
	if found, ok := b.Find(t.Context(), pacetest.Call); !ok || found.AtOnce != 6 || found.Words != "6 of 8" {
		t.Errorf("%+v, %v", found, ok)
	}
	at.err = database.ErrGone
	if err := a.Keep(t.Context(), pacetest.Call, pace.Safe{AtOnce: 7}); !errors.Is(err, database.ErrGone) {
		t.Errorf("%v", err)
	}
	if found, ok := a.Find(t.Context(), pacetest.Call); !ok || found.AtOnce != 7 {
		t.Errorf("from its file: %+v, %v", found, ok)
	}
}
