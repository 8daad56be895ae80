// Zonedeck is an operations console, in the terminal, for a web-data-collection
// service. This file knows signals and the process; everything else is ui/cli.
package main

import (
	"context"
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
	ctx, stop := signal.NotifyContext(context.Background(), ending...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := cli.Main(ctx, cli.OS())
	stop()
	os.Exit(code)
}
