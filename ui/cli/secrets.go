package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/service/profiles"
	"zonedeck/service/view"
)

func (a *app) secretsListCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "list",
		short: "List the references to secrets, what uses them, and whether a secret is there",
		long: `Lists every reference of the config file, of the key inventory and of the jobs
in the ledger, and the values that rotations hold or left when they were
abandoned. It looks whether there is a secret behind each, except behind a
command, which might ask a question. No value is shown.`,
		needs: func(jsonFlag) needs { return needs{none: true} },
		run:   listSecrets,
	})
}

func listSecrets(ctx context.Context, t *task, _ jsonFlag, _ []string) (printed, error) {
	states, err := t.Profiles.Secrets(ctx)
	if err != nil && len(states) == 0 {
		return printed{}, fail(exitState, "%w", err)
	}
	list := make([]view.Secret, 0, len(states))
	rows := [][]string{{"STATE", "REFERENCE", "USED BY"}}
	for _, s := range states {
		ref := keystore.Ref(s.Ref)
		list = append(list, view.Secret{Reference: ref.Label(), Store: ref.Scheme(), UsedBy: s.Uses, State: s.State, Reason: s.Text})
		rows = append(rows, []string{s.State, ref.Label(), strings.Join(s.Uses, "; ")})
	}
	out := printed{object: view.Secrets{Secrets: list}, rows: rows}
	if len(list) == 0 {
		out.rows, out.note = nil, "nothing refers to a secret"
	}
	if err != nil {
		err = fail(exitState, "not every reference could be listed: %w", err)
	}
	return out.withError(err)
}

func (a *app) secretsSetCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "set REFERENCE",
		short: "Put a value behind a keyring: or file: reference",
		long: `Reads a secret from standard input and stores it behind the reference, replacing
what is there. Then it reads it back and records the new fingerprint at the keys
that refer to it. The value is never an argument.`,
		needs: func(jsonFlag) needs { return needs{none: true} },
		run: func(ctx context.Context, t *task, _ jsonFlag, args []string) (printed, error) {
			ref, err := storable(args[0], "keyring:service/name and file:NAME take secrets")
			if err != nil {
				return printed{}, err
			}
			value, err := t.app.readSecret("the secret")
			if err != nil {
				return printed{}, err
			}
			if err := t.Profiles.SetSecret(ctx, args[0], value); err != nil {
				return printed{}, profileError(profiles.Report{}, err)
			}
			return printed{done: ref.Label() + " holds the secret (" + value.String() + ")"}, nil
		},
	})
}

// storable reads a reference, and refuses it if the console stores no secrets there; otherwise ends that error.
func storable(text, otherwise string) (keystore.Ref, error) {
	ref, err := keystore.ParseRef(text)
	switch {
	case err != nil:
		return "", usage("%w", err)
	case !ref.Storable():
		return "", usage("%s: the console stores nothing there; %s", ref.Label(), otherwise)
	}
	return ref, nil
}

type secretsRemoveFlags struct {
	Yes bool `flag:"yes" help:"do not ask"`
	jsonFlag
}

func (a *app) secretsRemoveCommand() *cobra.Command {
	return command(a, spec[secretsRemoveFlags]{
		use:   "remove REFERENCE",
		short: "Remove a value that nothing refers to, for example one that an abandoned rotation left",
		long: `Removes the value behind a keyring: or file: reference. It keeps a value that a
key, a zone, a variable or a rotation under way needs.

'secrets list' shows what abandoned rotations left. The service may still accept
such a value.`,
		needs: func(secretsRemoveFlags) needs { return needs{none: true} },
		run: func(ctx context.Context, t *task, f secretsRemoveFlags, args []string) (printed, error) {
			ref, err := storable(args[0], "it removes only what it stores")
			if err != nil {
				return printed{}, err
			}
			ok, err := t.app.confirmed(f.Yes, "Remove the value behind "+ref.Label()+"? It cannot be brought back.")
			switch {
			case err != nil:
				return printed{}, err
			case !ok:
				return printed{done: "nothing was removed"}, nil
			}
			if err := t.Profiles.RemoveSecret(ctx, args[0]); err != nil {
				return printed{}, fail(exitState, "%w", err)
			}
			return printed{done: ref.Label() + " holds nothing now"}, nil
		},
	})
}

type secretsMigrateFlags struct {
	Store string `flag:"store" takes:"keyring|file" help:"keyring or file (required)"`
	jsonFlag
}

func (a *app) secretsMigrateCommand() *cobra.Command {
	return command(a, spec[secretsMigrateFlags]{
		use:   "migrate [REFERENCE…] --store keyring|file",
		short: "Move secrets and their references to another store",
		long: `Moves the secrets behind the given references to another store, or all that are
in the console's other store.

Each is written to the new store and read back. Then the references in the
config file, in the key inventory and in what the jobs of the ledger asked for
are switched, and only then the old one is removed. What is in a variable or
behind a command stays there.

If a migration was cut short, run the same command again: a journal lets it go
on.`,
		needs: func(secretsMigrateFlags) needs { return needs{none: true} },
		run:   migrateSecrets,
	})
}

func migrateSecrets(ctx context.Context, t *task, f secretsMigrateFlags, refs []string) (printed, error) {
	if stores := keystore.StoreSchemes(); !slices.Contains(stores, f.Store) {
		return printed{}, usage("--store: write %s", strings.Join(stores, " or "))
	}
	for _, ref := range refs {
		if _, err := keystore.ParseRef(ref); err != nil {
			return printed{}, usage("%w", err)
		}
	}
	moves, err := t.Profiles.MoveSecrets(ctx, f.Store, refs, func(m profiles.Move) {
		t.app.say("zonedeck: %s is now %s", keystore.Ref(m.From).Label(), m.To)
	})
	switch {
	case errors.Is(err, profiles.ErrNothing):
		t.app.say("zonedeck: %s", err)
		err = nil
	case err != nil:
		err = fail(exitState, "%w", err)
	}
	return printed{object: view.NewSecretMoves(moves)}.withError(err)
}

type secretsProtectFlags struct {
	By string `flag:"by" takes:"passphrase|none" help:"passphrase or none (required)"`
	jsonFlag
}

func (a *app) secretsProtectCommand() *cobra.Command {
	return command(a, spec[secretsProtectFlags]{
		use:   "protect --by passphrase|none",
		short: "Lock the key to the encrypted files with a passphrase",
		long: `Encrypts the key to the files of file: references for a passphrase, which is
read from standard input (at a terminal twice). --by none leaves it to the
permissions of its file. The files themselves stay as they are.

If a passphrase locks the key now, ZONEDECK_PASSPHRASE or what you type opens
it.`,
		needs: func(secretsProtectFlags) needs { return needs{none: true} },
		run: func(ctx context.Context, t *task, f secretsProtectFlags, _ []string) (printed, error) {
			protection, done := keystore.Protection(f.By), "the key to the encrypted files is protected by the permissions of its file alone"
			var phrase keystore.Secret
			switch protection {
			case keystore.ByPassphrase:
				var err error
				if phrase, err = t.app.chooseSecret("the new passphrase"); err != nil {
					return printed{}, err
				}
				done = "the key to the encrypted files is protected by a passphrase"
			case keystore.Unprotected:
			default:
				return printed{}, usage("--by: write passphrase or none")
			}
			if err := t.Resolver.Protect(ctx, protection, phrase); err != nil {
				return printed{}, fail(exitState, "%w", err)
			}
			return printed{done: done}, nil
		},
	})
}
