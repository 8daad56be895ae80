package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/jobs"
)

func TestAnErrorIsPrintedOnce(t *testing.T) {
	var out bytes.Buffer
	a := &app{Process: Process{Stderr: &out, StderrTTY: true}}
	a.printError(errors.New("the port is taken"))
	if got, want := out.String(), "zonedeck: the port is taken\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALedgerThatCannotBeUsedIsAFaultOfTheDisk(t *testing.T) {
	for _, fault := range append(database.Faults(), jobs.ErrNoLedger) {
		err := jobError(t.Context(), fmt.Errorf("writing down the intent: %w", fault))
		if code := exitCode(t.Context(), err); code != exitState {
			t.Errorf("%v: exit %d, want %d", fault, code, exitState)
		}
	}
}

func TestAFailingLedgerSaysNothingWasSentOnlyWhereThatIsSo(t *testing.T) {
	for _, c := range []struct {
		state  model.JobState
		code   int
		unsent bool
	}{
		{"", exitState, true}, // the intent could not be written
		{model.JobIntent, exitState, true},
		{model.JobNotSent, exitState, true},
		{model.JobAccepted, exitState, false},
		{model.JobRefused, exitState, false},
		{model.JobMayHave, exitMayHaveStarted, false},
	} {
		err := triggerError(t.Context(), model.Job{State: c.state}, fmt.Errorf("the outcome: %w", database.ErrFull))
		if code := exitCode(t.Context(), err); code != c.code || strings.Contains(err.Error(), "nothing was sent") != c.unsent {
			t.Errorf("state %q: exit %d, %v", c.state, code, err)
		}
	}
}

func TestAnInterruptedLaunchSaysWhetherTheJobMayHaveStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		state model.JobState
		err   error
		code  int
		says  string
	}{
		{"interrupted behind the POST", ctx, model.JobMayHave, context.Cause(ctx), ExitInterrupted, "may have started: j_7"},
		{"interrupted before it", ctx, model.JobNotSent, context.Cause(ctx), ExitInterrupted, "interrupted"},
		{"a disk that cannot be read", t.Context(), model.JobMayHave, errors.New("the job may have started: disk I/O error"), exitMayHaveStarted, "I/O"},
		{"accepted, and then interrupted", ctx, model.JobAccepted, fmt.Errorf("identifier sd_1: %w", database.ErrFull), exitState, "sd_1"},
	} {
		err := triggerError(c.ctx, model.Job{ID: "j_7", State: c.state}, c.err)
		if code := exitCode(c.ctx, err); code != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: exit %d, %v", c.name, code, err)
		}
	}
}
