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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, cli.OS())
	stop()
	os.Exit(code)
}
