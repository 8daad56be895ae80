package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/view"
)

type batchProbeFlags struct {
	askFlags
	Zone    string      `flag:"zone" takes:"zone" help:"zone to use (required)"`
	Via     string      `flag:"via" takes:"api|native" default:"api" help:"access method: api or native"`
	MaxCost dollarsFlag `flag:"max-cost" help:"dollars that the probe never passes, such as $0.5 (default: 200 fetches or $0.25)"`
	Body    int         `flag:"max-body" default:"10" help:"megabytes after which a body is cut"`
	Yes     bool        `flag:"yes" help:"begin without asking"`
}

func (b batchCommands) probe() *cobra.Command {
	return command(b.app, spec[batchProbeFlags]{
		use:   "probe URL",
		short: "Find out how many fetches of a page may be in flight at once",
		long: `Fetches a page again and again, 1, 2, 4, 8, … at once, until that is too many or
the product's limit is reached, and then finds the number between. Too many is
what was refused twice, or once by the service itself, or where much more times
out or meets a CAPTCHA than at lower numbers.

It says first what it may cost, and asks. It stops at its cap, and after five
answers of 429 by the service itself. What it finds is kept: batches of the zone
to that host begin there; not if the cap ended it before anything was too many.
Exit code 1 says that no number is safe.`,
		run: func(ctx context.Context, t *task, f batchProbeFlags, args []string) (printed, error) {
			return t.batchProbe(ctx, args[0], f)
		},
	})
}

func (t *task) batchProbe(ctx context.Context, target string, f batchProbeFlags) (printed, error) {
	d, err := batchFlags{askFlags: f.askFlags, Zone: f.Zone, Via: f.Via, MaxCost: f.MaxCost, Body: f.Body}.draftOf("")
	if err != nil {
		return printed{}, err
	}
	d.Request.URL = target
	known, err := t.templateKnown(ctx, f.askFlags, d.Request.Via)
	if err != nil {
		return printed{}, err
	}
	plan, err := batch.PlanProbe(known, d.Draft, d.Cap)
	if err != nil {
		return printed{}, batchError(ctx, err)
	}
	cost := "what it costs is not known: the zone has no rate"
	if plan.Cost > 0 {
		cost = "at most " + model.SmallDollars(plan.Cost)
	}
	question := fmt.Sprintf("Fetch %s up to %d times through zone %s, %s?", sanitizeLine(plan.Request.Summary()), plan.Fetches, plan.Request.Zone.Name, cost)
	if ok, err := t.app.confirmed(f.Yes, question); err != nil || !ok {
		return printed{done: "nothing was sent"}, err
	}
	if f.Yes {
		t.app.say("zonedeck: up to %s, %s", model.Counted(plan.Fetches, "fetch"), cost)
	}
	found, err := t.Batches.Probe(ctx, plan, func(l batch.ProbedLevel) {
		t.app.say("zonedeck: %d at once: %d answered, %d refused, %d timeouts or CAPTCHAs, %.1f/s", l.AtOnce, l.Good, l.Refused, l.Fruitless, l.PerSecond())
	})
	out := printed{object: view.NewBatchProbe(found), rows: batchProbeRows(found)}
	if found.Safe == 0 {
		out.code = exitChecksFailed
	}
	if err != nil {
		return out.withError(batchError(ctx, err))
	}
	return out, nil
}

// batchProbeRows shows what a probe found, as rows of a name and a value.
func batchProbeRows(p batch.Probed) [][]string {
	rows := [][]string{{"result", sanitizeLine(p.Words())}}
	if p.Stopped != "" {
		rows = append(rows, []string{"stopped", p.Stopped})
	}
	for _, l := range p.Levels {
		rows = append(rows, []string{fmt.Sprintf("%d at once", l.AtOnce), fmt.Sprintf("%d answered, %d refused, %d timeouts or CAPTCHAs, %d failed otherwise, %.1f/s", l.Good, l.Refused, l.Fruitless, l.Failed, l.PerSecond())})
	}
	return append(rows, []string{"cost", fmt.Sprintf("%s, %s", model.Counted(p.Sent, "fetch"), model.CostWords(p.Cost, p.Priced))})
}
