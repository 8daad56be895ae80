package session

import (
	"context"
	"errors"
	"fmt"

	"zonedeck/keystore"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
)

// ResetEmulator makes the embedded emulator begin again at its next start: its state is
// removed, and the records of rotations of its keys, whose values are gone with it. Notes say
// what went. It refuses while any process runs the emulator.
func ResetEmulator(ctx context.Context, o Options) (notes []string, err error) {
	s := &Session{o: o, Paths: config.FindPaths(o.Getenv)}
	e := newEmbedded(o, s.Paths)
	switch err := emulator.ClearState(s.Paths.EmulatorDir()); {
	case errors.Is(err, emulator.ErrStateInUse):
		return nil, fmt.Errorf("a zonedeck%s runs the embedded emulator: end it first", e.owner())
	case err != nil:
		return nil, fmt.Errorf("removing the emulator's state: %w", err)
	}
	notes = append(notes, "the embedded emulator begins again at its next start, with the demo account and this machine's time; the ledger and the history stay")
	if err := s.removeHeld(ctx); err != nil {
		return notes, err
	}
	n, err := s.rotations().Forget(ctx, config.LocalName)
	if n > 0 {
		notes = append(notes, fmt.Sprintf("the records of %d rotations of its keys were removed", n))
	}
	return notes, err
}

// removeHeld removes the values that rotations of the emulator's keys hold.
func (s *Session) removeHeld(ctx context.Context) error {
	plans, _ := s.rotations().List() // Forget tells the error
	secrets := keystore.NewResolver(keystore.ResolverOptions{Getenv: s.o.Getenv, SecretsDir: s.Paths.SecretsDir()})
	for _, p := range plans {
		for _, held := range []string{p.OldHeld, p.NewHeld} {
			if p.Profile != config.LocalName || held == "" {
				continue
			}
			if err := secrets.Remove(ctx, held); err != nil {
				return fmt.Errorf("removing the values of a rotation: %w", err)
			}
		}
	}
	return nil
}
