package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// keysFlags say which keys are meant, and where to look for their uses.
type keysFlags struct {
	Recorded bool     `flag:"recorded" help:"only the keys of the inventory, without starting the emulator"`
	Scan     []string `flag:"scan" takes:"folder" help:"search this folder too for what uses the keys (repeatable)"`
}

// withinFlag says when a key counts as due soon.
type withinFlag struct {
	Within durationFlag `flag:"within" help:"how long before its expiry or rotation a key counts as due soon, for example 14d or 2w"`
}

func soon() withinFlag { return withinFlag{durationFlag{model.SoonDays * 24 * time.Hour}} }

type keysListFlags struct {
	keysFlags
	withinFlag
	Skew bool `flag:"skew" help:"ask the service for its time, without a key, and say how far its clock is from this machine's"`
	jsonFlag
}

func (a *app) keysListCommand() *cobra.Command {
	return command(a, spec[keysListFlags]{
		use: "list", short: "List the keys with their expiry and rotation",
		defaults: keysListFlags{withinFlag: soon()},
		needs:    func(keysListFlags) needs { return needs{jobs: true} },
		run: func(ctx context.Context, t *task, f keysListFlags, _ []string) (printed, error) {
			audit, skew, err := t.auditAndSkew(ctx, f)
			if err != nil {
				return printed{}, err
			}
			if len(audit.Keys) == 0 && !f.JSON {
				t.app.say("zonedeck: the inventory holds no keys: add one in the console (tab 4, a)")
				return printed{}, nil
			}
			out := view.NewKeys(audit, f.Within.d)
			out.ClockSkew = skew
			return printed{object: out, rows: keyRows(audit, f.Within.d)}, nil
		},
	})
}

// auditAndSkew reads the keys, and with --skew asks for the service's time.
func (t *task) auditAndSkew(ctx context.Context, f keysListFlags) (keys.Audit, *view.Skew, error) {
	audit, err := t.audit(ctx, f.keysFlags, f.Within.d, f.Scan)
	if err != nil {
		return audit, nil, err
	}
	skew, err := t.clockSkew(ctx, f.Skew)
	return audit, skew, err
}

func keyRows(audit keys.Audit, within time.Duration) [][]string {
	rows := [][]string{{"STATE", "KEY", "LEVEL", "DUTY", "EXPIRES", "ROTATED", widget.RotationTitle(audit.Keys), "LAST4"}}
	for _, k := range audit.Keys {
		now, name := audit.Now(k), k.Name
		if of := audit.OtherProfiles(k); len(of) > 0 {
			name += " (of " + strings.Join(of, ", ") + ")"
		}
		state := k.StateWord(now, within)
		if rotating := audit.Rotating(k); rotating != "" {
			state += ", " + rotating
		}
		rows = append(rows, []string{
			state, name, k.Level.String(), cmp.Or(string(k.Duty), "-"),
			widget.ExpiryCell(k, now), widget.RotatedCell(k, now), widget.RotationCell(k, now), last4Cell(k),
		})
	}
	return rows
}

// last4Cell is the end of a key's value: "unknown" if the value was never read and cannot be recognised under
// another name, "-" if it is too short to show.
func last4Cell(k model.Key) string {
	if k.Fingerprint == "" {
		return cmp.Or(k.Last4, "unknown")
	}
	return cmp.Or(k.Last4, "-")
}

// clockSkew says how far the service's clock, by which keys expire, is from this machine's. It is nil
// if that was not measured.
func (t *task) clockSkew(ctx context.Context, ask bool) (*view.Skew, error) {
	if !ask {
		t.app.say("zonedeck: how far the service's clock is from this machine's is unknown: --skew asks the service")
		return nil, nil
	}
	s, err := t.Overview.Wire.MeasureSkew(ctx, t.Keys)
	if err != nil {
		return nil, fail(exitNetwork, "%w", err)
	}
	t.app.say("zonedeck: %s, measured %s by the Date header of %s", s, view.Moment(s.At), s.Service)
	const digits = 100 * time.Millisecond
	return &view.Skew{Seconds: s.By.Round(digits).Seconds(), Uncertainty: s.Give.Round(digits).Seconds(), MeasuredAt: view.Moment(s.At), Service: s.Service}, nil
}

// audit reads the keys in use, the worst first. If needed, it first starts the emulator, which
// knows the demo keys.
func (t *task) audit(ctx context.Context, f keysFlags, within time.Duration, folders []string) (keys.Audit, error) {
	if !f.Recorded {
		if _, err := t.Profile(ctx); err != nil {
			return keys.Audit{}, fail(exitState, "%w", err)
		}
	}
	audit, err := t.Keys.Inventory().Audit(ctx, f.Recorded, within, folders)
	for _, p := range audit.Problems {
		t.app.warn("%s", p)
	}
	return audit, err
}

type keysCheckFlags struct {
	keysListFlags
	As string `flag:"as" takes:"github|" without:"json" help:"github: annotations of a workflow of GitHub Actions"`
}

