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

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// loginsFlags are the flags of a comparison of logins.
type loginsFlags struct {
	zones            []string
	target, baseline string
	calls            int
	json             bool
}

func (f *loginsFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.calls, "calls", 3, "calls to each zone, one after the other")
	cmd.Flags().StringVar(&f.baseline, "baseline", "", "save: keep the result as the baseline; compare: compare it with the baseline")
}

// The values of --baseline.
const (
	baselineSave    = "save"
	baselineCompare = "compare"
)

func (a *app) proxyMatrixCommand() *cobra.Command {
	var f loginsFlags
	cmd := &cobra.Command{
		Use: "matrix", Hidden: true,
		Short: "Test the proxy logins of several zones and compare them with a baseline",
		Long: `Tests the login of every zone of the profile, or of those of --zones, all at
once: connection, CONNECT, certificate, class, country and rotation of the
exits, time. Each call is billed.

--baseline save keeps the result as the profile's baseline. --baseline compare
says what is new, better or worse than the baseline.

Exit code 1: with compare, a zone is worse; without --baseline, a zone is not
ok.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.compareLogins(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.zones, "zones", nil, "zones to test, separated by commas (default: every zone of the profile)")
	fl.StringVar(&f.target, "target", "", "page to fetch through the proxy (default: the dialect's page that tells the country)")
	f.add(cmd)
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (a *app) compareLogins(ctx context.Context, f loginsFlags) error {
	return a.withSession(ctx, needs{journal: true, rules: true}, func(t *task) error { return t.compareLogins(ctx, f) })
}

func (t *task) compareLogins(ctx context.Context, f loginsFlags) error {
	switch {
	case f.calls < 1 || f.calls > model.MaxLoginCalls:
		return usage("--calls %d: write a number from 1 to %d", f.calls, model.MaxLoginCalls)
	case f.baseline != "" && f.baseline != baselineSave && f.baseline != baselineCompare:
		return usage("--baseline %q: write save or compare", f.baseline)
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	preset := model.Preset{Kind: model.CompareLogins, Repeat: f.calls}
	for _, name := range unique(f.zones) {
		z, err := t.Zone(p, name)
		if err != nil {
			return err
		}
		preset.Zones = append(preset.Zones, z)
	}
	var base *model.Baseline
	if f.baseline == baselineCompare { // before anything is spent
		kept, err := t.History.LoadBaseline(ctx, p.Name)
		switch {
		case errors.Is(err, database.ErrNotFound):
			return usage("profile %s has no baseline: 'zonedeck compare --logins --baseline save' keeps one", p.Name)
		case err != nil:
			return fail(exitState, "%w", err)
		}
		base = &kept
	}
	g, err := t.callLogins(ctx, preset, f.target)
	m := g.Baseline()
	if err != nil { // calls already made are billed: print them, but neither compare nor keep them
		if slices.ContainsFunc(m.Rows, model.LoginRow.Ran) {
			err = errors.Join(err, t.reportLogins(m, nil, nil, f.json))
		}
		return fetchError(ctx, err)
	}
	var changes []model.BaselineChange
	code := exitOK
	switch {
	case base != nil:
		if changes = model.CompareBaseline(*base, m); model.Worse(changes) {
			code = exitChecksFailed
		}
	case g.Verdict().Class != model.ClassOK:
		code = exitChecksFailed
	}
	if f.baseline == baselineSave {
		if err := t.History.KeepBaseline(ctx, m); err != nil {
			return fail(exitState, "the baseline was not kept: %w", err)
		}
		code = exitOK
	}
	if err := t.reportLogins(m, base, changes, f.json); err != nil {
		return err
	}
	return exit(code)
}

func (t *task) reportLogins(m model.Baseline, base *model.Baseline, changes []model.BaselineChange, asJSON bool) error {
	if asJSON {
		return t.app.printJSON(view.NewLogins(m, base, changes))
	}
	return t.printLogins(m, base, changes)
}

func (t *task) callLogins(ctx context.Context, p model.Preset, target string) (model.Grid, error) {
	g, err := t.Client.Plan(ctx, p, model.FetchRequest{URL: target})
	if err != nil {
		return g, err
	}
	var calls progress
	line := t.app.wait(func(waited time.Duration) string {
		return fmt.Sprintf("zonedeck: %.1f s  %s made  (ctrl+c cancels)", waited.Seconds(), text.Counted(calls.made(), "call"))
	})
	defer line.stop()
	return t.Client.Compare(ctx, g, calls.changed)
}

func (t *task) printLogins(m model.Baseline, base *model.Baseline, changes []model.BaselineChange) error {
	rows := [][]string{{"ZONE", "RESULT", "OK", "CONNECT", "STATUS", "TLS", "MEDIAN", "EXITS", "COUNTRY"}}
	var notCalled [][]string
	for _, r := range m.Rows {
		if !r.Ran() {
			notCalled = append(notCalled, []string{string(r.Zone), "not called: " + r.Problem})
			continue
		}
		rows = append(rows, []string{
			string(r.Zone), r.Word(), fmt.Sprintf("%d of %d", r.OK, r.Made), tookText(r.Connect), fmt.Sprint(r.ConnectStatus),
			cmp.Or(string(r.Trust), "-"), tookText(r.Median), fmt.Sprintf("%d of %d", r.Unique, r.Known), cmp.Or(strings.Join(r.Countries, " "), "-"),
		})
	}
	for _, table := range [][][]string{rows, notCalled} {
		if err := printColumns(t.app.Stdout, table); err != nil {
			return err
		}
	}
	if base == nil {
		return nil
	}
	lines := [][]string{{}, {"compared with the baseline of " + base.Started.UTC().Format(time.RFC3339)}}
	for _, c := range changes {
		lines = append(lines, []string{string(c.Kind), string(c.Zone), c.Text})
	}
	if len(changes) == 0 {
		lines = append(lines, []string{"nothing differs"})
	}
	return printColumns(t.app.Stdout, lines)
}

func tookText(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return text.Duration(d)
}
