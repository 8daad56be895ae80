package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service"
)

func TestAWaitIsShownAfterHalfASecondAndLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &app{Process: Process{Stderr: &out, StderrTTY: true, Getenv: func(string) string { return "" }}}
		var w fetchWait
		line := a.wait(w.text)
		w.hear(service.FetchEvent{Phase: service.PhaseSending, Attempt: model.Attempt{N: 1}})
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		if out.Len() > 0 {
			t.Errorf("a short wait shows %q", out.String())
		}
		w.hear(service.FetchEvent{Phase: service.PhaseReceiving, Attempt: model.Attempt{N: 2}, Bytes: 1000})
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if got, want := out.String(), clearLine+"zonedeck: 0.5 s  receiving  attempt 2  1000 bytes  (ctrl+c ends it)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		line.above(func() { a.say("a line of its own") })
		if !strings.HasSuffix(out.String(), clearLine+"a line of its own\n") {
			t.Errorf("got %q", out.String())
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		line.stop()
		if !strings.HasSuffix(out.String(), "(ctrl+c ends it)"+clearLine) {
			t.Errorf("something stays behind: %q", out.String())
		}
	})
}

func TestAWaitIsNotShownWhereNobodyWatches(t *testing.T) {
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
