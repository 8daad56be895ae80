package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/service"
	"zonedeck/service/secrets"
	"zonedeck/service/view"
)

func (a *app) secretsCommand() *cobra.Command {
	return group("secrets", "List, set, remove and move secrets, and lock the encrypted files",
		a.secretsListCommand(), a.secretsSetCommand(), a.secretsRemoveCommand(), a.secretsMigrateCommand(), a.secretsProtectCommand())
}

func (a *app) secretsListCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the references to secrets, what uses them, and whether a secret is there",
		Long: `Lists every reference of the config file, of the key inventory and of the jobs
in the ledger, and the values that rotations hold or left when they were
abandoned. It looks whether there is a secret behind each, except behind a
command, which might ask a question. No value is shown.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{none: true}, func(t *task) error { return t.listSecrets(cmd.Context(), asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) listSecrets(ctx context.Context, asJSON bool) error {
	states, err := t.SecretStates(ctx)
	if err != nil && len(states) == 0 {
		return fail(exitState, "%w", err)
	}
	if failed := t.printSecrets(states, asJSON); failed != nil || err == nil {
		return failed
	}
	return fail(exitState, "not every reference could be listed: %w", err)
}

func (t *task) printSecrets(states []service.SecretState, asJSON bool) error {
	list := make([]view.Secret, 0, len(states))
	for _, s := range states {
		ref := keystore.Ref(s.Ref)
		list = append(list, view.Secret{Reference: ref.Label(), Store: ref.Scheme(), UsedBy: s.Uses, State: s.State, Text: s.Text})
	}
	if asJSON {
		return t.app.printJSON(view.Secrets{Secrets: list})
	}
	if len(list) == 0 {
		t.app.say("zonedeck: nothing refers to a secret")
		return nil
	}
	rows := [][]string{{"STATE", "REFERENCE", "USED BY"}}
	for _, s := range list {
		rows = append(rows, []string{s.State, sanitizeLine(s.Reference), sanitizeLine(strings.Join(s.UsedBy, "; "))})
	}
	return printColumns(t.app.Stdout, rows)
}

func (a *app) secretsSetCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "set REFERENCE",
		Short: "Put a value behind a keyring: or file: reference",
		Long: `Reads a secret from standard input and stores it behind the reference, replacing
what is there. Then it reads it back and records the new fingerprint at the keys
that refer to it. The value is never an argument.`,
		Args: usageArgs(oneArg("a reference, as file:NAME or keyring:service/name")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{none: true}, func(t *task) error { return t.setSecret(cmd.Context(), args[0], asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) setSecret(ctx context.Context, ref string, asJSON bool) error {
	parsed, err := keystore.ParseRef(ref)
	if err != nil {
		return usage("%w", err)
	}
	if !parsed.Storable() {
		return usage("%s: the console stores nothing there; keyring:service/name and file:NAME take secrets", parsed.Label())
	}
	value, err := t.app.readSecret("the secret")
	if err != nil {
		return err
	}
	if err := t.SetSecret(ctx, ref, value); err != nil {
		return cmp.Or(nameError(err), fail(exitState, "%w", err))
	}
	return t.app.done(asJSON, "%s holds the secret (%s)", parsed.Label(), value)
}

func (a *app) secretsRemoveCommand() *cobra.Command {
	yes, asJSON := false, false
	cmd := &cobra.Command{
		Use:   "remove REFERENCE",
		Short: "Delete a value that nothing refers to, for example one that an abandoned rotation left",
		Long: `Deletes the value behind a keyring: or file: reference. It keeps a value that a
key, a zone, a variable or a rotation under way needs.

'secrets list' shows what abandoned rotations left. The service may still accept
such a value.`,
		Args: usageArgs(oneArg("a reference, as file:NAME or keyring:service/name")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{none: true}, func(t *task) error { return t.removeSecret(cmd.Context(), args[0], yes, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) removeSecret(ctx context.Context, ref string, yes, asJSON bool) error {
	parsed, err := keystore.ParseRef(ref)
	if err != nil {
		return usage("%w", err)
	}
	if !parsed.Storable() {
		return usage("%s: the console stores nothing there; what is there is not its to delete", parsed.Label())
	}
	ok, err := t.app.confirmed(yes, "Delete the value behind "+parsed.Label()+"? It cannot be brought back.")
	switch {
	case err != nil:
		return err
	case !ok:
		return t.app.done(asJSON, "nothing was deleted")
	}
	if err := t.RemoveSecret(ctx, ref); err != nil {
		return fail(exitState, "%w", err)
	}
	return t.app.done(asJSON, "%s holds nothing now", parsed.Label())
}

func (a *app) secretsMigrateCommand() *cobra.Command {
	to, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "migrate --to keyring|file [REFERENCE…]",
		Short: "Move secrets and their references to another store",
		Long: `Moves the secrets behind the given references to another store, or all that are
in the console's other store.

Each is written to the new store and read back. Then the references in the
config file, in the key inventory and in what the jobs of the ledger asked for
are switched, and only then the old one is deleted. What is in a variable or
behind a command stays there.

If a migration was cut short, run the same command again: a journal lets it go
on.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{none: true}, func(t *task) error { return t.migrateSecrets(cmd.Context(), to, args, asJSON) })
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "keyring or file (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) migrateSecrets(ctx context.Context, to string, refs []string, asJSON bool) error {
	if to != keystore.SchemeKeyring && to != keystore.SchemeFile {
		return usage("--to is keyring or file")
	}
	for _, ref := range refs {
		if _, err := keystore.ParseRef(ref); err != nil {
			return usage("%w", err)
		}
	}
	moves, err := t.MigrateSecrets(ctx, to, refs, func(m secrets.Move) {
		t.app.say("zonedeck: %s is %s now", keystore.Ref(m.From).Label(), m.To)
	})
	if errors.Is(err, secrets.ErrNothing) {
		t.app.say("zonedeck: %s", err)
		err = nil
	}
	if asJSON {
		printed := t.app.printJSON(view.NewSecretMoves(moves))
		if printed != nil {
			return printed
		}
	}
	if err != nil {
		return fail(exitState, "%w", err)
	}
	return nil
}

func (a *app) secretsProtectCommand() *cobra.Command {
	by, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "protect --by passphrase|none",
		Short: "Lock the key to the encrypted files with a passphrase",
		Long: `Encrypts the key to the files of file: references for a passphrase, which is
read from standard input (at a terminal twice). --by none leaves it to the
permissions of its file. The files themselves stay as they are.

If a passphrase locks the key now, ZONEDECK_PASSPHRASE or what you type opens
it.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{none: true}, func(t *task) error { return t.protectSecrets(cmd.Context(), by, asJSON) })
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "passphrase or none (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) protectSecrets(ctx context.Context, by string, asJSON bool) error {
	protection, done := keystore.Protection(by), "the key to the encrypted files is protected by the permissions of its file alone"
	var phrase keystore.Secret
	switch protection {
	case keystore.ByPassphrase:
		var err error
		if phrase, err = t.app.chooseSecret("the new passphrase"); err != nil {
			return err
		}
		done = "the key to the encrypted files is protected by a passphrase"
	case keystore.Unprotected:
	default:
		return usage("--by is passphrase or none")
	}
	if err := t.Resolver.Protect(ctx, protection, phrase); err != nil {
		return fail(exitState, "%w", err)
	}
	return t.app.done(asJSON, "%s", done)
}
