package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"charm.land/fang/v2"
	"charm.land/lipgloss/v2"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/journal"
)

func TestAnErrorOnATerminalHasOneHeader(t *testing.T) {
	var out bytes.Buffer
	a := &app{Process: Process{StderrTTY: true}}
	a.printError(&out, fang.Styles{ErrorHeader: lipgloss.NewStyle().SetString("ERROR")}, errors.New("the port is taken"))
	if got, want := out.String(), "ERROR the port is taken\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALedgerThatCannotBeUsedIsAFaultOfTheDisk(t *testing.T) {
	for _, fault := range []error{service.ErrNoLedger, journal.ErrLocked, journal.ErrReadOnly, journal.ErrFull, journal.ErrCorrupt, journal.ErrTooNew} {
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
		err := triggerError(t.Context(), model.Job{State: c.state}, fmt.Errorf("the outcome: %w", journal.ErrFull))
		if code := exitCode(t.Context(), err); code != c.code || strings.Contains(err.Error(), "nothing was sent") != c.unsent {
			t.Errorf("state %q: exit %d, %v", c.state, code, err)
		}
	}
}
