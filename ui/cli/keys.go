package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/kit/widget"
)

func (a *app) keysCommand() *cobra.Command {
	return group("keys", "Show the keys, their two clocks, and what to do", a.keysListCommand(), a.keysCheckCommand(), a.keysRotateCommand())
}

// keyJSON is one key (docs/schema/keys.json). Days are null where unknown.
type keyJSON struct {
	Name         string   `json:"name"`
	Level        string   `json:"level"`
	Duty         string   `json:"duty"`
	Fingerprint  string   `json:"fingerprint"`
	Last4        string   `json:"last4"`
	State        string   `json:"state"`
	Expires      string   `json:"expires"`
	ExpiryState  string   `json:"expiry_state"`
	ExpiryDays   *int     `json:"expiry_days_left"`
	Rotated      string   `json:"rotated"`
	Rotation     string   `json:"rotation_state"`
	RotationDays *int     `json:"rotation_days_left"`
	UsedBy       []string `json:"used_by"`
}

func newKeyJSON(k model.Key, now time.Time, within time.Duration) keyJSON {
	out := keyJSON{
		Name: k.Name, Level: k.Level.String(), Duty: string(k.Duty), Fingerprint: k.Fingerprint, Last4: k.Last4,
		State: k.State(now, within).String(), Expires: k.Expires.String(),
		ExpiryState: k.Expires.State(now, within).String(), Rotated: "unknown",
		Rotation: k.Rotation.State(now, within).String(), UsedBy: append([]string{}, k.UsedBy...),
	}
	if n, ok := k.Expires.DaysLeft(now); ok {
		out.ExpiryDays = &n
	}
	if n, ok := k.Rotation.DaysLeft(now); ok {
		out.RotationDays = &n
		out.Rotated = k.Rotation.Last.UTC().Format(time.DateOnly)
	}
	return out
}

type findingJSON struct {
	Rule     string `json:"rule"`
	Key      string `json:"key"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Fix      string `json:"fix"`
	Source   string `json:"source"`
}

type keysFlags struct {
	within durationFlag
	json   bool
}

func (f *keysFlags) register(cmd *cobra.Command) {
	f.within.d = model.SoonDays * 24 * time.Hour
	cmd.Flags().Var(&f.within, "within", "how long before a clock runs out the key counts as due soon (like 14d or 2w)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
}

func (a *app) keysListCommand() *cobra.Command {
	var f keysFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys with both clocks",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{}, func(t *task) error {
				return t.listKeys(cmd.Context(), f)
			})
		},
	}
	f.register(cmd)
	return cmd
}

func (t *task) listKeys(ctx context.Context, f keysFlags) error {
	keys, now, err := t.allKeys(ctx, f.within.d)
	if err != nil {
		return err
	}
	if f.json {
		out := make([]keyJSON, 0, len(keys))
		for _, k := range keys {
			out = append(out, newKeyJSON(k, now, f.within.d))
		}
		return t.app.printJSON(struct {
			SchemaVersion int       `json:"schema_version"`
			Keys          []keyJSON `json:"keys"`
		}{schemaVersion, out})
	}
	if len(keys) == 0 {
		t.app.say("zonedeck: the inventory holds no keys: add one in the console (tab 4, a)")
		return nil
	}
	return printColumns(t.app.Stdout, keyRows(keys, now, f.within.d))
}

func keyRows(keys []model.Key, now time.Time, within time.Duration) [][]string {
	rows := [][]string{{"STATE", "KEY", "LEVEL", "DUTY", "EXPIRES", "ROTATED", "90-DAY", "LAST4"}}
	for _, k := range keys {
		rows = append(rows, []string{
			k.StateWord(now, within), k.Name, k.Level.String(), cmp.Or(string(k.Duty), "-"),
			widget.ExpiryCell(k, now), widget.RotatedCell(k, now), widget.RotationCell(k, now), cmp.Or(k.Last4, "-"),
		})
	}
	return rows
}

// allKeys returns the keys in use. The emulator is started first if it is needed:
// it knows the demo keys. The worst state comes first.
func (t *task) allKeys(ctx context.Context, within time.Duration) ([]model.Key, time.Time, error) {
	if _, err := t.Profile(ctx); err != nil {
		return nil, time.Time{}, fail(exitState, "%w", err)
	}
	now := t.Now()
	keys := t.Keys()
	model.SortKeys(keys, now, within)
	return keys, now, nil
}

func (a *app) keysCheckCommand() *cobra.Command {
	var f keysFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check expiry, rotation and permissions; the exit code is the verdict",
		Long: `Checks every key. Exit code 41: a key has expired; else 40: a rotation or an
expiry is due (or due within --within); else 42: the permission lint found an
error; else 0. A clock that was never recorded is a lint finding and shown as
unknown; it does not change the exit code.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{}, func(t *task) error {
				return t.checkKeys(cmd.Context(), f)
			})
		},
	}
	f.register(cmd)
	return cmd
}

