package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"zonedeck/service/emulator"
	"zonedeck/service/emulator/guard"
	"zonedeck/service/emulator/scenario"
)

// Ready is what an emulator says of itself when it listens: its addresses, and the
// demo account's keys and passwords.
type Ready = emulator.Ready

// Emulation is an emulator that is served alone, for other programs.
type Emulation struct {
	API, Proxy, SOCKS, CDP string // addresses; empty takes the usual or a free port
	State                  string // folder; empty keeps nothing
	Scenario               string // TOML file; empty plays the demo account
	AllowPrivate           []string
	AllowRemote, Loose     bool

	Chromium string // the browser's program; empty looks in PATH
	Now      func() time.Time
	// Stderr gets what goes wrong inside, such as a full disk: clients see a 500 that
	// says nothing, so whoever runs the emulator has to. Several goroutines write.
	Stderr io.Writer
	// Requests gets one line for each request; nil for none. RequestFile gets each as
	// one JSON object a line; empty for none.
	Requests    io.Writer
	RequestFile string
	Say         func(format string, args ...any)
	// Ready is called once, when the emulator listens.
	Ready func(Ready) error
}

// options turns the fields into what the emulator takes.
func (e Emulation) options() (emulator.Options, error) {
	o := emulator.Options{
		StateDir: e.State, APIAddr: e.API, ProxyAddr: e.Proxy, SOCKSAddr: e.SOCKS, CDPAddr: e.CDP,
		Chromium: e.Chromium, AllowRemote: e.AllowRemote, AllowPrivate: e.AllowPrivate, Loose: e.Loose, Now: e.Now,
		Log: slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if _, err := guard.Parse(e.AllowPrivate); err != nil {
		return o, mistake("--allow-private: %w", err)
	}
	if e.Scenario != "" {
		var err error
		if o.Scenario, err = scenario.Read(e.Scenario); err != nil {
			return o, mistake("--scenario: %w", err)
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
