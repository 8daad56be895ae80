package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
)

// Reset makes the embedded emulator begin again at its next start: its state is
// removed, and the records of rotations of its keys, whose values are gone with it. Notes say
// what went. It refuses while anybody uses the emulator; one that nobody uses any more ends.
func Reset(ctx context.Context, paths config.Paths, getenv func(string) string) (notes []string, err error) {
	if err := paths.Trusted(); err != nil {
		return nil, err
	}
	switch err := (&Emulator{paths: paths}).clear(ctx); {
	case errors.Is(err, emulator.ErrStateInUse):
		return nil, errors.New("a zonedeck uses the embedded emulator: end every console and command first")
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

// clear removes the state, and ends the emulator first if nobody uses it: ErrStateInUse if somebody does.
func (e *Emulator) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	if err := os.MkdirAll(e.paths.State, 0o700); err != nil {
		return err
	}
	users := e.userLock()
	brief, stop := context.WithTimeout(ctx, usersCheck) // the emulator's own look for users is shorter
	defer stop()
	_, err := users.TryLockContext(brief, attachPause)
	if _, serves := e.readAnnouncement(); brief.Err() != nil && !serves { // it ends just now, and holds the lock until then
		_, err = users.TryLockContext(ctx, attachPause)
		brief = ctx
	}
	switch {
	case brief.Err() != nil:
		return emulator.ErrStateInUse
	case err != nil:
		return err
	}
	defer func() { _ = users.Close() }()
	a, found := e.readAnnouncement()
	ends := found && a.Build != "" && os.Remove(e.paths.EmulatorFile()) == nil
	for {
		err := emulator.ClearState(e.paths.EmulatorDir())
		if !ends || !errors.Is(err, emulator.ErrStateInUse) {
			return err
		}
		select {
		case <-time.After(attachPause):
		case <-ctx.Done():
			return err
		}
	}
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
