package cli

import (
	"context"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/config"
	"zonedeck/ui/console"
)

// runConsole opens the console, and reopens it when the operator switches to
// another profile.
func (a *app) runConsole(ctx context.Context) error {
	if err := a.options(needs{}).AccountNamed(); err != nil {
		return err
	}
	if !a.StdinTTY || !a.StdoutTTY {
		return usage("the console needs a terminal. Without one, run 'zonedeck request URL --zone Z', 'zonedeck keys check' or 'zonedeck jobs list'; 'zonedeck --help' shows them all")
	}
	a.unlock(ctx)
	closeLog := a.openLog()
	defer closeLog()
	for {
		next, err := a.consoleOnce(ctx)
		if err != nil || next == "" {
			return err
		}
		a.flags = globalFlags{profile: next, config: a.config(), database: a.flags.database}
	}
}

// openLog sends the log to its file. If the file cannot be opened, nothing is
// logged.
func (a *app) openLog() (closeLog func()) {
	paths := config.FindPaths(a.Getenv)
	if paths.Trusted() != nil || os.MkdirAll(filepath.Dir(paths.LogFile()), 0o700) != nil { // opening the service says why
		return func() {}
	}
	f, err := os.OpenFile(paths.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return func() {}
	}
	a.log = slog.New(slog.NewTextHandler(f, nil))
	silence(f)
	return func() {
		silence(io.Discard)
		f.Close()
	}
}

// silence redirects the standard logger to w: net/http reports failed connections
// there, and standard error is the screen.
func silence(w io.Writer) { log.SetOutput(w) }

// consoleOnce runs the console on one profile. next is the profile to switch to;
// it is empty when the operator quit.
func (a *app) consoleOnce(ctx context.Context) (next string, err error) {
	c, err := console.Open(ctx, a.options(needs{}))
	if err != nil {
		return "", sessionError(err)
	}
	c.Tab, c.Said = a.tab, a.said
	next, err = c.Run(a.Stdin, a.Stdout)
	a.tab, a.said = c.Tab, c.Said
	if typed := c.Passphrase(); !typed.Empty() {
		a.typed = typed
	}
	if cerr := c.Close(); err == nil {
		err = sessionError(cerr)
	}
	return next, err
}

// Console opens the console without a terminal: root is its model on a newly opened service,
// watch watches the service's files until it closes, and closeSession closes the service and
// the log. Tests and benchmarks run it on their own screens.
func Console(ctx context.Context, p Process) (root tea.Model, watch func(send func(tea.Msg)), closeSession func() error, err error) {
	a := &app{Process: p, log: slog.New(slog.DiscardHandler)}
	closeLog := a.openLog()
	c, err := console.Open(ctx, a.options(needs{}))
	if err != nil {
		closeLog()
		return nil, nil, nil, sessionError(err)
	}
	return c.Root(), c.Watch, func() error { defer closeLog(); return c.Close() }, nil
}
