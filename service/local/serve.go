package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"zonedeck/service/config"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/guard"
	"zonedeck/service/emulator/scenario"
)

// Ready describes a listening emulator: its addresses, and the demo account's keys
// and passwords.
type Ready = emulator.Ready

// Emulation is an emulator that is served alone, for other programs.
type Emulation struct {
	API, Proxy, SOCKS, CDP string // addresses; empty means the usual or a free port
	State                  string // folder; empty means nothing is kept
	Scenario               string // name of ScenarioText, a TOML text; empty means the demo account
	ScenarioText           []byte
	AllowPrivate           []string
	AllowRemote, Loose     bool

	Chromium string // path of the browser; empty searches PATH
	Now      func() time.Time
	// Stderr receives internal errors, for example a full disk: clients only see a 500
	// without details. Several goroutines write.
	Stderr io.Writer
	// Requests receives one line per request; nil for none. RequestFile, or RequestObjects, receives one
	// JSON object per request; empty for none.
	Requests, RequestObjects io.Writer
	RequestFile              string
	Say                      func(format string, args ...any)
	// Ready is called once, when the emulator listens.
	Ready func(Ready) error
}

// options converts the fields to the emulator's options.
func (e Emulation) options() (emulator.Options, error) {
	o := emulator.Options{
		StateDir: e.State, APIAddr: e.API, ProxyAddr: e.Proxy, SOCKSAddr: e.SOCKS, CDPAddr: e.CDP,
		Chromium: e.Chromium, AllowRemote: e.AllowRemote, AllowPrivate: e.AllowPrivate, Loose: e.Loose, Now: e.Now,
		Log: slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if _, err := guard.Parse(e.AllowPrivate); err != nil {
		return o, config.Mistake("--allow-private: %w", err)
	}
	if e.Scenario != "" {
		var err error
		if o.Scenario, err = scenario.Parse(e.Scenario, e.ScenarioText); err != nil {
			return o, config.Mistake("--scenario: %w", err)
		}
	}
	return o, nil
}

// Serve serves until ctx ends.
func (e Emulation) Serve(ctx context.Context) error {
	options, err := e.options()
	if err != nil {
		return err
	}
	log, err := e.openRequestLog()
	if err != nil {
		return err
	}
	defer log.close()
	server, err := emulator.Start(ctx, options)
	switch {
	case errors.Is(err, emulator.ErrStateInUse):
		return fmt.Errorf("state folder %s: another emulator uses it", e.State)
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	log.follow(server)
	if err = e.Ready(server.Ready()); err == nil {
		<-ctx.Done()
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if serr := server.Shutdown(stop); err == nil && serr != nil {
		err = fmt.Errorf("end the emulator: %w", serr)
	}
	if lerr := log.wait(); err == nil && lerr != nil {
		err = fmt.Errorf("--log-file %s: %w", e.RequestFile, lerr)
	}
	return err
}
