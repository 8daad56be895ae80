package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/profiles"
	"zonedeck/service/view"
)

func (a *app) profilesListCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "list",
		short: "List the profiles of the config file",
		needs: func(jsonFlag) needs { return needs{none: true} },
		run:   listProfiles,
	})
}

func listProfiles(_ context.Context, t *task, _ jsonFlag, _ []string) (printed, error) {
	configured, byDefault := t.Profiles.Configured()
	list := make([]view.Profile, 0, len(configured))
	for _, p := range configured {
		k, _ := t.Profiles.Key(p.Key)
		k.Name = p.Key
		list = append(list, view.NewProfile(p, k, profiles.Facts{}, true))
	}
	out := printed{object: view.Profiles{Default: byDefault, Profiles: list}}
	if len(list) == 0 {
		out.note = "no profile is configured: add one with 'zonedeck profiles add NAME'"
		return out, nil
	}
	out.rows = [][]string{{"PROFILE", "BASE URL", "ACCOUNT", "KEY", "ZONES", "CHANGES"}}
	for _, p := range list {
		name, changes := p.Profile, "allowed"
		if name == byDefault {
			name += " (default)"
		}
		if p.ReadOnly {
			changes = "refused"
		}
		out.rows = append(out.rows, []string{name, cmp.Or(p.BaseURL, "-"), cmp.Or(p.Account, "-"), cmp.Or(p.Key.Name, "-"), fmt.Sprint(len(p.Zones)), changes})
	}
	return out, nil
}

// profilePrinted is the output for a profile and its checks.
func profilePrinted(p view.Profile) printed {
	rows := [][]string{
		{"profile", p.Profile},
		{"base URL", p.BaseURL},
		{"proxy", p.Proxy},
		{"account", p.Account},
		{"dialect", p.Dialect},
		{"CA", p.CA},
		{"key", p.Key.Name + ", " + p.Key.Level + ", " + p.Key.Reference},
	}
	if p.TestURL != "" {
		rows = append(rows, []string{"test page", p.TestURL + ", shows " + strconv.Quote(p.TestText)})
	}
	for _, product := range slices.Sorted(maps.Keys(p.Timeouts)) {
		rows = append(rows, []string{"timeout", fmt.Sprintf("%s, %gs", product, p.Timeouts[product])})
	}
	for _, z := range p.Zones {
		rows = append(rows, []string{"zone", z.Name + ", " + z.Product + ", " + z.Reference})
	}
	for _, c := range p.Checks {
		rows = append(rows, []string{c.State, c.Name + ": " + c.Text})
	}
	return printed{object: p, rows: rows}
}

type profilesRemoveFlags struct {
	Yes         bool `flag:"yes" help:"do not ask for confirmation"`
	WithKey     bool `flag:"with-key" help:"also remove the record of its key"`
	WithSecrets bool `flag:"with-secrets" help:"also remove the secrets behind its references"`
	jsonFlag
}

func (a *app) profilesRemoveCommand() *cobra.Command {
	return command(a, spec[profilesRemoveFlags]{
		use:   "remove PROFILE",
		short: "Remove a profile from the config file",
		long: `Removes a profile from the config file, and the certificate that was saved with
it. Nothing is removed at the service, and the history stays.

--with-key also removes the record of its key, and --with-secrets the secrets
behind its keyring: and file: references. What another profile or key refers to
stays. Without --with-secrets the secrets stay in their store, and the command
names them, so that 'zonedeck secrets remove' can remove them later.

What a rotation under way needs is never removed, nor a key that a job in flight
or a saved request needs.`,
		needs: func(profilesRemoveFlags) needs { return needs{none: true, jobs: true} },
		run:   removeProfile,
	})
}

func removeProfile(ctx context.Context, t *task, f profilesRemoveFlags, args []string) (printed, error) {
	r, err := t.Profiles.Removal(args[0])
	if err != nil {
		return printed{}, profileError(profiles.Report{}, err)
	}
	goes, stays := r.Describe(f.WithKey, f.WithSecrets), r.Leaves(f.WithKey, f.WithSecrets)
	ok, err := t.app.confirmed(f.Yes, "This removes "+strings.Join(goes, "; ")+".")
	if err != nil {
		return printed{}, err
	}
	if !ok {
		return printed{}, fail(exitChecksFailed, "nothing was removed")
	}
	if err := t.Profiles.Remove(ctx, r, f.WithKey, f.WithSecrets); err != nil {
		return printed{}, fail(exitState, "%w", err)
	}
	t.app.say("zonedeck: removed %s", strings.Join(goes, "; "))
	for _, ref := range stays {
		t.app.say("zonedeck: the secret behind %s stays in its store; 'zonedeck secrets remove %s' removes it", ref, ref)
	}
	return printed{object: view.ProfileRemoval{Profile: args[0], Removed: goes, Orphaned: stays}}, t.sayDefault()
}

// sayDefault says that another profile became the default.
func (t *task) sayDefault() error {
	_, before := t.Profiles.Configured() // as read at the start
	now, err := t.Profiles.DefaultNow()
	switch {
	case err != nil:
		return fail(exitState, "%w", err)
	case now == before || now == "":
	case now == model.LocalName:
		t.app.say("zonedeck: the embedded emulator is now the default: commands and the console use it unless a profile is named")
	default:
		t.app.say("zonedeck: profile %s is now the default: commands and the console use it unless another is named", now)
	}
	return nil
}

type profilesCheckFlags struct {
	reasonFlag
	jsonFlag
}

func (a *app) profilesCheckCommand() *cobra.Command {
	return command(a, spec[profilesCheckFlags]{
		use:   "check [PROFILE]",
		short: "Check the key, zones, passwords, proxy and certificate of a profile",
		long: `Asks the service about every value of a profile, by default the one in use, and
says what it found for each. Nothing is changed. The proxy is tested by one call
through it. Exit codes: 1 something is wrong; 23 the key was refused.`,
		check: func(_ *profilesCheckFlags, args []string) error {
			a.flags.profile = cmp.Or(firstOf(args), a.flags.profile)
			return nil
		},
		needs: func(f profilesCheckFlags) needs { return needs{journal: true, reason: f.Reason} },
		run:   checkProfile,
	})
}

func checkProfile(ctx context.Context, t *task, _ profilesCheckFlags, _ []string) (printed, error) {
	p, err := t.Profile(ctx)
	if err != nil {
		return printed{}, fail(exitState, "%w", err)
	}
	if err := (profiles.Draft{Profile: p}).Refusal(); err != nil {
		return printed{}, usage("%w", err)
	}
	k, ok := t.Keys.Key(p.Key)
	if !ok || k.Secret == "" {
		return printed{}, usage("profile %s names no key with a known value", p.Name)
	}
	value, err := t.Keys.Value(ctx, p, k)
	if err != nil {
		return printed{}, keyError(ctx, profiles.Report{Key: k, Recorded: true}, err)
	}
	d, err := t.Profiles.Verify(ctx, p, value)
	out := view.NewProfile(p, k, d.Facts, true)
	result := printed{object: out, code: checksCode(out)}
	for _, c := range out.Checks {
		result.rows = append(result.rows, []string{c.State, c.Name, c.Text})
	}
	if err != nil {
		err = readError(ctx, d.Facts, err)
	}
	return result, err
}

// checksCode is the exit code for a profile's checks.
func checksCode(out view.Profile) int {
	for _, c := range out.Checks {
		if c.State == string(profiles.Failed) {
			return exitChecksFailed
		}
	}
	return exitOK
}
