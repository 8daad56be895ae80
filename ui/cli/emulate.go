package cli

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"zonedeck/service/local"
)

type emulateFlags struct {
	local.Emulation
	log, json bool
}

func (a *app) emulateCommand() *cobra.Command {
	var f emulateFlags
	cmd := &cobra.Command{
		Use:   "emulate",
		Short: "Serve the emulator alone, for your own tests",
		Long: `Serves the emulator until it is interrupted. One line on stdout says when it is
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
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.emulate(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.API, "api", "", "address of the API (default: a free port on 127.0.0.1)")
	fl.StringVar(&f.Proxy, "proxy", "", "address of the proxy (default 127.0.0.1:33335, or the next free port)")
	fl.StringVar(&f.SOCKS, "socks", "", "address of the SOCKS5 proxy (default 127.0.0.1:22228, or a free port)")
	fl.StringVar(&f.CDP, "cdp", "", "address of the remote browser, for CDP clients (default 127.0.0.1:9222, or a free port)")
	fl.StringVar(&f.State, "state", "", "folder to keep account, CA, jobs and snapshots in")
	fl.StringVar(&f.Scenario, "scenario", "", "TOML file with the account, targets and faults to play (default: the demo account)")
	fl.BoolVar(&f.log, "log", false, "print one line per request to stderr")
	fl.StringVar(&f.RequestFile, "log-file", "", "append one JSON object per request to this file")
	fl.StringSliceVar(&f.AllowPrivate, "allow-private", nil, "let this host, address or range be a target (repeatable)")
	fl.BoolVar(&f.Loose, "loose", false, "let unknown fields pass, with a note")
	fl.BoolVar(&f.AllowRemote, "allow-remote", false, "let --api, --proxy, --socks and --cdp listen for other machines")
	fl.BoolVar(&f.json, "json", false, "print the ready line as one JSON object, with keys and passwords")
	return cmd
}

// lineWriter lets several goroutines write lines to one writer.
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
	e := f.Emulation
	e.Stderr = &lineWriter{to: a.Stderr} // errors, request lines and messages
	a.Stderr = e.Stderr
	e.Chromium, e.Now, e.Say = a.Getenv(local.EnvChromium), a.Now, a.say
	if f.log {
		e.Requests = a.Stderr
	}
	e.Ready = func(ready local.Ready) error {
		for _, n := range ready.Notes {
			a.say("zonedeck: %s", n)
		}
		return a.printReady(ready, f.json)
	}
	return sessionError(e.Serve(ctx))
}

// printReady prints the ready line.
func (a *app) printReady(ready local.Ready, asJSON bool) error {
	var err error
	if asJSON {
		err = a.printJSON(ready)
	} else {
		_, err = fmt.Fprintf(a.Stdout, "ready: api %s  proxy %s  socks %s  cdp %s  control %s  lab %s  account %s  ca %s\n",
			ready.API, ready.Proxy, ready.SOCKS, ready.CDP, ready.Control, ready.Lab, ready.Account, ready.CA)
		a.say("zonedeck: --json prints more: the keys, the zones' passwords and the control address's token")
	}
	if err != nil {
		return fmt.Errorf("write the ready line: %w", err)
	}
	return nil
}
