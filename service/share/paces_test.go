package share

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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
	asked  atomic.Int64
}

func (s *servers) Server(context.Context) (*database.Server, error) {
	s.asked.Add(1)
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
		return a, b, clock, func(by time.Duration) {
			move(clock, by+RenewEvery, a, b)
			for _, p := range []*Paces{a, b, a} { // each tells what it holds and wants, and the first takes what it gets
				noerr.Must(t, p.Look(t.Context(), pacetest.Call, len(p.zone(pacetest.Call).known.Part) > 0, func(*pace.Zone, pace.Signs) {}))
				move(clock, RenewEvery, a, b)
			}
		}
	})
}

func TestWithoutAServerTheWorkersOfAMachineGoByItsFiles(t *testing.T) {
	pacetest.Run(t, func(t *testing.T) (pace.Store, pace.Store, *pacetest.Clock, func(time.Duration)) {
		clock, gone, zones := &pacetest.Clock{At: time.Now()}, &servers{err: database.ErrGone}, pace.Files{Dir: t.TempDir()}
		one := func() *Paces {
			p := &Paces{Servers: gone, Zones: zones, Clock: clock}
			if err := p.Look(t.Context(), pacetest.Call, false, func(*pace.Zone, pace.Signs) {}); !errors.Is(err, database.ErrGone) {
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
		noerr.Must(t, a.Look(t.Context(), pacetest.Call, false, func(*pace.Zone, pace.Signs) {}))
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
	move(clock, RenewEvery-1, a, b)
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
	var log bytes.Buffer
	l := &pace.Limiter{Store: a, Clock: clock, Log: slog.New(slog.NewTextHandler(&log, nil))}
	turn, _ := pacetest.Enter(t, l, pacetest.Call)
	turn.End(t.Context(), tooFast)
	if n := strings.Count(log.String(), database.ErrGone.Error()); n != 1 {
		t.Errorf("it is said %d times: %s", n, log.String())
	}
	if words := l.Words(t.Context(), pacetest.Call); words == "" || at.asked.Load() != 1 {
		t.Errorf("known %q, asked %d times", words, at.asked.Load())
	}
	at.err, clock.At = nil, clock.At.Add(restFor)
	if words := l.Words(t.Context(), pacetest.Call); words != "" || at.asked.Load() != 2 {
		t.Errorf("when the server is back: known %q, asked %d times", words, at.asked.Load())
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
			if err := p.Look(t.Context(), pacetest.Call, false, func(*pace.Zone, pace.Signs) {}); errors.Is(err, context.DeadlineExceeded) != (n == 0) {
				t.Errorf("%v", err)
			}
		}
		if took := time.Since(began); took != answerIn {
			t.Errorf("it took %s", took)
		}
	})
}

// A process has one writer, for which a call may wait behind large commits.
func TestTheWaitForABusyWriterIsNotCutShort(t *testing.T) {
	a, _, _, _ := paces(t)
	asked, err := a.ask(t.Context(), func(ctx context.Context, _ *database.Server) error {
		if _, ends := ctx.Deadline(); ends {
			t.Error("it ends with the wait for an answer")
		}
		return nil
	})
	if noerr.Must(t, err); !asked {
		t.Error("the server was not asked")
	}
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

type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

// wall has the server know a zone with a wall above 8.
func wall(t *testing.T, s *database.Server, clock pace.Clock) {
	t.Helper()
	at := clock.Now()
	known := noerr.Try(json.Marshal(pace.Zone{Touched: at, Paces: map[string]*pace.Pace{"": {Cap: 100, Limit: 8, Wall: 9, WallUntil: at.Add(4 * time.Minute), Change: 1, Changed: at}}})).Must(t)
	noerr.Must(t, s.Migrate(t.Context(), "pace", paceTables))
	noerr.Must(t, s.Write(t.Context(), "a wall", func(ctx context.Context, tx *sql.Tx) error {
		return noerr.From(tx.ExecContext(ctx, "INSERT INTO pace_zones (profile, zone, known) VALUES ($1, $2, $3)", pacetest.Call.Profile, pacetest.Call.Zone, string(known)))
	}))
}

func TestACallWithinABeatCostsNoStatement(t *testing.T) {
	a, _, clock, at := paces(t)
	wall(t, at.server, clock)
	var log bytes.Buffer
	l := &pace.Limiter{Store: a, Clock: clock, Log: slog.New(slog.NewTextHandler(&log, nil))}
	pacetest.Enter(t, l, pacetest.Call) // it stays in flight
	noerr.Must(t, at.server.Close())
	for range 1000 {
		turn, why := pacetest.Enter(t, l, pacetest.Call)
		if turn == nil {
			t.Fatal(why)
		}
		turn.End(t.Context(), pace.Answer{Good: true})
	}
	if log.Len() > 0 {
		t.Errorf("it asked the server: %s", log.String())
	}
}

// together is a store whose calls go on when all have told what came of them.
type together struct {
	*Paces

	told sync.WaitGroup
}

func (s *together) Learn(ctx context.Context, o pace.Outcome) (says string, err error) {
	says, err = s.Paces.Learn(ctx, o)
	s.told.Done()
	s.told.Wait()
	return says, err
}

func TestCallsThatEndTogetherGiveThePartOfTheirProcessBack(t *testing.T) {
	a, b, clock, at := paces(t)
	wall(t, at.server, clock)
	s := &together{Paces: a}
	la, lb := &pace.Limiter{Store: s, Clock: clock}, &pace.Limiter{Store: b, Clock: clock}
	s.told.Add(2)
	first, _ := pacetest.Enter(t, la, pacetest.Call)
	second, _ := pacetest.Enter(t, la, pacetest.Call)
	var ends sync.WaitGroup
	for _, turn := range []*pace.Turn{first, second} {
		ends.Go(func() { turn.End(t.Context(), pace.Answer{Good: true}) })
	}
	ends.Wait()
	for range 8 {
		if turn, why := pacetest.Enter(t, lb, pacetest.Call); turn == nil {
			t.Fatal(why)
		}
	}
}

func TestTwoProcessesBelowAWallOf8NeverHaveANinthInFlight(t *testing.T) {
	a, b, _, at := paces(t)
	wall(t, at.server, machineClock{})
	var all sync.WaitGroup
	var flying, most atomic.Int64
	var sent [2]atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	for i, p := range []*Paces{a, b} {
		p.Clock = machineClock{}
		l := &pace.Limiter{Store: p, Clock: p.Clock, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
		for range 12 {
			all.Go(func() {
				for ctx.Err() == nil {
					turn, _, err := l.Enter(ctx, pacetest.Call, func() (func(), error) { return func() {}, nil }, func(string) {})
					if err != nil {
						return
					}
					now := flying.Add(1)
					for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
					}
					<-time.After(3 * time.Millisecond)
					flying.Add(-1)
					turn.End(ctx, pace.Answer{Good: true})
					if sent[i].Add(1); sent[0].Load() > 500 && sent[1].Load() > 500 {
						stop()
					}
				}
			})
		}
	}
	all.Wait()
	stop()
	if most.Load() != 8 {
		t.Errorf("%d were in flight at most; %d and %d calls", most.Load(), sent[0].Load(), sent[1].Load())
	}
}
