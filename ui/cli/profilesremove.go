package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/service/account"
	"zonedeck/service/config"
	"zonedeck/service/view"
)

func (a *app) profilesListCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the profiles of the config file",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{none: true}, func(t *task) error { return t.listProfiles(asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) listProfiles(asJSON bool) error {
	profiles, byDefault := t.Configured()
	list := make([]view.Profile, 0, len(profiles))
	for _, p := range profiles {
		k, _ := t.Inventory.Get(p.Key)
		k.Name = p.Key
		list = append(list, view.NewProfile(account.Draft{Profile: p, Key: k}, account.Found{}, true))
	}
	if asJSON {
		return t.app.printJSON(view.Profiles{Default: byDefault, Profiles: list})
	}
	if len(list) == 0 {
		t.app.say("zonedeck: no profile is configured: add one with 'zonedeck profiles add NAME'")
		return nil
	}
	rows := [][]string{{"PROFILE", "BASE URL", "ACCOUNT", "KEY", "ZONES", "CHANGES"}}
	for _, p := range list {
		name, changes := p.Profile, "allowed"
		if name == byDefault {
			name += " (default)"
		}
		if p.ReadOnly {
			changes = "refused"
		}
		rows = append(rows, []string{name, cmp.Or(p.BaseURL, "-"), cmp.Or(p.Account, "-"), cmp.Or(p.Key.Name, "-"), fmt.Sprint(len(p.Zones)), changes})
	}
	return printColumns(t.app.Stdout, rows)
}

// configured finds the profile that a command names.
func (t *task) configured(name string) (config.Profile, error) {
	profiles, _ := t.Configured()
	var names []string
	for _, p := range profiles {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return config.Profile{}, usage("no profile %q in the config file: it has %s", name, cmp.Or(strings.Join(names, ", "), "none"))
}

func (a *app) profilesEditCommand() *cobra.Command {
	var f profileFlags
	clear := []string{}
	cmd := &cobra.Command{
		Use:   "edit NAME",
		Short: "Change an account, and add zones that it now has",
		Long: `Changes the lines of a profile that differ from the flags, and leaves the rest of
the config file as it is. --zones adds zones that the account lists and the
profile lacks, with their passwords. --clear empties fields. A read-only profile
is not changed, unless the same command gives --read-only=false.

The value of a key in the inventory is not changed: 'zonedeck secrets set' puts
another value behind its reference. --key can name another key. If the inventory
does not have it, it is added.`,
		Args: usageArgs(oneArg("the name of a profile")),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name, f.readOnlySaid = args[0], cmd.Flags().Changed("read-only")
			return a.withSession(cmd.Context(), needs{none: true, journal: true, reason: f.adminReason}, func(t *task) error { return t.editProfile(cmd.Context(), f, clear) })
		},
	}
	f.register(cmd)
	cmd.Flags().StringSliceVar(&clear, "clear", nil, "fields to empty: "+strings.Join(clearable(), ", "))
	return cmd
}

// clearable are the fields that can be emptied.
func clearable() []string {
	return []string{"ca", "color", "read-only", "allow-domain", "zones", "proxy-host", "max-job-cost"}
}

func (t *task) editProfile(ctx context.Context, f profileFlags, clear []string) error {
	p, err := t.configured(f.name)
	if err != nil {
		return err
	}
	before := p
	for _, field := range clear {
		switch field {
		case "ca":
			p.CA = ""
		case "color":
			p.Color = ""
		case "read-only":
			p.ReadOnly = false
		case "allow-domain":
			p.AllowedDomains = nil
		case "max-job-cost":
			p.MaxJobCost = 0
		case "zones":
			p.Zones = nil
		case "proxy-host":
			p.ProxyHost = ""
		default:
			return usage("--clear: %q cannot be emptied; these can: %s", field, strings.Join(clearable(), ", "))
		}
	}
	f.noZones, f.noCA = f.noZones || f.zones == nil, true
	f.unchecked = f.unchecked || f.noZones // the account's own data is not needed
	return t.saveProfile(ctx, f, account.Draft{Profile: p, Before: &before})
}

// sayReadOnly says that a saved profile has become read-only, or no longer is.
func (t *task) sayReadOnly(saved config.Profile) {
	before, err := t.configured(saved.Name) // as it was read
	switch {
	case err != nil || saved.ReadOnly == before.ReadOnly:
	case saved.ReadOnly:
		t.app.say("zonedeck: profile %s is now read-only", saved.Name)
	default:
		t.app.say("zonedeck: profile %s is no longer read-only: it may change things", saved.Name)
	}
}

