package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/service/radius"
	"zonedeck/service/view"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

func (a *app) keysLintCommand() *cobra.Command {
	var f keysFlags
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Check the keys against the rules of levels, sharing, expiry and rotation",
		Long: `Holds every key, and what uses it, against the rules of contract 2.1, 5.1, 5.3
and 5.4. Each finding says which rule is broken, what was seen, and how to fix
it. Exit code 42: a rule is broken. Warnings alone give 0.

The folders of [keys] scan in config.toml and of --scan are searched for files
that hold a key's value, by its fingerprint. For that, the references of all
keys are resolved first, except the commands and keyrings of ADMIN keys.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{jobs: true}, func(t *task) error {
				return t.lintKeys(cmd.Context(), f)
			})
		},
	}
	f.within.d = model.SoonDays * 24 * time.Hour
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	f.registerSource(cmd)
	return cmd
}

func (t *task) lintKeys(ctx context.Context, f keysFlags) error {
	folders := append(t.Keys.Inventory().ScanFolders(), f.scan...)
	if len(folders) == 0 { // a scan does so by itself; values are shared as they are now
		if _, err := t.Keys.Inventory().LookUp(ctx); err != nil {
			return err
		}
	}
	audit, err := t.audit(ctx, f, folders)
	if err != nil {
		return err
	}
	code := lintExit(audit.Findings)
	t.saySearched(audit.Files, folders)
	if f.json {
		err = t.app.printJSON(view.KeysLint{
			OK: code == exitOK, ExitCode: code, Keys: len(audit.Keys), Files: audit.Files,
			Findings: view.NewFindings(audit.Findings), Problems: append([]string{}, audit.Problems...),
		})
	} else {
		err = t.printFindings(audit.Findings)
	}
	if err != nil {
		return err
	}
	return exit(code)
}

// saySearched says how many files a scan has searched: a scan that finds nothing may have had nothing to search.
func (t *task) saySearched(files int, folders []string) {
	if len(folders) > 0 {
		t.app.say("zonedeck: %s searched for values of keys", text.Counted(files, "file"))
	}
}

func (a *app) keysUsesCommand() *cobra.Command {
	var f keysFlags
	cmd := &cobra.Command{
		Use:   "uses NAME",
		Short: "List what uses a key (its blast radius)",
		Long: `Lists what uses a key: profiles, saved requests, jobs in flight, records of the
inventory, and files in the folders of [keys] scan and --scan. For each it says
whether the console can prove by itself that it works after a rotation. No value
is printed.

Files are found by the fingerprint of the value or the name of its variable.
Every value that may be valid is looked for, and those that rotations ended,
because their files need the present value. For that, the values of all keys are
read from their references, without asking for a passphrase and without the
commands and keyrings of ADMIN keys.`,
		Args: oneArg("the key whose uses to find, as 'zonedeck keys list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{jobs: true}, func(t *task) error {
				return t.keyUses(cmd.Context(), args[0], f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	f.registerSource(cmd)
	return cmd
}

func (t *task) keyUses(ctx context.Context, name string, f keysFlags) error {
	if !f.recorded {
		if _, err := t.Profile(ctx); err != nil {
			return fail(exitState, "%w", err)
		}
	}
	folders := append(t.Keys.Inventory().ScanFolders(), f.scan...)
	unknown, err := t.Keys.Inventory().LookUp(ctx)
	if err != nil {
		return err
	}
	var subject radius.Subject
	for _, s := range t.Keys.Inventory().Subjects() {
		if s.Key == name && (!f.recorded || s.Profile == "") && subject.Key == "" {
			subject = s
		}
	}
	if subject.Key == "" {
		return usage("there is no key %q: 'zonedeck keys list' shows them", name)
	}
	report, err := t.Keys.Inventory().Radius(ctx, []radius.Subject{subject}, folders, nil)
	if err != nil {
		return err
	}
	if slices.Contains(unknown, name) && len(folders) > 0 && subject.Profile == "" {
		report.Problems = append(report.Problems, keys.NotRecognised([]string{name}))
	}
	for _, p := range report.Problems {
		t.app.warn("%s", sanitizeLine(p))
	}
	t.saySearched(report.Files, folders)
	if f.json {
		out := make([]view.KeyUse, 0, len(report.Uses[0]))
		for _, u := range report.Uses[0] {
			ended := ""
			if !u.Ended.IsZero() {
				ended = moment(u.Ended)
			}
			out = append(out, view.KeyUse{
				Kind: string(u.Kind), Name: u.Name, Place: u.Place, Ref: kit.RefLabel(u.Ref), Fingerprint: u.Fingerprint, Last4: u.Last4,
				LastSeen: moment(u.LastSeen), Measurable: u.Measurable(), Unmeasured: u.Unmeasured, Previous: u.Previous, Ended: ended,
			})
		}
		return t.app.printJSON(view.KeyUses{Key: name, Files: report.Files, Uses: out, Problems: append([]string{}, report.Problems...)})
	}
	if len(report.Uses[0]) == 0 {
		t.app.say("zonedeck: nothing known uses %s", sanitizeLine(name))
		return nil
	}
	rows := [][]string{{"KIND", "USE", "REFERENCE", "LAST4", "PROOF"}}
	for _, u := range report.Uses[0] {
		proof := "can be measured"
		switch {
		case !u.Measurable():
			proof = u.Unmeasured
		case u.Previous:
			proof += ", with " + radius.OtherValue
		}
		rows = append(rows, []string{string(u.Kind), u.String(), orDash(kit.RefLabel(u.Ref)), orDash(u.Last4), proof})
	}
	return printColumns(t.app.Stdout, rows)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// usageKind refuses the name of a form.
func usageKind(what, got, expected string) error {
	return usage("%s", fmt.Sprintf("%s %q is not known; expected %s", what, got, expected))
}
