package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"zonedeck/service/config"
	"zonedeck/service/local"
)

type emulateFlags struct {
	API          onceFlag `flag:"api" help:"address of the API (default: a free port on 127.0.0.1)"`
	Proxy        onceFlag `flag:"proxy" help:"address of the proxy (default 127.0.0.1:33335, or the next free port)"`
	SOCKS        onceFlag `flag:"socks" help:"address of the SOCKS5 proxy (default 127.0.0.1:22228, or a free port)"`
	CDP          onceFlag `flag:"cdp" help:"address of the remote browser, for CDP clients (default 127.0.0.1:9222, or a free port)"`
	State        onceFlag `flag:"state" takes:"folder" help:"folder to keep account, CA, jobs and snapshots in"`
	Scenario     onceFlag `flag:"scenario" takes:"file" help:"TOML file with the account, targets and faults to play; - for standard input (default: the demo account)"`
	Log          bool     `flag:"log" help:"print one line per request to stderr"`
	LogFile      onceFlag `flag:"log-file" takes:"output" help:"append one JSON object per request to this file; - for standard output, behind the ready line"`
	AllowPrivate []string `flag:"allow-private" list:"comma" help:"let this host, address or range be a target (repeatable)"`
	Loose        bool     `flag:"loose" help:"let unknown fields pass, with a note"`
	AllowRemote  bool     `flag:"allow-remote" help:"let --api, --proxy, --socks and --cdp listen for other machines"`
	ServeUsers   bool     `flag:"serve-users" help:"serve the embedded emulator of consoles and commands until its last user has ended"`
	JSON         bool     `flag:"json" help:"print the ready line as one JSON object, with keys and passwords"`
}

func (a *app) emulateCommand() *cobra.Command {
	cmd := command(a, spec[emulateFlags]{
		use:   "emulate",
		short: "Serve the emulator alone, for your own tests",
		long: `Serves the emulator until it is interrupted. One line on stdout says when it is
ready and where it listens. Without --state nothing is kept.

--scenario names a TOML file with what to play: the account, [[keys]],
[[zones]], extra pages in [[targets]], and [[faults]]. Anything left out comes
from the demo account. A mistake is reported with its line and the expected
value.

--log prints one line per request to stderr: its time, entry point, zone, key,
target and outcome. --log-file appends everything a client sent as one JSON
object per line. Keys and passwords are masked in both.

The emulator reaches the lab and public addresses. --allow-private opens others,
such as your own receiver of webhooks, by host, address or range, each with an
optional port, as in 127.0.0.1:8080 or 10.0.0.0/8. It listens on this machine
only, unless you give --allow-remote.

Browser zones, and CDP clients that log in at --cdp with such a zone, get a
Chromium of this machine, or the one that CHROME_PATH names.

An unknown field is refused by name; --loose lets it pass.`,
		run: func(ctx context.Context, _ *task, f emulateFlags, _ []string) (printed, error) {
			return printed{}, a.emulate(ctx, f)
		},
	})
	cmd.AddCommand(a.emulateResetCommand())
	_ = cmd.Flags().MarkHidden(local.ServeUsersFlag) // the program itself gives it
	return cmd
}

func (a *app) emulate(ctx context.Context, f emulateFlags) error {
	if f.ServeUsers {
		log := slog.New(slog.NewTextHandler(teller{a}, &slog.HandlerOptions{Level: slog.LevelError}))
		return sessionError(local.New(config.FindPaths(a.Getenv), a.Getenv, a.Now, log).ServedBy(a.Program, version).ServeUsers(ctx))
	}
	scenario, err := []byte(nil), error(nil)
	if f.Scenario != "" {
		if scenario, err = a.read(ctx, "--scenario", string(f.Scenario), maxDataFile); err != nil {
			return err
		}
	}
	e := local.Emulation{
		API: string(f.API), Proxy: string(f.Proxy), SOCKS: string(f.SOCKS), CDP: string(f.CDP),
		State: string(f.State), Scenario: string(f.Scenario), ScenarioText: scenario, RequestFile: string(f.LogFile),
		AllowPrivate: f.AllowPrivate, Loose: f.Loose, AllowRemote: f.AllowRemote,
		Chromium: a.Getenv(local.EnvChromium), Stderr: teller{a}, Now: a.Now, Say: a.say, Ready: a.printReady,
	}
	if f.LogFile == "-" {
		e.RequestFile, e.RequestObjects = "", printer{a}
	}
	if f.Log {
		e.Requests = teller{a}
	}
	return sessionError(e.Serve(ctx))
}

// printReady prints the ready line.
func (a *app) printReady(ready local.Ready) error {
	for _, n := range ready.Notes {
		a.say("zonedeck: %s", n)
	}
	out := printed{
		object: ready, text: fmt.Sprintf("ready: api %s  proxy %s  socks %s  cdp %s  control %s  lab %s  account %s  ca %s\n",
			ready.API, ready.Proxy, ready.SOCKS, ready.CDP, ready.Control, ready.Lab, ready.Account, ready.CA),
		note: "--json prints more: the keys, the zones' passwords and the control address's token",
	}
	return a.conclude(out, nil)
}
