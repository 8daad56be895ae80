package cli

import (
	"bytes"
	"errors"
	"testing"

	"charm.land/fang/v2"
	"charm.land/lipgloss/v2"
)

func TestAnErrorOnATerminalHasOneHeader(t *testing.T) {
	var out bytes.Buffer
	a := &app{Process: Process{StderrTTY: true}}
	a.printError(&out, fang.Styles{ErrorHeader: lipgloss.NewStyle().SetString("ERROR")}, errors.New("the port is taken"))
	if got, want := out.String(), "ERROR the port is taken\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
