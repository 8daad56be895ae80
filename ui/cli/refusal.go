package cli

import (
	"context"
	"fmt"
	"time"

	"zonedeck/model"
	"zonedeck/service/view"
)

// refusal finds out what refuses a page.
func (t *task) refusal(ctx context.Context, target string, f diagnoseFlags) (printed, error) {
	r := composedFlags{askFlags: f.askFlags, Zone: f.Zone, Via: f.Via}
	req, err := t.fetchRequest(ctx, target, r)
	if err != nil {
		return printed{}, err
	}
	if f.GoodPage != "" {
		if _, err := model.ParseTarget(f.GoodPage); err != nil {
			return printed{}, usage("--good-page %q: %w", f.GoodPage, err)
		}
	}
	if req.Via != model.ViaAPI && req.Via != model.ViaNative {
		return printed{}, usage("--via %s: only api and native can tell a zone from a site", req.Via)
	}
	line := t.app.wait(func(waited time.Duration) string {
		return fmt.Sprintf("zonedeck: %.1f s  (ctrl+c cancels)", waited.Seconds())
	})
	result, subject, err := t.findRefusal(ctx, req, f, line)
	line.stop()
	if len(result.Cells) == 0 { // nothing was fetched
		return printed{}, fetchError(ctx, err)
	}
	out := printed{object: view.NewRefusal(result, t.CurrentProfile().Name), rows: refusalRows(result)}
	v := result.Verdict()
	switch {
	case err != nil: // fetches already made are billed: print them
		return out.withError(fetchError(ctx, err))
	case !result.Refused():
		out.code, v.Text = fetchExit(subject), verdict(subject)+"; it was not refused, so there is nothing to tell apart"
	case v.Culprit == model.CulpritUnknown:
		out.code = exitChecksFailed
	}
	if !f.JSON {
		out.verdict = v.Text
	}
	return out, nil
}

// findRefusal fetches the page and, if it was refused, makes the fetches that find out why.
func (t *task) findRefusal(ctx context.Context, req model.FetchRequest, f diagnoseFlags, line *waitLine) (model.Grid, model.FetchResult, error) {
	subject, err := t.Fetch.Fetch(ctx, req, nil)
	if err != nil {
		return model.Grid{}, subject, err
	}
	preset := model.Preset{Kind: model.CompareRefusal, Subject: subject, Keys: t.Keys.Inventory().All(), OtherZone: f.OtherZone, OtherKey: f.OtherKey, GoodPage: f.GoodPage}
	alone := model.NewRefusal(preset)
	alone.Cells = alone.Cells[:1]
	if !alone.Refused() {
		return alone, subject, nil
	}
	plan, err := t.Fetch.Plan(ctx, preset, req)
	if err != nil {
		return alone, subject, err
	}
	line.above(func() { t.sayPlan(plan, subject.Diagnosis) })
	plan, err = t.Fetch.Compare(ctx, plan, nil)
	return plan, subject, err
}

// sayPlan says which fetches may follow, and what they cost.
func (t *task) sayPlan(g model.Grid, refused model.Diagnosis) {
	t.app.say("zonedeck: refused: %s", refused.Summary)
	for _, c := range g.Cells[1:] {
		if c.Problem == "" {
			t.app.say("  compare   %s: %s (%s)", c.Label.Text(), c.Different(), model.CostWords(g.Price(c)))
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