func (a *app) keysCheckCommand() *cobra.Command {
	cmd := command(a, spec[keysCheckFlags]{
		use: "check", short: "Check expiry, rotation and permissions; the exit code is the verdict",
		long: `Checks the expiry, the rotation and the permissions of every key. Exit codes,
the first that applies: 41 a key has expired; 40 a rotation or an expiry is due,
or due within --within; 42 the permission lint found an error; 1 nothing is
wrong with what is known, but the expiry or the rotation of a key is unknown, or
there is no key; 0 otherwise.

'keys list' shows what is unknown, and the findings say how to record it.`,
		defaults: keysCheckFlags{keysListFlags: keysListFlags{withinFlag: soon()}},
		needs:    func(keysCheckFlags) needs { return needs{jobs: true} },
		check: func(f *keysCheckFlags, _ []string) error {
			if f.As != "" && f.As != "github" {
				return usage("--as %s: write github", model.Cut(f.As, 60))
			}
			return nil
		},
		run: func(ctx context.Context, t *task, f keysCheckFlags, _ []string) (printed, error) {
			audit, skew, err := t.auditAndSkew(ctx, f.keysListFlags)
			if err != nil {
				return printed{}, err
			}
			out := printed{object: checked(audit, f.Within.d, skew), code: checkExit(audit, f.Within.d), verdict: t.noKeys(audit)}
			switch {
			case f.JSON:
				return out, nil
			case f.As != "":
				out.object, out.text = nil, asGitHub(audit)
				return out, nil
			}
			return out, t.printVerdict(audit, f.Within.d)
		},
	})
	check := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err, verdict := check(cmd, args), (*exitError)(nil)
		if err == nil || cmd.Flag("as").Value.String() != "github" || errors.As(err, &verdict) && verdict.cause == nil {
			return err
		}
		return errors.Join(err, a.printText(annotation("error", "zonedeck keys check", oneLine(err))))
	}
	return cmd
}

// checkExit returns the code of the first problem found: expired, due, lint, an unknown clock.
func checkExit(audit keys.Audit, within time.Duration) int {
	for _, k := range audit.Keys {
		if k.State(audit.Now(k), within) == model.KeyExpired {
			return exitKeyExpired
		}
	}
	if audit.Due > 0 {
		return exitRotationDue
	}
	if code := lintExit(audit.Findings); code != exitOK {
		return code
	}
	if len(audit.Keys) == 0 || unknownClocks(audit) > 0 {
		return exitChecksFailed
	}
	return exitOK
}

// noKeys says that there was no key to look at; empty if there was one.
func (t *task) noKeys(audit keys.Audit) string {
	if len(audit.Keys) > 0 {
		return ""
	}
	return "there is no key, so none was checked: " + t.Paths.KeysFile() + " records none. Record keys with 'zonedeck keys import', or say with XDG_DATA_HOME or HOME where the inventory is"
}

// unknownClocks counts the keys whose expiry or rotation is unknown: they may be due or have expired.
func unknownClocks(audit keys.Audit) (n int) {
	for _, k := range audit.Keys {
		now := audit.Now(k)
		if k.Expires.State(now, 0) == model.ExpiryStateUnknown || k.Rotation.State(now, 0) == model.RotationUnknown {
			n++
		}
	}
	return n
}

// lintExit is 42 if a rule is broken, 0 if there are only warnings and notes.
func lintExit(findings []keystore.Finding) int {
	if slices.ContainsFunc(findings, func(f keystore.Finding) bool { return f.Severity == keystore.SeverityError }) {
		return exitLint
	}
	return exitOK
}

func checked(audit keys.Audit, within time.Duration, skew *view.Skew) view.KeysCheck {
	keys, code := view.NewKeys(audit, within), checkExit(audit, within)
	return view.KeysCheck{OK: code == exitOK, ExitCode: code, Due: keys.Due, Keys: keys.Keys, Findings: view.NewFindings(audit.Findings), ClockSkew: skew}
}

func (t *task) printVerdict(audit keys.Audit, within time.Duration) error {
	if len(audit.Keys) > 0 {
		if err := t.app.printColumns(keyRows(audit, within)); err != nil {
			return err
		}
	}
	if err := t.printFindings(audit.Findings); err != nil {
		return err
	}
	if audit.Due > 0 {
		t.app.say("zonedeck: due: %d of %s", audit.Due, text.Counted(len(audit.Keys), "key"))
	}
	if n := unknownClocks(audit); n > 0 {
		t.app.say("zonedeck: unknown whether due: %d of %s", n, text.Counted(len(audit.Keys), "key"))
	}
	return nil
}

func (t *task) printFindings(findings []keystore.Finding) error {
	for _, f := range findings {
		line := fmt.Sprintf("%s  %s  %s: %s; seen: %s", f.Severity, cmp.Or(f.Key, "-"), f.Rule, f.Text, f.Evidence)
		if f.Fix != "" {
			line += "; fix: " + f.Fix
		}
		if f.Source != "" {
			line += " (" + f.Source + ")"
		}
		if err := t.app.printLine(line); err != nil {
			return err
		}
	}
	return nil
}
