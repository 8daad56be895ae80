package local

import (
	"context"
	"errors"
	"fmt"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
)

// Reset makes the embedded emulator begin again at its next start: its state is
// removed, and the records of rotations of its keys, whose values are gone with it. Notes say
// what went. It refuses while any process runs the emulator.
func Reset(ctx context.Context, paths config.Paths, getenv func(string) string) (notes []string, err error) {
	if err := paths.Trusted(); err != nil {
		return nil, err
	}
	switch err := emulator.ClearState(paths.EmulatorDir()); {
	case errors.Is(err, emulator.ErrStateInUse):
		return nil, fmt.Errorf("a zonedeck%s runs the embedded emulator: end it first", (&Emulator{paths: paths}).owner())
	case err != nil:
		return nil, fmt.Errorf("removing the emulator's state: %w", err)
	}
	notes = append(notes, "the embedded emulator begins again at its next start, with the demo account and this machine's time; the ledger and the history stay")
	rotations := keystore.OpenRotations(paths.RotationsDir())
	secrets := keystore.NewResolver(keystore.ResolverOptions{Getenv: getenv, SecretsDir: paths.SecretsDir()})
	if err := removeHeld(ctx, rotations, secrets); err != nil {
		return notes, err
	}
	n, err := rotations.Forget(ctx, model.LocalName)
	if n > 0 {
		notes = append(notes, fmt.Sprintf("the records of %d rotations of its keys were removed", n))
	}
	return notes, err
}

// removeHeld removes the values that rotations of the emulator's keys hold.
func removeHeld(ctx context.Context, rotations *keystore.Rotations, secrets *keystore.Resolver) error {
	plans, _ := rotations.List() // Forget tells the error
	for _, p := range plans {
		for _, held := range []string{p.OldHeld, p.NewHeld} {
			if p.Profile != model.LocalName || held == "" {
				continue
			}
			if err := secrets.Remove(ctx, held); err != nil {
				return fmt.Errorf("removing the values of a rotation: %w", err)
			}
		}
	}
	return nil
}
