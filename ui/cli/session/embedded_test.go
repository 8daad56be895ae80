package session

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
	"zonedeck/service/rehearsal"
	"zonedeck/ui/kit"
)

// home is one user's folders, which several processes share.
func home(t *testing.T) config.Paths {
	t.Helper()
	return config.FindPaths(options(t, nil).Getenv)
}

// another is the embedded emulator as one more process of that user sees it.
func another(t *testing.T, paths config.Paths) *embedded {
	t.Helper()
	e := &embedded{paths: paths, log: slog.New(slog.DiscardHandler), now: time.Now, proxy: "127.0.0.1:0", wait: time.Minute}
	t.Cleanup(func() {
		if err := e.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return e
}

func ensured(t *testing.T, e *embedded) emulator.Ready {
	t.Helper()
	ready, err := e.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ready
}

func TestTheSecondProcessAttachesAndTakesOverWhenTheFirstEnds(t *testing.T) {
	paths := home(t)
	first, second := another(t, paths), another(t, paths)
	began := ensured(t, first)
	if attached := ensured(t, second); attached.API != began.API {
		t.Fatalf("the second process uses %s, the first runs %s", attached.API, began.API)
	}
	if _, ours := second.where(); ours {
		t.Fatal("two processes run the emulator")
	}
	if err := first.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(paths.EmulatorFile()); !os.IsNotExist(err) {
		t.Errorf("the announcement of an emulator that has ended: %v", err)
	}
	taken := ensured(t, second)
	if _, ours := second.where(); !ours || taken.API == began.API {
		t.Errorf("after the owner's end the second process uses %s, ours %v", taken.API, ours)
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
	if err := e.announce(emulator.Ready{API: stranger.URL, PID: 1}); err != nil {
		t.Fatal(err)
	}
	// Its owner holds the folder and never answers.
	owner, err := emulator.Start(t.Context(), emulator.Options{StateDir: paths.EmulatorDir(), ProxyAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	e.wait = 200 * time.Millisecond
	if ready, err := e.ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), "process 1") {
		t.Errorf("a stranger at the announced port passes for the emulator: %s, %v", ready.API, err)
	}
	if err := owner.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.wait = time.Minute
	if ready := ensured(t, e); ready.API == stranger.URL {
		t.Error("a stale announcement is trusted")
	}
}

func TestACancelledCallerLeavesAndTheOthersGetTheEmulator(t *testing.T) {
	paths := home(t)
	holder, err := emulator.Start(t.Context(), emulator.Options{StateDir: paths.EmulatorDir(), ProxyAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
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
	if notes := e.notes(); notes != nil { // no lock is held over the search
		t.Errorf("notes of an emulator that has not started: %q", notes)
	}
	select {
	case err := <-answers:
		t.Fatalf("a caller got %v while the folder is held", err)
	default:
	}
	if err := holder.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Errorf("a caller that waited: %v", err)
		}
	}
	if _, ours := e.where(); !ours {
		t.Error("the search ended without an emulator")
	}
}

func TestTheEndDoesNotWaitForASearch(t *testing.T) {
	paths := home(t)
	holder, err := emulator.Start(t.Context(), emulator.Options{StateDir: paths.EmulatorDir(), ProxyAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	e := another(t, paths)
	e.wait = time.Hour
	answer := make(chan error, 1)
	go func() {
		_, err := e.ensure(t.Context())
		answer <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := e.close(ctx); err != nil {
		t.Error(err)
	}
	if err := <-answer; !errors.Is(err, errClosed) {
		t.Errorf("the caller that waited got %v", err)
	}
	if err := holder.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAStateThatCannotBeKeptIsReportedAndDoesNotStopTheEmulator(t *testing.T) {
	paths := home(t)
	if err := os.MkdirAll(paths.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths.EmulatorDir(), []byte("no folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := another(t, paths)
	ready := ensured(t, e)
	if notes := strings.Join(e.stateNotes(), "\n"); !e.alive(t.Context(), ready) || !strings.Contains(notes, "its state cannot be kept") {
		t.Errorf("notes %q", notes)
	}
	if _, err := os.Stat(paths.EmulatorFile()); !os.IsNotExist(err) {
		t.Errorf("an emulator of this process alone is announced: %v", err)
	}
}

func TestEveryProcessFollowsTheClockOfTheEmulator(t *testing.T) {
	paths := home(t)
	owner, guest := another(t, paths), another(t, paths)
	ensured(t, owner)
	week := 7 * 24 * time.Hour
	if _, err := rehearsal.New(guest.control).Advance(t.Context(), week); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*embedded{"the process that runs it": owner, "one that is attached": guest} {
		ensured(t, e)
		before := e.now()
		if ahead := e.clock().Sub(before); ahead < week || ahead > week+time.Minute {
			t.Errorf("%s is %v ahead", name, ahead)
		}
	}
	// The emulator's own clock follows the machine's, not the moved one.
	if got, err := rehearsal.New(guest.control).Time(t.Context()); err != nil || got.Ahead != week {
		t.Errorf("the emulator is %+v, %v", got, err)
	}
	if page, err := rehearsal.New(guest.control).Newest(t.Context(), 10); err != nil || len(page.Requests) != 0 {
		t.Errorf("checking whether it is alive is in its journal: %+v, %v", page, err)
	}
	// It is kept: who starts it again from its state begins where it was.
	for _, e := range []*embedded{owner, guest} {
		if err := e.close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	later := another(t, paths)
	ensured(t, later)
	before := later.now()
	if ahead := later.clock().Sub(before); ahead < week {
		t.Errorf("after a restart it is %v ahead", ahead)
	}
}

// consoleOf is a console of that user without its screen.
func consoleOf(t *testing.T, env map[string]string) (*Console, config.Paths) {
	t.Helper()
	if env == nil {
		env = map[string]string{}
	}
	env[EnvEmulatorProxy] = "127.0.0.1:0"
	o := options(t, env)
	c, err := OpenConsole(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, config.FindPaths(o.Getenv)
}

func TestAnIdleConsoleTakesOverAndTellsItsViews(t *testing.T) {
	c, paths := consoleOf(t, nil)
	owner := another(t, paths)
	began := ensured(t, owner)
	f := follower{c: c}
	if msg := f.begin(); !msg.(kit.SessionChanged).Session.Ready {
		t.Fatalf("the beginning: %v", msg)
	}
	if msgs := f.look(); len(msgs) != 0 {
		t.Fatalf("nothing happened, and the views get %v", msgs)
	}
	if err := owner.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	msgs := f.look()
	if len(msgs) != 2 {
		t.Fatalf("after the owner's end: %v", msgs)
	}
	if s := msgs[0].(kit.SessionChanged).Session; !s.Ready || s.Profile.BaseURL == began.API || len(s.Keys) == 0 {
		t.Errorf("the session in the message: ready %v, at %s", s.Ready, s.Profile.BaseURL)
	}
	if toast := msgs[1].(kit.Toast); !strings.Contains(toast.Text, "This console runs it now") || !strings.Contains(toast.Text, "added faults and the journal of requests are gone") {
		t.Errorf("toast %q", toast.Text)
	}
	if msgs := f.look(); len(msgs) != 0 {
		t.Errorf("sent twice: %v", msgs)
	}
}

func TestTheViewsLearnWhenTheClockWasMoved(t *testing.T) {
	c, _ := consoleOf(t, nil)
	f := follower{c: c}
	f.begin()
	key, _ := c.session.Key(DemoKey)
	if _, err := rehearsal.New(c.session.embedded.control).Advance(t.Context(), 365*24*time.Hour); err != nil {
		t.Fatal(err)
	}
	msgs := f.look()
	if len(msgs) != 2 || msgs[0].(kit.SessionChanged).Session.Ahead != 365*24*time.Hour {
		t.Fatalf("the views get %v", msgs)
	}
	if toast := msgs[1].(kit.Toast); !strings.Contains(toast.Text, "365d ahead") {
		t.Errorf("toast %q", toast.Text)
	}
	if text := aheadOfMachine(-36 * time.Hour); text != "1d 12h behind the machine's" {
		t.Errorf("a clock in the past is %q", text)
	}
	if state := key.State(c.session.Now(), time.Hour); state != model.KeyExpired {
		t.Errorf("a year later the key is %v", state)
	}
	if msgs := f.look(); len(msgs) != 0 {
		t.Errorf("sent twice: %v", msgs)
	}
}

func TestKeysOfTheEmulatorThatAreMadeLaterAreKnownEverywhere(t *testing.T) {
	c, paths := consoleOf(t, nil)
	f := follower{c: c}
	f.begin()
	guest := another(t, paths)
	ready := ensured(t, guest)
	post := func(path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ready.Control+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+ready.ControlToken)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 300 {
			t.Fatalf("%s: %s", path, resp.Status)
		}
	}
	post("/keys", `{"name":"later","level":"USER","expires":"Unlimited"}`)
	post("/keys/"+DemoKey+"/refresh", "")

	msgs := f.look()
	if len(msgs) != 1 {
		t.Fatalf("the views get %v", msgs)
	}
	if msgs := f.look(); len(msgs) != 0 {
		t.Errorf("sent twice: %v", msgs)
	}
	for name, keys := range map[string][]model.Key{"owner": msgs[0].(kit.SessionChanged).Session.Keys, "guest": demoKeys(ensured(t, guest))} {
		found := 0
		for _, k := range keys {
			if k.Name == "later" || k.Name == DemoKey {
				found++
				if k.Secret != "" || k.Level != model.LevelUser || !strings.Contains(k.Note, "showed its value once") {
					t.Errorf("%s: %+v", name, k)
				}
			}
		}
		if found != 2 {
			t.Errorf("%s has %d of the two", name, found)
		}
	}
	// Recorded with a reference, it can be used.
	if err := c.session.Inventory.Add(t.Context(), model.Key{Name: "later", Secret: "env:LATER"}); err != nil {
		t.Fatal(err)
	}
	if k, ok := c.session.Key("later"); !ok || k.Secret != "env:LATER" {
		t.Errorf("recorded: %+v", k)
	}
}

func TestAConsoleDoesNotCallItselfReadyWhileTheEmulatorIsGone(t *testing.T) {
	c, paths := consoleOf(t, nil)
	f := follower{c: c}
	f.begin()
	e := c.session.embedded
	e.mu.Lock()
	server := e.server
	e.server = nil
	e.mu.Unlock()
	if err := server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Somebody else holds the folder and does not answer.
	holder, err := emulator.Start(t.Context(), emulator.Options{StateDir: paths.EmulatorDir(), ProxyAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	e.wait = 100 * time.Millisecond
	msgs := f.look()
	if len(msgs) != 1 {
		t.Fatalf("messages %v", msgs)
	}
	if s := msgs[0].(kit.SessionChanged).Session; s.Ready || !strings.Contains(s.Problem, "does not answer") {
		t.Errorf("ready %v, problem %q", s.Ready, s.Problem)
	}
	if msgs := f.look(); len(msgs) != 0 {
		t.Errorf("the same problem is sent twice: %v", msgs)
	}
	if err := holder.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	msgs = f.look()
	if len(msgs) == 0 || !msgs[0].(kit.SessionChanged).Session.Ready {
		t.Errorf("after the holder's end: %v", msgs)
	}
}
