package main

import (
	"fmt"
	"syscall"
	"testing"

	"zonedeck/ui/cli"
)

func TestOnlyWhatASignalCutOffHasItsCode(t *testing.T) {
	term := fmt.Errorf("waiting: %w", signalError{syscall.SIGTERM})
	for _, c := range []struct {
		ended int
		cause error
		want  int
	}{
		{cli.ExitInterrupted, term, 143},
		{cli.ExitInterrupted, signalError{syscall.SIGINT}, 130},
		{0, term, 0}, // it ended as it was told to
		{cli.ExitInterrupted, nil, cli.ExitInterrupted},
	} {
		if got := code(c.ended, c.cause); got != c.want {
			t.Errorf("%d after %v: %d, want %d", c.ended, c.cause, got, c.want)
		}
	}
}
