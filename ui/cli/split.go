package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zonedeck/service/view"

	"github.com/spf13/cobra"

	"zonedeck/model"
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
	result, err := t.sendSplit(ctx, req, f, line)
	line.stop()
	if err != nil { // the fetches that were made are billed: they are printed
		if result.Subject.ID != "" {
			err = errors.Join(err, t.reportSplit(result, f.json))
		}
		return fetchError(ctx, err)
	}
	culprit, sentence := result.Verdict()
	code := exitOK
	switch {
	case result.Probes == nil:
		code, sentence = fetchExit(result.Subject), verdict(result.Subject)+"; it was not refused, so there is nothing to tell apart"
	case culprit == model.CulpritUnknown:
		code = exitChecksFailed
	}
	if err := t.reportSplit(result, f.json); err != nil {
		return err
	}
	if !f.json {
		t.app.verdict(code, sanitizeLine(sentence))
	}
	return exit(code)
}

func (t *task) reportSplit(s model.Split, asJSON bool) error {
	if asJSON {
		return t.app.printJSON(view.NewSplit(s, t.CurrentProfile().Name))
	}
	return printColumns(t.app.Stdout, splitRows(s))
}

// sendSplit fetches the page and, if it was refused, sends the probes.
func (t *task) sendSplit(ctx context.Context, req model.FetchRequest, f splitFlags, line *waitLine) (model.Split, error) {
	subject, err := t.Client.Fetch(ctx, req, nil)
	if err != nil || subject.Diagnosis.Class != model.ClassAccessRestricted {
		return model.Split{Subject: subject}, err
	}
	plan, err := t.Client.PlanSplit(ctx, subject, model.SplitChoice{Keys: t.Keys(), Zone: f.otherZone, Key: f.otherKey, GoodPage: f.goodPage})
	if err != nil {
		return model.Split{Subject: subject, Probes: []model.SplitProbe{}}, err
	}
	line.above(func() { t.sayPlan(plan) })
	return t.Client.Split(ctx, plan, nil)
}

// sayPlan says what may be sent, and what it costs.
func (t *task) sayPlan(s model.Split) {
	t.app.say("zonedeck: refused: %s", sanitizeLine(s.Subject.Diagnosis.Summary))
	for _, p := range s.Probes {
		if p.Problem == "" {
			t.app.say("  compare   %s: %s (%s)", p.Kind.Label(), sanitizeLine(p.Different()), splitPrice(s, p))
		}
	}
}

func splitPrice(s model.Split, p model.SplitProbe) string {
	return model.CostWords(s.Cost(p))
}

// splitRows is a split as a table, the first row its heading.
func splitRows(s model.Split) [][]string {
	rows := [][]string{{"FETCH", "DIFFERENT", "CLASS", "STATUS", "COST", "EVIDENCE"}}
	add := func(what, different, cost string, r model.FetchResult) {
		status := "-"
		if r.Status != 0 {
			status = fmt.Sprint(r.Status)
		}
		rows = append(rows, []string{what, different, model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause), status, cost, r.Diagnosis.Summary})
	}
	subject := "the page"
	if s.Probes != nil {
		subject = "refused"
	}
	add(subject, "-", "-", s.Subject)
	for _, p := range s.Probes {
		if p.Result == nil {
			state := "not sent"
			if p.Problem == "" {
				state = "no result"
			}
			rows = append(rows, []string{p.Kind.Label(), p.Different(), state, "-", "-", p.Problem})
			continue
		}
		add(p.Kind.Label(), p.Different(), splitPrice(s, p), *p.Result)
	}
	return rows
}
