package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// The values of --baseline.
const (
	baselineSave    = "save"
	baselineCompare = "compare"
)

func (t *task) compareLogins(ctx context.Context, f compareFlags, target string) (printed, error) {
	switch {
	case f.Repeat < 1 || f.Repeat > model.MaxLoginCalls:
		return printed{}, usage("--repeat %d: write a number from 1 to %d", f.Repeat, model.MaxLoginCalls)
	case f.Baseline != "" && f.Baseline != baselineSave && f.Baseline != baselineCompare:
		return printed{}, usage("--baseline %q: write save or compare", f.Baseline)
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return printed{}, fail(exitState, "%w", err)
	}
	preset := model.Preset{Kind: model.CompareLogins, Repeat: f.Repeat}
	for _, name := range unique(f.Zones) {
		z, err := t.Zone(p, name)
		if err != nil {
			return printed{}, err
		}
		preset.Zones = append(preset.Zones, z)
	}
	var base *model.Baseline
	if f.Baseline == baselineCompare { // before anything is spent
		kept, err := t.History.LoadBaseline(ctx, p.Name)
		switch {
		case errors.Is(err, database.ErrNotFound):
			return printed{}, usage("profile %s has no baseline: 'zonedeck compare --logins --baseline save' keeps one", p.Name)
		case err != nil:
			return printed{}, fail(exitState, "%w", err)
		}
		base = &kept
	}
	g, err := t.Fetch.Plan(ctx, preset, model.FetchRequest{URL: target})
	if err != nil {
		return printed{}, fetchError(ctx, err)
	}
	g, err = t.comparing(ctx, g, func(_ map[int]model.Cell, runs int) string { return text.Counted(runs, "call") + " made" })
	m := g.Baseline()
	if err != nil { // calls already made are billed: print them, but neither compare nor keep them
		if slices.ContainsFunc(m.Rows, model.LoginRow.Ran) {
			return printedLogins(m, nil, nil).withError(fetchError(ctx, err))
		}
		return printed{}, fetchError(ctx, err)
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
	if f.Baseline == baselineSave {
		if err := t.History.KeepBaseline(ctx, m); err != nil {
			return printed{}, fail(exitState, "the baseline was not kept: %w", err)
		}
		code = exitOK
	}
	out := printedLogins(m, base, changes)
	out.code = code
	return out, nil
}

// printedLogins is a comparison of logins as output, base if it was compared with that.
func printedLogins(m model.Baseline, base *model.Baseline, changes []model.BaselineChange) printed {
	rows := [][]string{{"ZONE", "RESULT", "OK", "CONNECT", "STATUS", "TLS", "MEDIAN", "EXITS", "COUNTRY"}}
	var notCalled [][]string
	for _, r := range m.Rows {
		if !r.Ran() {
			notCalled = append(notCalled, []string{string(r.Zone), "not called: " + r.Problem})
			continue
		}
		rows = append(rows, []string{
			string(r.Zone), r.Word(), fmt.Sprintf("%d of %d", r.OK, r.Made), text.Duration(r.Connect), fmt.Sprint(r.ConnectStatus),
			cmp.Or(string(r.Trust), "-"), text.Duration(r.Median), fmt.Sprintf("%d of %d", r.Unique, r.Known), cmp.Or(strings.Join(r.Countries, " "), "-"),
		})
	}
	rows = append(rows, notCalled...)
	if base != nil {
		rows = append(rows, []string{}, []string{"compared with the baseline of " + base.Started.UTC().Format(time.RFC3339)})
		for _, c := range changes {
			rows = append(rows, []string{string(c.Kind), string(c.Zone), c.Text})
		}
		if len(changes) == 0 {
			rows = append(rows, []string{"nothing differs"})
		}
	}
	return printed{object: view.NewLogins(m, base, changes), rows: rows}
}
