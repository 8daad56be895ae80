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

type splitFlags struct {
	requestFlags
	otherZone, otherKey, goodPage string
}

func (a *app) splitCommand() *cobra.Command {
	var f splitFlags
	cmd := &cobra.Command{
		Use:   "split URL",
		Short: "Find out what refuses a page with 403: the key, the zone or the site",
		Long: `Fetches one page as request does, in one attempt. If it is refused (403, or a
page that says so), at most three more fetches follow, one after the other. Each
differs in one thing: a page known to be good, another zone, another key. A
fetch that can no longer change the answer is not sent, and what they cost is
said before. {{name}} is a variable: its value comes from --var, the profile or
the environment.

Exit codes: 0 if the answer is found or the page came; 1 if the page was refused
and the fetches do not tell by what; otherwise the class of the first fetch, as
for request.`,
		Args: oneArg("the URL to fetch"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{key: f.key, journal: true, rules: true, reason: f.adminReason}, func(t *task) error {
				return t.split(cmd.Context(), args[0], f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.zone, "zone", "", "zone to use (required)")
	fl.StringVar(&f.via, "via", "api", "access method: api or native")
	f.add(cmd, 0)
	fl.StringVar(&f.otherZone, "other-zone", "", "zone to compare with (default: one of another product)")
	fl.StringVar(&f.otherKey, "other-key", "", "key to compare with (default: one whose level allows fetches; an ADMIN key only if you name it here)")
	fl.StringVar(&f.goodPage, "good-page", "", "page known to be good (default: the test page that the profile's dialect knows)")
	return cmd
}

// split runs the command.
func (t *task) split(ctx context.Context, target string, f splitFlags) error {
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
		return usage("--via %s: a zone and a site can be told apart by api and by native", req.Via)
	}
	line := t.app.wait(func(waited time.Duration) string {
		return fmt.Sprintf("zonedeck: %.1f s  (ctrl+c cancels)", waited.Seconds())
	})
	result, subject, err := t.sendSplit(ctx, req, f, line)
	line.stop()
	if err != nil { // the fetches that were made are billed: they are printed
		if len(result.Cells) > 0 {
			err = errors.Join(err, t.reportSplit(result, f.json))
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
	if err := t.reportSplit(result, f.json); err != nil {
		return err
	}
	if !f.json {
		t.app.verdict(code, sanitizeLine(v.Text))
	}
	return exit(code)
}

func (t *task) reportSplit(g model.Grid, asJSON bool) error {
	if asJSON {
		return t.app.printJSON(view.NewSplit(g, t.CurrentProfile().Name))
	}
	return printColumns(t.app.Stdout, splitRows(g))
}

// sendSplit fetches the page and, if it was refused, looks into that.
func (t *task) sendSplit(ctx context.Context, req model.FetchRequest, f splitFlags, line *waitLine) (model.Grid, model.FetchResult, error) {
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

// sayPlan says what may be sent, and what it costs.
func (t *task) sayPlan(g model.Grid, refused model.Diagnosis) {
	t.app.say("zonedeck: refused: %s", sanitizeLine(refused.Summary))
	for _, c := range g.Cells[1:] {
		if c.Problem == "" {
			t.app.say("  compare   %s: %s (%s)", c.Label.Words(), sanitizeLine(c.Different()), model.CostWords(g.Price(c)))
		}
	}
}

// splitRows is a split as a table, the first row its heading.
func splitRows(g model.Grid) [][]string {
	rows := [][]string{{"FETCH", "DIFFERENT", "CLASS", "STATUS", "COST", "EVIDENCE"}}
	for _, c := range g.Cells {
		what, different, cost := c.Label.Words(), c.Different(), model.CostWords(g.Price(c))
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
