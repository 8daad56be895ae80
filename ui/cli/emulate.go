package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/service/emulator"
	"zonedeck/service/emulator/guard"
	"zonedeck/service/emulator/scenario"
)

type emulateFlags struct {
	api, proxy, socks, cdp, state, scenario string
	logFile                                 string
	allowPrivate                            []string
	log, loose, allowRemote, json           bool
}

func (a *app) emulateCommand() *cobra.Command {
	var f emulateFlags
	cmd := &cobra.Command{
		Use:   "emulate",
		Short: "Serve the local emulator alone, for your own tests",
		Long: `Serves the emulator until it is interrupted. One line on stdout says when it is
ready and where it listens. Without --state nothing is kept.

--scenario names a TOML file with what to play: the account, [[keys]], [[zones]],
pages of its own in [[targets]], and [[faults]]; what it leaves out is the demo
account's. A mistake in it is named with its line and what belongs there.

--log prints one line a request to stderr: when, where it came in, zone, key and
target, and how it ended. --log-file appends everything that a client sent as one
JSON object a line. Keys and passwords are masked in both.

The emulator reaches the lab and public addresses. --allow-private opens others, such
as your own receiver of webhooks, by host, address or range, each with an optional
port, as in 127.0.0.1:8080 or 10.0.0.0/8. It listens on this machine alone unless
--allow-remote is given.

Browser zones, and CDP clients at --cdp with such a zone's login, get a Chromium of
the machine, or the one of CHROME_PATH.

A field that nobody knows is refused by its name; --loose lets it pass.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.emulate(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.api, "api", "", "address of the API (default: a free port on 127.0.0.1)")
	fl.StringVar(&f.proxy, "proxy", "", "address of the proxy (default 127.0.0.1:33335, or the next free port)")
	fl.StringVar(&f.socks, "socks", "", "address of the SOCKS5 proxy (default 127.0.0.1:22228, or a free port)")
	fl.StringVar(&f.cdp, "cdp", "", "address of the remote browser, for CDP clients (default 127.0.0.1:9222, or a free port)")
	fl.StringVar(&f.state, "state", "", "folder that keeps account, CA, jobs and snapshots")
	fl.StringVar(&f.scenario, "scenario", "", "TOML file with the account, targets and faults to play (default: the demo account)")
	fl.BoolVar(&f.log, "log", false, "print one line a request to stderr")
	fl.StringVar(&f.logFile, "log-file", "", "append one JSON object a request to this file")
	fl.StringSliceVar(&f.allowPrivate, "allow-private", nil, "let this host, address or range be a target (may be given several times)")
	fl.BoolVar(&f.loose, "loose", false, "let fields pass that nobody knows, with a note, instead of refusing them")
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "let --api, --proxy, --socks and --cdp listen for other machines")
	fl.BoolVar(&f.json, "json", false, "print the ready line as one JSON object, with keys and passwords")
	return cmd
}

// options turns the flags into what the emulator takes.
func (a *app) options(f emulateFlags) (emulator.Options, error) {
	o := emulator.Options{
		StateDir: f.state, APIAddr: f.api, ProxyAddr: f.proxy, SOCKSAddr: f.socks, CDPAddr: f.cdp, Chromium: a.Getenv(envChromium), AllowRemote: f.allowRemote, AllowPrivate: f.allowPrivate,
		Loose: f.loose, Now: a.Now, Log: troubles(a.Stderr),
	}
	if _, err := guard.Parse(f.allowPrivate); err != nil {
		return o, usage("--allow-private: %w", err)
	}
	if f.scenario != "" {
		var err error
		if o.Scenario, err = scenario.Read(f.scenario); err != nil {
			return o, usage("--scenario: %w", err)
		}
	}
	return o, nil
}

// troubles is the log of what went wrong inside, such as a full disk: clients see a 500
// that says nothing, so whoever runs the emulator has to.
func troubles(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelError}))
}

// lineWriter lets several write lines to one place.
type lineWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}

func (a *app) emulate(ctx context.Context, f emulateFlags) error {
	a.Stderr = &lineWriter{to: a.Stderr} // troubles, requests and talk
	options, err := a.options(f)
	if err != nil {
		return err
	}
	log, err := a.openRequestLog(f)
	if err != nil {
		return err
	}
	defer log.close()
	server, err := emulator.Start(ctx, options)
	switch {
	case errors.Is(err, emulator.ErrStateInUse):
		return fail(exitState, "state folder %s: another emulator uses it", f.state)
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return fail(exitState, "%w", err)
	}
	log.follow(server)
	ready := server.Ready()
	for _, n := range ready.Notes {
		a.say("zonedeck: %s", n)
	}
	if f.json {
		err = a.printJSON(ready)
	} else {
		_, err = fmt.Fprintf(a.Stdout, "ready: api %s  proxy %s  socks %s  cdp %s  control %s  lab %s  account %s  ca %s\n",
			ready.API, ready.Proxy, ready.SOCKS, ready.CDP, ready.Control, ready.Lab, ready.Account, ready.CA)
		a.say("zonedeck: --json says more: the keys, the zones' passwords and the control address's token")
	}
	if err != nil {
		err = fail(exitState, "write the ready line: %w", err)
	} else {
		<-ctx.Done()
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if serr := server.Shutdown(stop); err == nil && serr != nil {
		err = fail(exitState, "end the emulator: %w", serr)
	}
	if lerr := log.wait(); err == nil && lerr != nil {
		err = fail(exitState, "--log-file %s: %w", f.logFile, lerr)
	}
	return err
}