func (a *app) profilesRemoveCommand() *cobra.Command {
	var yes, withKey, withSecrets, asJSON bool
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an account from the config file",
		Long: `Removes a profile from the config file, and the certificate that was saved with
it. Nothing is removed at the service, and the history stays.

--with-key also removes the record of its key, and --with-secrets the secrets
behind its keyring: and file: references. What another profile or key refers to
stays. Without --with-secrets the secrets stay in their store, and the command
names them, so that 'zonedeck secrets remove' can delete them later.

What a rotation under way needs is never removed, nor a key that a job in flight
or a saved request needs.`,
		Args: usageArgs(oneArg("the name of a profile")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{none: true, jobs: true}, func(t *task) error {
				return t.removeProfile(cmd.Context(), args[0], yes, withKey, withSecrets, asJSON)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	fl.BoolVar(&withKey, "with-key", false, "also remove the record of its key")
	fl.BoolVar(&withSecrets, "with-secrets", false, "also delete the secrets behind its references")
	fl.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) removeProfile(ctx context.Context, name string, yes, withKey, withSecrets, asJSON bool) error {
	p, err := t.configured(name)
	if err == nil {
		err = t.RefuseRemoval(p)
	}
	if err != nil {
		return err
	}
	r, err := t.WhatGoes(name)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	goes, left := r.Describe(withKey, withSecrets), r.Leaves(withKey, withSecrets)
	ok, err := t.app.confirmed(yes, "This removes "+strings.Join(goes, "; ")+".")
	if err != nil {
		return err
	}
	if !ok {
		return fail(exitChecksFailed, "nothing was removed")
	}
	if err := t.RemoveAccount(ctx, r, withKey, withSecrets); err != nil {
		return fail(exitState, "%w", err)
	}
	t.app.say("zonedeck: removed %s", strings.Join(goes, "; "))
	for _, ref := range left {
		t.app.say("zonedeck: the secret behind %s stays in its store; 'zonedeck secrets remove %s' deletes it", ref, ref)
	}
	if err := t.sayDefault(); err != nil {
		return err
	}
	if !asJSON {
		return nil
	}
	return t.app.printJSON(view.ProfileRemoval{Profile: name, Removed: goes, Remaining: left})
}

// sayDefault says that another profile became the default.
func (t *task) sayDefault() error {
	_, before := t.Configured() // as it was read
	now, err := t.DefaultProfile()
	switch {
	case err != nil:
		return fail(exitState, "%w", err)
	case now == before || now == "":
	case now == config.LocalName:
		t.app.say("zonedeck: the embedded emulator is now the default: commands and the console use it unless a profile is named")
	default:
		t.app.say("zonedeck: profile %s is now the default: commands and the console use it unless another is named", now)
	}
	return nil
}

func (a *app) profilesCheckCommand() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "check [NAME]",
		Short: "Check the key, zones, passwords, proxy and certificate of an account",
		Long: `Asks the service about every value of a profile, by default the one in use, and
says what it found for each. Nothing is changed. The proxy is tested by one call
through it. Exit codes: 1 something is wrong; 23 the key was refused.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.name = firstOf(args); f.name != "" {
				a.flags.profile = f.name
			}
			return a.withSession(cmd.Context(), needs{journal: true, reason: f.adminReason}, func(t *task) error { return t.checkProfile(cmd.Context(), f) })
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	adminFlag(cmd, &f.adminReason)
	return cmd
}

func (t *task) checkProfile(ctx context.Context, f profileFlags) error {
	p, err := t.Profile(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	if err := account.Refusal(p); err != nil {
		return usage("%w", err)
	}
	k, ok := t.Keys.Key(p.Key)
	if !ok || k.Secret == "" {
		return usage("profile %s names no key with a known value", p.Name)
	}
	value, err := t.Keys.Value(ctx, p, k)
	if err != nil {
		return keyError(ctx, k, err)
	}
	found, err := t.ReadAccount(ctx, p, value)
	out := view.NewProfile(account.Draft{Profile: p, Key: k}, found, true)
	if printed := t.printChecks(f, out); printed != nil {
		return printed
	}
	if err != nil {
		return readError(ctx, found, err)
	}
	return checksExit(out)
}

// checksExit is the exit error of all checks together.
func checksExit(out view.Profile) error {
	for _, c := range out.Checks {
		if c.State == string(account.Failed) {
			return exit(exitChecksFailed)
		}
	}
	return nil
}

// printChecks prints only the verdicts.
func (t *task) printChecks(f profileFlags, out view.Profile) error {
	if f.json {
		return t.app.printJSON(out)
	}
	rows := make([][]string, 0, len(out.Checks))
	for _, c := range out.Checks {
		rows = append(rows, []string{c.State, c.Subject, sanitizeLine(c.Text)})
	}
	return printColumns(t.app.Stdout, rows)
}
