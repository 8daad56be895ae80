package service

import (
	"context"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/fetch"
	"zonedeck/service/keys"
	"zonedeck/service/local"
)

// keysConfig configures the use case of keys.
func (s *Service) keysConfig() keys.Config {
	c := keys.Config{
		Profiles: s.InUse, Resolver: s.Resolver, Values: s.Variables, Env: environment{s.o}, Clock: clock{s}, Voice: voiceOfKeys{s},
		Caller: keys.Caller{AdminReason: s.o.AdminReason, Allowed: s.o.AllowKeys}, Paths: s.Paths, Log: s.o.Log,
	}
	switch {
	case s.o.Agent:
		c.Caller.Kind = keys.Agent
	case s.o.Unattended:
		c.Caller.Kind = keys.Command
	}
	if s.Local != nil { // a nil pointer in an interface would not be nil
		c.Emulator = emulatorOfKeys{s.Local, s}
	}
	return c
}

// connectKeys gives the keys the history for their events, and the ledger for jobs in flight.
func (s *Service) connectKeys() {
	var history keys.History
	if s.journal != nil {
		history = s.journal
	}
	if s.ledger == nil {
		s.Keys.Connect(history, nil)
		return
	}
	s.Keys.Connect(history, s.ledger)
}

// environment is the environment of the run.
type environment struct{ o Options }

func (e environment) Getenv(name string) string { return e.o.Getenv(name) }

// voiceOfKeys prints what the operator must know about keys. In a console, the views show it instead.
type voiceOfKeys struct{ s *Service }

func (v voiceOfKeys) Say(format string, args ...any) {
	if !v.s.o.Console {
		v.s.o.Say(format, args...)
	}
}

// emulatorOfKeys is the embedded emulator. A command prints its notes, once.
type emulatorOfKeys struct {
	*local.Emulator
	s *Service
}

func (e emulatorOfKeys) Profile(ctx context.Context) (model.Profile, error) {
	p, err := e.Emulator.Profile(ctx)
	if err == nil && !e.s.o.Console {
		e.s.spoken.Do(func() {
			for _, n := range e.StateNotes() {
				e.s.o.Say("zonedeck: %s", n)
			}
		})
	}
	return p, err
}

func (emulatorOfKeys) Users(key string) []string { return local.KeyUsers(key) }

func (e emulatorOfKeys) Time() string { return local.AheadOfMachine(e.Ahead()) }

// Rotations returns the use case of rotating keys and passwords. folders are searched for uses of a key or password;
// nil if the caller searches for none.
func (s *Service) Rotations(folders keys.Folders) keys.Rotations {
	return s.Keys.Rotations(provers{s.Fetch, s.account}, s.Passwords, folders)
}

// RehearseRotation takes the steps of a key's rotation on the embedded emulator. For a real account it starts one
// and keeps nothing of it.
func (s *Service) RehearseRotation(ctx context.Context, k model.Key, method keystore.RotationMethod, folders keys.Folders) (keystore.RotationPlan, error) {
	e := s.Local
	if e == nil {
		e = s.o.emulator(s.Paths)
		defer func() { _ = e.Close(context.WithoutCancel(ctx)) }()
	}
	return s.Rotations(folders).Rehearse(ctx, emulatorOfKeys{e, s}, k, method)
}

// provers make the calls that prove values in a rotation.
type provers struct {
	*fetch.Fetcher
	account.Config
}
