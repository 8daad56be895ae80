package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/service/emulator"
	"zonedeck/service/emulator/scenario"
)

type emulateFlags struct {
	api, proxy, state, scenario string
	json                        bool
}

func (a *app) emulateCommand() *cobra.Command {
	var f emulateFlags
	cmd := &cobra.Command{
		Use:   "emulate",
		Short: "Serve the local emulator alone, for your own tests",
		Long: `Serves the emulator until it is interrupted. One line on stdout says when it is
ready and where it listens. Without --state nothing is kept. --scenario names a
TOML file with the account to play: name, account, username_prefix, page_delay,
[[keys]] with name, level, duty, expires_in, rotated_ago and value, and [[zones]]
with name, product, identity_verified and password; what it leaves out is the
demo account's.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.emulate(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.api, "api", "", "address of the API (default: a free port on 127.0.0.1)")
	fl.StringVar(&f.proxy, "proxy", "", "address of the proxy (default 127.0.0.1:33335, or the next free port)")
	fl.StringVar(&f.state, "state", "", "folder that keeps account, CA, jobs and snapshots")
	fl.StringVar(&f.scenario, "scenario", "", "TOML file with the account to play (default: the demo account)")
	fl.BoolVar(&f.json, "json", false, "print the ready line as one JSON object")
	return cmd
}

func (a *app) emulate(ctx context.Context, f emulateFlags) error {
	var sc *scenario.Scenario
	if f.scenario != "" {
		var err error
		if sc, err = scenario.Read(f.scenario); err != nil {
			return usage("--scenario: %w", err)
		}
	}
	server, err := emulator.Start(ctx, emulator.Options{
		StateDir: f.state, APIAddr: f.api, ProxyAddr: f.proxy, Scenario: sc, Now: a.Now, Log: slog.New(slog.DiscardHandler),
	})
	switch {
	case errors.Is(err, emulator.ErrStateInUse):
		return fail(exitState, "state folder %s: another emulator uses it", f.state)
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return fail(exitState, "%w", err)
	}
	ready := server.Ready()
	for _, n := range ready.Notes {
		a.say("zonedeck: %s", n)
	}
	if f.json {
		err = a.printJSON(ready)
	} else {
		_, err = fmt.Fprintf(a.Stdout, "ready: api %s  proxy %s  lab %s  account %s  ca %s\n", ready.API, ready.Proxy, ready.Lab, ready.Account, ready.CA)
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
	return err
}
