// Zonedeck is an operations console, in the terminal, for a web-data-collection
// service. This file knows signals and the process; everything else is ui/cli.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"zonedeck/ui/cli"
)

func main() {
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup: it is to outlive its terminal
		ending = append(ending, syscall.SIGHUP)
	}
	received := make(chan os.Signal, 1)
	signal.Notify(received, ending...)
	ctx, end := context.WithCancelCause(context.Background())
	go func() {
		s := <-received
		signal.Stop(received) // a second signal ends the process at once
		end(signalError{s})
	}()
	os.Exit(code(cli.Main(ctx, cli.OS()), context.Cause(ctx)))
}

// signalError is the signal that ended what the program did.
type signalError struct{ os.Signal }

func (s signalError) Error() string { return s.String() + " signal received" }

func (s signalError) Is(target error) bool { return target == context.Canceled }

// code is the exit code of a command: where it was cut off, 128 and the number of the
// signal, as the shells have it.
func code(ended int, cause error) int {
	var s signalError
	if ended != cli.ExitInterrupted || !errors.As(cause, &s) {
		return ended
	}
	number, _ := s.Signal.(syscall.Signal)
	return 128 + int(number)
}
