package local

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
)

// TestMain lets the test binary be the process that serves the emulator. Its clock runs fast, so that five seconds are
// soon over.
func TestMain(m *testing.M) {
	if !slices.Equal(os.Args[1:], []string{"emulate", "--" + ServeUsersFlag}) {
		os.Exit(m.Run())
	}
	began := time.Now()
	fast := func() time.Time { return began.Add(20 * time.Since(began)) }
	e := New(config.FindPaths(os.Getenv), os.Getenv, fast, slog.New(slog.DiscardHandler)).ServedBy("", "1")
	if err := e.ServeUsers(context.Background()); err != nil {
		panic(err)
	}
}

// user is one user of an emulator that a process of its own serves.
func user(t *testing.T, dir, version string) *Emulator {
	t.Helper()
	getenv := func(name string) string {
		switch {
		case strings.HasPrefix(name, "XDG_"):
			return filepath.Join(dir, strings.ToLower(name))
		case name == EnvProxy:
			return "127.0.0.1:0"
		default:
			return os.Getenv(name)
		}
	}
	program, err := os.Executable()
	noerr.Must(t, err)
	e := New(config.FindPaths(getenv), getenv, time.Now, slog.New(slog.DiscardHandler)).ServedBy(program, version).WithPatience(time.Minute)
	t.Cleanup(func() { noerr.Want(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

// ended waits until nobody serves the emulator.
func ended(t *testing.T, e *Emulator) {
	t.Helper()
	for patience := time.Now().Add(time.Minute); ; {
		if err := emulator.ClearState(e.paths.EmulatorDir()); err == nil {
			return
		} else if time.Now().After(patience) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestTheEmulatorOutlivesTheUserThatStartedItAndEndsAfterTheLast(t *testing.T) {
	dir := t.TempDir()
	users := []*Emulator{user(t, dir, "1"), user(t, dir, "1"), user(t, dir, "1")}
	errs := make(chan error, len(users))
	for _, e := range users {
		go func() {
			_, err := e.ensure(t.Context())
			errs <- err
		}()
	}
	for range users {
		noerr.Must(t, <-errs)
	}
	began, last := users[0].Place(), users[2]
	if began.PID == os.Getpid() || users[1].Place() != began || last.Place() != began {
		t.Fatalf("three that start at once use %+v, %+v and %+v", began, users[1].Place(), last.Place())
	}
	noerr.Must(t, users[0].Close(t.Context()))
	noerr.Must(t, users[1].Close(t.Context()))
	if ensured(t, last); last.Place() != began {
		t.Errorf("after the others ended, %+v serves, not %+v", last.Place(), began)
	}
	if alone, _ := last.userLock().TryLock(); alone {
		t.Error("a user holds no lock, so the emulator would end under it")
	}
	first := last.ready.FirstStart
	process, err := os.FindProcess(began.PID)
	noerr.Must(t, err)
	noerr.Must(t, process.Kill())
	if again := ensured(t, last); again.PID == began.PID || !again.FirstStart.Equal(first) {
		t.Errorf("after a kill, process %d serves a state of %v, want another one than %d and %v", again.PID, again.FirstStart, began.PID, first)
	}
	noerr.Must(t, last.Close(t.Context()))
	ended(t, last)
}

func TestAnotherBuildServesWhileItIsInUse(t *testing.T) {
	dir := t.TempDir()
	old, updated := user(t, dir, "1"), user(t, dir, "2")
	began := ensured(t, old)
	if now := ensured(t, updated); now.PID != began.PID || len(updated.StateNotes()) != 1 || !strings.Contains(updated.StateNotes()[0], "another build of zonedeck") {
		t.Errorf("it uses process %d, want %d; notes %q", now.PID, began.PID, updated.StateNotes())
	}
	noerr.Must(t, old.Close(t.Context()))
	noerr.Must(t, updated.Close(t.Context()))
	ended(t, old)
	noerr.Must(t, old.announce(began)) // as if it were still there
	noerr.Must(t, user(t, dir, "2").use(t.Context()))
	if _, found := old.readAnnouncement(); found {
		t.Error("an emulator of another build that nobody uses is not told to end")
	}
}

func TestTheServingProcessGetsNoSecrets(t *testing.T) {
	for _, variable := range environment(func(name string) string { return "value of " + name }) {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "ZONEDECK_") && name != EnvProxy || strings.Contains(name, "KEY") {
			t.Errorf("it gets %s", name)
		}
	}
}
