package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// listFlags are the flags of a comparison over a list.
type listFlags struct {
	Input   string      `flag:"input" takes:"file" help:"compare the zones over a sample of the rows of this file; - for standard input"`
	Column  string      `flag:"column" help:"with --input: column that holds the URLs (default: the one that looks like URLs)"`
	Sample  int         `flag:"sample" help:"with --input: rows to fetch through each zone (default: 50, or as many as --need takes)"`
	Need    float64     `flag:"need" help:"with --input: share of useful pages that a zone has to reach; by a sample, that its interval shows at least"`
	MaxCost dollarsFlag `flag:"max-cost" help:"with --input: dollars that the comparison never passes, such as $1; the sample is as large as fits"`
}

// checkList refuses flags that a comparison over a list, or another one, would ignore.
func (f compareFlags) checkList() error {
	other, words := []string{"column", "sample", "need", "max-cost"}, "%s: only with --input"
	if f.Input != "" {
		other, words = []string{"repeat", "as", "markdown", "query"}, "--input takes no %s"
	}
	if ignored := f.Given.ignored(false, other, nil); ignored != "" {
		return usage(words, ignored)
	}
	return nil
}

// listDraft is the draft of the flags. Its error names all their mistakes.
func (f compareFlags) listDraft(target string) (fetch.ListDraft, error) {
	wrong := f.mistakes()
	d := fetch.ListDraft{Draft: f.draft(target), Zones: unique(f.Zones), Sample: f.Sample, Need: f.Need, Cap: f.MaxCost.dollars}
	if !f.Given.has("via") {
		f.Via = []string{string(model.ViaAPI)}
	}
	for _, via := range unique(f.Via) {
		d.Ways = append(d.Ways, model.Via(via))
	}
	if len(d.Ways) == 0 || slices.ContainsFunc(d.Ways, func(v model.Via) bool { return v != model.ViaAPI && v != model.ViaNative }) {
		wrong = append(wrong, errors.New("--via: a list is compared by api and native"))
	}
	if f.Given.has("sample") && (f.Sample < 1 || f.Sample > fetch.MostSample) {
		wrong = append(wrong, fmt.Errorf("--sample %d: write a number from 1 to %d", f.Sample, fetch.MostSample))
	}
	if !(f.Need > 0 && f.Need < 1) {
		wrong = append(wrong, fmt.Errorf("--need %g: write a share above 0 and below 1, such as 0.95", f.Need))
	}
	if f.Given.has("at-once") {
		d.AtOnce = f.AtOnce
	}
	return d, errors.Join(wrong...)
}

// compareList compares zones over a list.
func (t *task) compareList(ctx context.Context, target string, f compareFlags) (printed, error) {
	d, err := f.listDraft(target)
	if err != nil {
		return printed{}, usage("%w", err)
	}
	known, err := t.templateKnown(ctx, f.askFlags, d.Ways...)
	if err != nil {
		return printed{}, err
	}
	in, err := t.app.open(ctx, f.Input)
	if err != nil {
		return printed{}, usage("--input: %w", err)
	}
	defer in.Close()
	d.Input = fetch.NewInput(in, f.Input, "", f.Column)
	read, line := t.countRows()
	g, notes, err := t.Fetch.PlanList(ctx, known, d, read)
	line.stop()
	if err != nil {
		return printed{}, batchError(ctx, err)
	}
	t.sayNotes(notes)
	t.app.say("zonedeck: %s", sanitizeLine(g.PlanWords()))
	g, err = t.comparing(ctx, g, func(_ map[int]model.Cell, runs int) string {
		return fmt.Sprintf("%d of %s", runs, text.Counted(len(g.Cells)*g.Repeat, "fetch"))
	})
	out := printed{object: view.NewCompareList(g), rows: listRows(g), text: failedPages(g) + sanitizeLine(g.Verdict().Text) + "\n"}
	if g.Verdict().Winner < 0 {
		out.code = exitChecksFailed
	}
	if err != nil {
		return out.withError(fetchError(ctx, err))
	}
	return out, nil
}

// failedPages names some of the pages that failed in each cell, a line for each verdict.
func failedPages(g model.Grid) (lines string) {
	for _, c := range g.Cells {
		for _, f := range c.Failures() {
			lines += sanitizeLine(fmt.Sprintf("%s: %d %s, such as %s", c.Place(), f.N, model.ClassWord(f.Class, f.Cause), model.Line(f.Pages[0], 200))) + "\n"
		}
	}
	return lines
}

// listRows shows a comparison over a list as a table with a heading.
func listRows(g model.Grid) [][]string {
	rows := [][]string{{"ZONE", "VIA", "USEFUL", "95 % INTERVAL", "P50", "P95", "COST/FETCH", "COST/USEFUL", "FAILURES"}}
	for _, c := range g.Cells {
		row := []string{c.ZoneWord(), string(c.Via)}
		if len(c.Runs) == 0 {
			rows = append(rows, append(row, "not sent: "+sanitizeLine(c.Problem)))
			continue
		}
		share, low, high := g.Useful(c)
		per1000, priced := c.Cost()
		useful := "none was"
		if dollars, some := c.CostOfUseful(); some || !priced {
			useful = model.UnitCost(dollars, priced)
		}
		interval := fmt.Sprintf("%.1f to %.1f %%", 100*low, 100*high)
		if g.Whole(c) {
			interval = "none: all rows"
		}
		var failures []string
		for _, f := range c.Failures() {
			failures = append(failures, fmt.Sprintf("%d %s", f.N, model.ClassWord(f.Class, f.Cause)))
		}
		if c.Problem != "" {
			failures = append(failures, sanitizeLine(c.Problem))
		}
		rows = append(rows, append(row, fmt.Sprintf("%d of %d, %.1f %%", c.OK(), len(c.Runs), 100*share), interval,
			text.Duration(c.Percentile(0.5)), text.Duration(c.Percentile(0.95)), model.UnitCost(per1000/1000, priced), useful, strings.Join(failures, ", ")))
	}
	return rows
}
