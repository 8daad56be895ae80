package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/view"
)

// refusalFlags say what to fetch, and what to compare it with if it is refused.
type refusalFlags struct {
	requestFlags
	otherZone, otherKey, goodPage string
}

func (f *refusalFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.zone, "zone", "", "zone to fetch URL through")
	f.requestFlags.add(cmd, 0)
	fl.StringVar(&f.otherZone, "other-zone", "", "zone to compare with (default: one of another product)")
	fl.StringVar(&f.otherKey, "other-key", "", "key to compare with (default: one whose level allows fetches; an ADMIN key only if you name it here)")
	fl.StringVar(&f.goodPage, "good-page", "", "page known to be good (default: the test page that the profile's dialect knows)")
}

// refusal finds out what refuses a page.
func (t *task) refusal(ctx context.Context, target string, f refusalFlags) error {
	if err := t.fillInRequest(&f.requestFlags, &target); err != nil {
		return err
	}
	req, err := t.fetchRequest(ctx, target, f.requestFlags)
	if err != nil {
		return err
	}
	if f.goodPage != "" {
		if _, err := model.ParseTarget(f.goodPage); err != nil {
			return usage("--good-page %q: %w", f.goodPage, err)
		}
	}
	if req.Via != model.ViaAPI && req.Via != model.ViaNative {
		return usage("--via %s: only api and native can tell a zone from a site", req.Via)
	}
	line := t.app.wait(func(waited time.Duration) string {
		return fmt.Sprintf("zonedeck: %.1f s  (ctrl+c cancels)", waited.Seconds())
	})
	result, subject, err := t.findRefusal(ctx, req, f, line)
	line.stop()
	if err != nil { // fetches already made are billed: print them
		if len(result.Cells) > 0 {
			err = errors.Join(err, t.reportRefusal(result, f.json))
		}
		return fetchError(ctx, err)
	}
	v := result.Verdict()
	code := exitOK
	switch {
	case !result.Refused():
		code, v.Text = fetchExit(subject), verdict(subject)+"; it was not refused, so there is nothing to tell apart"
	case v.Culprit == model.CulpritUnknown:
		code = exitChecksFailed
	}
	if err := t.reportRefusal(result, f.json); err != nil {
		return err
	}
	if !f.json {
		t.app.verdict(code, sanitizeLine(v.Text))
	}
	return exit(code)
}

func (t *task) reportRefusal(g model.Grid, asJSON bool) error {
	if asJSON {
		return t.app.printJSON(view.NewRefusal(g, t.CurrentProfile().Name))
	}
	return printColumns(t.app.Stdout, refusalRows(g))
}

// findRefusal fetches the page and, if it was refused, makes the fetches that find out why.
func (t *task) findRefusal(ctx context.Context, req model.FetchRequest, f refusalFlags, line *waitLine) (model.Grid, model.FetchResult, error) {
	subject, err := t.Client.Fetch(ctx, req, nil)
	if err != nil {
		return model.Grid{}, subject, err
	}
	preset := model.Preset{Kind: model.CompareRefusal, Subject: subject, Keys: t.Keys.Inventory().All(), OtherZone: f.otherZone, OtherKey: f.otherKey, GoodPage: f.goodPage}
	alone := model.NewRefusal(preset)
	alone.Cells = alone.Cells[:1]
	if !alone.Refused() {
		return alone, subject, nil
	}
	plan, err := t.Client.Plan(ctx, preset, req)
	if err != nil {
		return alone, subject, err
	}
	line.above(func() { t.sayPlan(plan, subject.Diagnosis) })
	plan, err = t.Client.Compare(ctx, plan, nil)
	return plan, subject, err
}

// sayPlan says which fetches may follow, and what they cost.
func (t *task) sayPlan(g model.Grid, refused model.Diagnosis) {
	t.app.say("zonedeck: refused: %s", sanitizeLine(refused.Summary))
	for _, c := range g.Cells[1:] {
		if c.Problem == "" {
			t.app.say("  compare   %s: %s (%s)", c.Label.Text(), sanitizeLine(c.Different()), model.CostWords(g.Price(c)))
		}
	}
}

// refusalRows shows a refusal as a table with a heading.
func refusalRows(g model.Grid) [][]string {
	rows := [][]string{{"FETCH", "DIFFERENT", "CLASS", "STATUS", "COST", "EVIDENCE"}}
	for _, c := range g.Cells {
		what, different, cost := c.Label.Text(), c.Different(), model.CostWords(g.Price(c))
		if c.Label == model.LabelRefused {
			different, cost = "-", "-"
			if !g.Refused() {
				what = "the page"
			}
		}
		if len(c.Runs) == 0 {
			state := "not sent"
			if c.Problem == "" {
				state = "no result"
			}
			rows = append(rows, []string{what, different, state, "-", "-", c.Problem})
			continue
		}
		r, status := c.Runs[0], "-"
		if r.Status != 0 {
			status = fmt.Sprint(r.Status)
		}
		rows = append(rows, []string{what, different, model.ClassWord(r.Class, r.Cause), status, cost, r.Summary})
	}
	return rows
}
