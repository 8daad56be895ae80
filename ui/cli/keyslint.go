package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"zonedeck/service/keys"
	"zonedeck/service/radius"
	"zonedeck/service/view"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

type keysLintFlags struct {
	keysFlags
	jsonFlag
}

func (a *app) keysLintCommand() *cobra.Command {
	return command(a, spec[keysLintFlags]{
		use: "lint", short: "Check the keys against the rules of levels, sharing, expiry and rotation",
		long: `Holds every key, and what uses it, against the rules of contract 2.1, 5.1, 5.3
and 5.4. Each finding says which rule is broken, what was seen, and how to fix
it. Exit codes: 42 a rule is broken; 1 there is no key; 0 otherwise, also with
warnings.

The folders of [keys] scan in config.toml and of --scan are searched for files
that hold the value of a key or of a zone's password, by its fingerprint, or a
whole login to the proxy. For that, the references of keys and passwords are
resolved first, except the commands and keyrings of ADMIN keys, and the commands
of passwords.`,
		needs: func(keysLintFlags) needs { return needs{jobs: true} },
		run:   lintKeys,
	})
}

func lintKeys(ctx context.Context, t *task, f keysLintFlags, _ []string) (printed, error) {
	folders := append(t.Keys.Inventory().ScanFolders(), f.Scan...)
	if len(folders) == 0 { // a scan looks the values up itself; sharing is judged by present values
		if _, err := t.Keys.Inventory().LookUp(ctx); err != nil {
			return printed{}, err
		}
	}
	audit, err := t.audit(ctx, f.keysFlags, soon().Within.d, folders)
	if err != nil {
		return printed{}, err
	}
	code := lintExit(audit.Findings)
	if code == exitOK && len(audit.Keys) == 0 {
		code = exitChecksFailed
	}
	t.saySearched(audit.Files, folders)
	out := printed{code: code, verdict: t.noKeys(audit), object: view.KeysLint{
		OK: code == exitOK, ExitCode: code, Keys: len(audit.Keys), Files: audit.Files,
		Findings: view.NewFindings(audit.Findings), Problems: append([]string{}, audit.Problems...),
	}}
	if !f.JSON {
		err = t.printFindings(audit.Findings)
	}
	return out, err
}

// saySearched says how many files a scan searched: if it found nothing, there may have been none.
func (t *task) saySearched(files int, folders []string) {
	if len(folders) > 0 {
		t.app.say("zonedeck: %s searched for values of keys and passwords", text.Counted(files, "file"))
	}
}

func (a *app) keysUsesCommand() *cobra.Command {
	return command(a, spec[keysLintFlags]{
		use: "uses KEY", short: "List what uses a key (its blast radius)",
		long: `Lists what uses a key: profiles, saved requests, jobs in flight, records of the
inventory, and files in the folders of [keys] scan and --scan. For each it says
whether the console can prove by itself that it works after a rotation. No value
is printed.

Files are found by the fingerprint of the value or the name of its variable.
Every value that may be valid is looked for, and those that rotations ended,
because their files need the present value. For that, the values of all keys are
read from their references, without asking for a passphrase and without the
commands and keyrings of ADMIN keys.`,
		needs: func(keysLintFlags) needs { return needs{jobs: true} },
		run:   keyUses,
	})
}

func keyUses(ctx context.Context, t *task, f keysLintFlags, args []string) (printed, error) {
	name := args[0]
	if !f.Recorded {
		if _, err := t.Profile(ctx); err != nil {
			return printed{}, fail(exitState, "%w", err)
		}
	}
	folders := append(t.Keys.Inventory().ScanFolders(), f.Scan...)
	unknown, err := t.Keys.Inventory().LookUp(ctx)
	if err != nil {
		return printed{}, err
	}
	var subject radius.Subject
	for _, s := range t.Keys.Inventory().Subjects() {
		if s.Key == name && (!f.Recorded || s.Profile == "") && subject.Key == "" {
			subject = s
		}
	}
	if subject.Key == "" {
		return printed{}, usage("there is no key %q: 'zonedeck keys list' shows them", name)
	}
	report, err := t.Keys.Inventory().Radius(ctx, []radius.Subject{subject}, folders, nil)
	if err != nil {
		return printed{}, err
	}
	if slices.Contains(unknown, name) && len(folders) > 0 && subject.Profile == "" {
		report.Problems = append(report.Problems, keys.NotRecognised([]string{name}))
	}
	for _, p := range report.Problems {
		t.app.warn("%s", p)
	}
	t.saySearched(report.Files, folders)
	out := view.KeyUses{Key: name, Files: report.Files, Uses: make([]view.KeyUse, 0, len(report.Uses[0])), Problems: append([]string{}, report.Problems...)}
	rows := [][]string{{"KIND", "USE", "REFERENCE", "LAST4", "PROOF"}}
	for _, u := range report.Uses[0] {
		proof := "can be measured"
		switch {
		case !u.Measurable():
			proof = u.Unmeasured
		case u.Previous:
			proof += ", with " + radius.PreviousValue
		}
		out.Uses = append(out.Uses, view.NewKeyUse(u, kit.RefLabel(u.Ref)))
		rows = append(rows, []string{string(u.Kind), u.String(), cmp.Or(kit.RefLabel(u.Ref), "-"), cmp.Or(u.Last4, "-"), proof})
	}
	if len(out.Uses) == 0 && !f.JSON {
		t.app.say("zonedeck: nothing known uses %s", name)
		return printed{}, nil
	}
	return printed{object: out, rows: rows}, nil
}

// usageKind refuses an unknown form, and names the valid ones.
func usageKind(what, got, expected string) error {
	return usage("%s %q is not known; expected %s", what, got, expected)
}
