package cli

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/fetch"
)

// watched is a terminal that one goroutine writes to while another reads it.
type watched struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

func TestAWaitIsShownAfterHalfASecondAndLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out watched
		a := &app{Process: Process{Stderr: &out, StderrTTY: true, Getenv: func(string) string { return "" }}}
		var w fetchWait
		line := a.wait(w.text)
		w.update(fetch.Event{Phase: fetch.PhaseSending, Attempt: model.Attempt{N: 1}})
		<-time.After(400 * time.Millisecond)
		synctest.Wait()
		if shown := out.String(); shown != "" {
			t.Errorf("a short wait shows %q", shown)
		}
		w.update(fetch.Event{Phase: fetch.PhaseReceiving, Attempt: model.Attempt{N: 2}, Bytes: 1000})
		<-time.After(200 * time.Millisecond)
		synctest.Wait()
		if got, want := out.String(), clearLine+"zonedeck: 0.5 s  receiving  attempt 2  1000 bytes  (ctrl+c cancels it)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		line.above(func() { a.say("another line") })
		if !strings.HasSuffix(out.String(), clearLine+"another line\n") {
			t.Errorf("got %q", out.String())
		}
		<-time.After(200 * time.Millisecond)
		synctest.Wait()
		line.stop()
		if !strings.HasSuffix(out.String(), "(ctrl+c cancels it)"+clearLine) {
			t.Errorf("something stays behind: %q", out.String())
		}
	})
}

// A terminal sees why a fetch waits: for the pace of its zone, or before it is sent again.
func TestATerminalSeesWhyAFetchWaits(t *testing.T) {
	paced := fetch.Event{Phase: fetch.PhaseQueued, Reason: "zone unlocker1: at most 3 at once, because the service answered 429 while 4 were allowed"}
	refused := fetch.Event{Phase: fetch.PhaseWaiting, Attempt: model.Attempt{N: 1, Class: model.ClassTooFast}, Waiting: 2 * time.Second}
	const text = "zonedeck: waiting: zone unlocker1: at most 3 at once, because the service answered 429 while 4 were allowed\n" +
		"zonedeck: attempt 1: too fast; waiting 2s before the next\n"
	for name, c := range map[string]struct {
		terminal, quiet bool
		want            string
	}{"a terminal": {terminal: true, want: text}, "none": {}, "--quiet": {terminal: true, quiet: true}} {
		var out strings.Builder
		a := &app{Process: Process{Stderr: &out, StderrTTY: c.terminal}, flags: globalFlags{quiet: c.quiet}}
		var w fetchWait
		for _, e := range []fetch.Event{{Phase: fetch.PhaseSending}, paced, refused} {
			w.follow(a, nil, e)
		}
		if out.String() != c.want {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}

func TestAWaitIsNotShownWithoutATerminal(t *testing.T) {
	for name, a := range map[string]*app{
		"no terminal":  {Process: Process{Getenv: func(string) string { return "" }}},
		"--quiet":      {Process: Process{StderrTTY: true, Getenv: func(string) string { return "" }}, flags: globalFlags{quiet: true}},
		"TERM is dumb": {Process: Process{StderrTTY: true, Getenv: func(string) string { return "dumb" }}},
	} {
		if line := a.wait(nil); line != nil {
			t.Errorf("%s: a line is shown", name)
			line.stop()
		}
	}
}

func TestALineIsNoLongerThanTheTerminal(t *testing.T) {
	terminal, shown, err := pty.Open()
	noerr.Must(t, err)
	t.Cleanup(func() { shown.Close(); terminal.Close() })
	noerr.Must(t, pty.Setsize(shown, &pty.Winsize{Rows: 24, Cols: 20}))
	a := &app{Process: Process{Stderr: shown, StderrTTY: true}}
	for text, want := range map[string]string{"zonedeck: 1 of 2": "zonedeck: 1 of 2", "zonedeck: 91 of 760, 16.5/s": "zonedeck: 91 of 76…"} {
		if got := a.oneRow(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
