package console

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
	"zonedeck/service/local"
	"zonedeck/service/rehearsal"
	"zonedeck/ui/kit"
)

// another is the embedded emulator as one more process of that user sees it.
func another(t *testing.T, paths config.Paths) *local.Emulator {
	t.Helper()
	e := local.New(paths, func(string) string { return "127.0.0.1:0" }, time.Now, slog.New(slog.DiscardHandler)).WithPatience(time.Minute)
	t.Cleanup(func() { noerr.Want(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

// consoleOf is a console of that user without its screen.
func consoleOf(t *testing.T, env map[string]string) (*Console, config.Paths) {
	t.Helper()
	if env == nil {
		env = map[string]string{}
	}
	env[local.EnvProxy] = "127.0.0.1:0"
	o := options(t, env)
	c, err := Open(t.Context(), o)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, c.Close()) })
	return c, config.FindPaths(o.Getenv)
}

func TestAnIdleConsoleTakesOverAndTellsItsViews(t *testing.T) {
	c, paths := consoleOf(t, nil)
	owner := another(t, paths)
	began, err := owner.Profile(t.Context())
	noerr.Must(t, err)
	f := follower{c: c}
	if msg := f.begin(); !msg.(kit.SessionChanged).Session.Ready {
		t.Fatalf("the beginning: %v", msg)
	}
	if msgs := f.look(); len(msgs) != 0 {
		t.Fatalf("nothing happened, and the views get %v", msgs)
	}
	noerr.Must(t, owner.Close(t.Context()))
	msgs := f.look()
	if len(msgs) != 2 {
		t.Fatalf("after the owner's end: %v", msgs)
	}
	if s := msgs[0].(kit.SessionChanged).Session; !s.Ready || s.Profile.BaseURL == began.BaseURL || len(s.Keys) == 0 {
		t.Errorf("the session in the message: ready %v, at %s", s.Ready, s.Profile.BaseURL)
	}
	if toast := msgs[1].(kit.Toast); !strings.Contains(toast.Text, "took over") || !strings.Contains(toast.Text, "added faults and the journal of requests are gone") {
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
	key, _ := c.service.Keys.Key(local.DemoKey)
	noerr.Must(t, noerr.From(rehearsal.New(c.service.Local.Control).Advance(t.Context(), 365*24*time.Hour)))
	msgs := f.look()
	if len(msgs) != 2 || msgs[0].(kit.SessionChanged).Session.Ahead != 365*24*time.Hour {
		t.Fatalf("the views get %v", msgs)
	}
	if toast := msgs[1].(kit.Toast); !strings.Contains(toast.Text, "365d ahead") {
		t.Errorf("toast %q", toast.Text)
	}
	if text := local.AheadOfMachine(-36 * time.Hour); text != "1d 12h behind the machine's" {
		t.Errorf("a clock in the past is %q", text)
	}
	if state := key.State(c.service.Now(), time.Hour); state != model.KeyExpired {
		t.Errorf("a year later the key is %v", state)
	}
	if msgs := f.look(); len(msgs) != 0 {
		t.Errorf("sent twice: %v", msgs)
	}
}

func TestTheViewsLearnHowManyFaultsAreOn(t *testing.T) {
	c, _ := consoleOf(t, nil)
	f := follower{c: c}
	f.begin()
	control := c.service.Local.Rehearse()
	fault, err := control.AddFault(t.Context(), rehearsal.Rule{Point: "api", Action: "reset"})
	noerr.Must(t, err)
	for _, want := range []int{1, 0} {
		msgs := f.look()
		if len(msgs) != 1 || msgs[0].(kit.SessionChanged).Session.Faults != want {
			t.Errorf("with %d faults on, the views get %v", want, msgs)
		}
		if msgs := f.look(); len(msgs) != 0 {
			t.Errorf("sent twice: %v", msgs)
		}
		noerr.Must(t, control.TurnFault(t.Context(), fault.ID, false))
	}
}

func TestKeysOfTheEmulatorThatAreMadeLaterAreKnownEverywhere(t *testing.T) {
	c, paths := consoleOf(t, nil)
	f := follower{c: c}
	f.begin()
	guest := another(t, paths)
	control, err := guest.Control(t.Context())
	noerr.Must(t, err)
	post := func(path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, control.URL+path, strings.NewReader(body))
		noerr.Must(t, err)
		req.Header.Set("Authorization", "Bearer "+control.Token.Reveal())
		resp, err := http.DefaultTransport.RoundTrip(req)
		noerr.Must(t, err)
		defer resp.Body.Close()
		if resp.StatusCode >= 300 {
			t.Fatalf("%s: %s", path, resp.Status)
		}
	}
	post("/keys", `{"name":"later","level":"USER","expires":"Unlimited"}`)
	post("/keys/"+local.DemoKey+"/refresh", "")

	msgs := f.look()
	if len(msgs) != 1 {
		t.Fatalf("the views get %v", msgs)
	}
	if msgs := f.look(); len(msgs) != 0 {
		t.Errorf("sent twice: %v", msgs)
	}
	noerr.Must(t, noerr.From(guest.Profile(t.Context())))
	known, _ := guest.Keys()
	for name, keys := range map[string][]model.Key{"owner": msgs[0].(kit.SessionChanged).Session.Keys, "guest": known} {
		found := 0
		for _, k := range keys {
			if k.Name == "later" || k.Name == local.DemoKey {
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
	noerr.Must(t, c.service.Keys.Inventory().Add(t.Context(), model.Key{Name: "later", Secret: "env:LATER"}))
	if k, ok := c.service.Keys.Key("later"); !ok || k.Secret != "env:LATER" {
		t.Errorf("recorded: %+v", k)
	}
}

func TestAConsoleDoesNotCallItselfReadyWhileTheEmulatorIsGone(t *testing.T) {
	c, paths := consoleOf(t, nil)
	owner := another(t, paths)
	noerr.Must(t, noerr.From(owner.Profile(t.Context())))
	c.service.Local.WithPatience(100 * time.Millisecond)
	f := follower{c: c}
	f.begin()
	noerr.Must(t, owner.Close(t.Context()))
	// Somebody else holds the folder and does not answer.
	holder, err := emulator.Start(t.Context(), emulator.Options{StateDir: paths.EmulatorDir(), ProxyAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
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
	noerr.Must(t, holder.Shutdown(t.Context()))
	c.service.Local.WithPatience(time.Minute) // the next one has to start
	msgs = f.look()
	if len(msgs) == 0 || !msgs[0].(kit.SessionChanged).Session.Ready {
		t.Errorf("after the holder's end: %v", msgs)
	}
}