func (t *task) checkKeys(ctx context.Context, f keysFlags) error {
	keys, now, err := t.allKeys(ctx, f.within.d)
	if err != nil {
		return err
	}
	findings := keystore.Lint(keys, now)
	code := checkExit(keys, findings, now, f.within.d)
	if f.json {
		err = t.printCheck(keys, findings, code, now, f.within.d)
	} else {
		err = t.printFindings(keys, findings, now, f.within.d)
	}
	if err != nil {
		return err
	}
	return exit(code)
}

// checkExit returns the code of the first problem found: expired, due, lint.
func checkExit(keys []model.Key, findings []keystore.Finding, now time.Time, within time.Duration) int {
	expired, due := false, false
	for _, k := range keys {
		expired = expired || k.Expires.State(now, within) == model.ExpiryStateExpired
		rotation := k.Rotation.State(now, within)
		due = due || k.Expires.State(now, within) == model.ExpiryStateSoon ||
			rotation == model.RotationSoon || rotation == model.RotationDue || rotation == model.RotationOverdue
	}
	switch {
	case expired:
		return exitKeyExpired
	case due:
		return exitRotationDue
	}
	for _, f := range findings {
		if f.Severity == keystore.SeverityError {
			return exitLint
		}
	}
	return exitOK
}

func (t *task) printCheck(keys []model.Key, findings []keystore.Finding, code int, now time.Time, within time.Duration) error {
	out := struct {
		SchemaVersion int           `json:"schema_version"`
		OK            bool          `json:"ok"`
		ExitCode      int           `json:"exit_code"`
		Keys          []keyJSON     `json:"keys"`
		Findings      []findingJSON `json:"findings"`
	}{SchemaVersion: schemaVersion, OK: code == exitOK, ExitCode: code, Keys: []keyJSON{}, Findings: []findingJSON{}}
	for _, k := range keys {
		out.Keys = append(out.Keys, newKeyJSON(k, now, within))
	}
	for _, f := range findings {
		out.Findings = append(out.Findings, findingJSON{
			Rule: f.Rule, Key: f.Key, Severity: f.Severity, Text: f.Text, Fix: f.Fix, Source: f.Source,
		})
	}
	return t.app.printJSON(out)
}

func (t *task) printFindings(keys []model.Key, findings []keystore.Finding, now time.Time, within time.Duration) error {
	if len(keys) > 0 {
		if err := printColumns(t.app.Stdout, keyRows(keys, now, within)); err != nil {
			return err
		}
	}
	for _, f := range findings {
		line := fmt.Sprintf("%s  %s  %s: %s", f.Severity, cmp.Or(f.Key, "-"), f.Rule, f.Text)
		if f.Fix != "" {
			line += "; " + f.Fix
		}
		if f.Source != "" {
			line += " (" + f.Source + ")"
		}
		if _, err := fmt.Fprintln(t.app.Stdout, sanitizeLine(line)); err != nil {
			return fail(exitState, "write the findings: %w", err)
		}
	}
	return nil
}
