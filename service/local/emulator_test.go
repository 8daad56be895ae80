package local

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
	"zonedeck/service/rehearsal"
)

// home is one user's folders, which several processes share.
func home(t *testing.T) config.Paths {
	t.Helper()
	dir := t.TempDir()
	return config.Paths{Config: filepath.Join(dir, "config"), Data: filepath.Join(dir, "data"), Cache: filepath.Join(dir, "cache"), State: filepath.Join(dir, "state")}
}

// another is the embedded emulator as one more process of that user sees it.
func another(t *testing.T, paths config.Paths) *Emulator {
	t.Helper()
	e := New(paths, func(string) string { return "127.0.0.1:0" }, time.Now, slog.New(slog.DiscardHandler)).WithPatience(time.Minute)
	t.Cleanup(func() { noerr.Want(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

func ensured(t *testing.T, e *Emulator) emulator.Ready {
	t.Helper()
	ready, err := e.ensure(t.Context())
	noerr.Must(t, err)
	return ready
}

func TestTheSecondProcessAttachesAndTakesOverWhenTheFirstEnds(t *testing.T) {
	paths := home(t)
	first, second := another(t, paths), another(t, paths)
	began := ensured(t, first)
	if attached := ensured(t, second); attached.API != began.API {
		t.Fatalf("the second process uses %s, the first runs %s", attached.API, began.API)
	}
	if second.server != nil {
		t.Fatal("two processes serve the emulator")
	}
	noerr.Must(t, first.Close(t.Context()))
	if _, err := os.Stat(paths.EmulatorFile()); !os.IsNotExist(err) {
		t.Errorf("the announcement of an emulator that has ended: %v", err)
	}
	taken := ensured(t, second)
	if second.server == nil || taken.API == began.API {
		t.Errorf("after the owner's end the second process uses %s, serves it: %v", taken.API, second.server != nil)
	}
	if _, err := first.ensure(t.Context()); err == nil {
		t.Error("a session that has ended starts an emulator")
	}
}

func TestAnAnnouncementCountsOnlyWhereAnEmulatorAnswers(t *testing.T) {
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	paths := home(t)
	e := another(t, paths)
	noerr.Must(t, e.announce(emulator.Ready{API: stranger.URL, PID: 1}))
	// Its owner holds the folder and never answers.
	owner, err := emulator.Start(t.Context(), emulator.Options{StateDir: paths.EmulatorDir(), ProxyAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
	e.wait = 200 * time.Millisecond
	if ready, err := e.ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), "process 1") {
		t.Errorf("a stranger at the announced port passes for the emulator: %s, %v", ready.API, err)
	}
	noerr.Must(t, owner.Shutdown(t.Context()))
	e.wait = time.Minute
	if ready := ensured(t, e); ready.API == stranger.URL {
		t.Error("a stale announcement is trusted")
	}
}

func TestACancelledCallerLeavesAndTheOthersGetTheEmulator(t *testing.T) {
	paths := home(t)
	holder, err := emulator.Start(t.Context(), emulator.Options{StateDir: paths.EmulatorDir(), ProxyAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
	e := another(t, paths) // the folder is held, and nothing is announced
	e.wait = time.Minute
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.ensure(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled caller got %v", err)
	}
	answers := make(chan error, 2)
	for range cap(answers) {
		go func() {
			_, err := e.ensure(t.Context())
			answers <- err
		}()
	}
	if notes := e.Notes(); notes != nil { // no lock is held over the search
		t.Errorf("notes of an emulator that has not started: %q", notes)
	}
	select {
	case err := <-answers:
		t.Fatalf("a caller got %v while the folder is held", err)
	default:
	}
	noerr.Must(t, holder.Shutdown(t.Context()))
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Errorf("a caller that waited: %v", err)
		}
	}
	if e.server == nil {
		t.Error("the search ended without an emulator")
	}
}

func TestTheEndDoesNotWaitForASearch(t *testing.T) {
	paths := home(t)
	holder, err := emulator.Start(t.Context(), emulator.Options{StateDir: paths.EmulatorDir(), ProxyAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
	e := another(t, paths)
	e.wait = time.Hour
	answer := make(chan error, 1)
	go func() {
		_, err := e.ensure(t.Context())
		answer <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	noerr.Want(t, e.Close(ctx))
	if err := <-answer; !errors.Is(err, errClosed) {
		t.Errorf("the caller that waited got %v", err)
	}
	noerr.Must(t, holder.Shutdown(t.Context()))
}

func TestAStateThatCannotBeKeptIsReportedAndDoesNotStopTheEmulator(t *testing.T) {
	paths := home(t)
	noerr.Must(t, os.MkdirAll(paths.Data, 0o700))
	noerr.Must(t, os.WriteFile(paths.EmulatorDir(), []byte("no folder"), 0o600))
	e := another(t, paths)
	ready := ensured(t, e)
	if _, answers := e.alive(t.Context(), ready); !answers {
		t.Error("it does not answer")
	}
	if notes := strings.Join(e.StateNotes(), "\n"); !strings.Contains(notes, "its state cannot be kept") {
		t.Errorf("notes %q", notes)
	}
	if _, err := os.Stat(paths.EmulatorFile()); !os.IsNotExist(err) {
		t.Errorf("an emulator of this process alone is announced: %v", err)
	}
}

func TestAnEmulatorThatDoesNotEndIsLeft(t *testing.T) {
	t.Parallel()
	var hangs atomic.Bool
	release := make(chan struct{})
	e := New(home(t), func(string) string { return "127.0.0.1:0" }, func() time.Time {
		if hangs.Load() {
			<-release
		}
		return time.Now()
	}, slog.New(slog.DiscardHandler)).WithPatience(time.Minute)
	ensured(t, e)
	server := e.server
	defer func() {
		close(release)
		noerr.Want(t, server.Shutdown(context.WithoutCancel(t.Context()))) // before its folder goes
	}()
	hangs.Store(true)
	ended := make(chan error, 1)
	go func() { ended <- e.Close(context.WithoutCancel(t.Context())) }()
	select {
	case err := <-ended:
		if err == nil || err.Error() != "end the embedded emulator: it still runs after 5s, and ends with this process" {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Error("its end is waited for")
	}
}

func TestEveryProcessFollowsTheClockOfTheEmulator(t *testing.T) {
	paths := home(t)
	owner, guest := another(t, paths), another(t, paths)
	ensured(t, owner)
	week := 7 * 24 * time.Hour
	noerr.Must(t, noerr.From(rehearsal.New(guest.Control).Advance(t.Context(), week)))
	for name, e := range map[string]*Emulator{"the process that runs it": owner, "one that is attached": guest} {
		ensured(t, e)
		before := e.now()
		if ahead := e.Now().Sub(before); ahead < week || ahead > week+time.Minute {
			t.Errorf("%s is %v ahead", name, ahead)
		}
	}
	// The emulator's own clock follows the machine's, not the moved one.
	if got, err := rehearsal.New(guest.Control).Time(t.Context()); err != nil || got.Ahead != week {
		t.Errorf("the emulator is %+v, %v", got, err)
	}
	if page, err := rehearsal.New(guest.Control).Newest(t.Context(), 10); err != nil || len(page.Requests) != 0 {
		t.Errorf("checking whether it is alive is in its journal: %+v, %v", page, err)
	}
	// It is kept: who starts it again from its state begins where it was.
	for _, e := range []*Emulator{owner, guest} {
		noerr.Must(t, e.Close(t.Context()))
	}
	later := another(t, paths)
	ensured(t, later)
	before := later.now()
	if ahead := later.Now().Sub(before); ahead < week {
		t.Errorf("after a restart it is %v ahead", ahead)
	}
}
