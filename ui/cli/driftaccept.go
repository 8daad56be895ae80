package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/service/drift"
	"zonedeck/service/view"
)

type driftAcceptFlags struct {
	Reason string `flag:"reason" help:"why it is normal"`
	Undo   bool   `flag:"undo" help:"take the newest acceptance back"`
	JSON   bool   `flag:"json" help:"print one JSON object: the collector as it stands afterwards"`
}

func (a *app) driftAcceptCommand() *cobra.Command {
	return command(a, spec[driftAcceptFlags]{
		use:   "accept COLLECTOR",
		short: "Accept the newest run of a collector as the new normal, or undo that",
		long: `From now on, runs are compared with the newest run of the collector and those
after it. Who accepted it, when and why is recorded. --undo takes the newest
acceptance back, and runs since then are judged as if it had not been made.

This does not change what the contract of the collector asks for, or what a
fetch requires. If the newest run does not give that, it stays drift (exit 14),
and the command says what is left to do.

If the run is like those before it, or was accepted already, nothing changes:
exit 2.`,
		check: func(f *driftAcceptFlags, _ []string) error {
			if f.Undo && f.Reason != "" {
				return usage("--undo takes no --reason")
			}
			return nil
		},
		needs: driftNeeds[driftAcceptFlags],
		run:   acceptDrift,
	})
}

func acceptDrift(ctx context.Context, t *task, f driftAcceptFlags, args []string) (printed, error) {
	kind, id, err := t.subject(ctx, args[0])
	if err != nil {
		return printed{}, err
	}
	if f.Undo {
		if err := t.Drift.TakeBack(ctx, kind, id); err != nil {
			return printed{}, driftError(err) // it names the collector
		}
		t.app.say("zonedeck: the newest acceptance of %s was taken back", id)
	} else if err := t.acceptNewest(ctx, kind, id, f.Reason); err != nil {
		return printed{}, err
	}
	d, err := t.showCollector(ctx, kind, id)
	if err != nil {
		return printed{}, err
	}
	s := d.Standing
	out := printed{object: view.NewStandings([]drift.Standing{s})}
	if !f.Undo && len(s.Remaining) > 0 {
		t.tellLeft(s)
		out.code = exitParsingDrift
	}
	return out, nil
}

// acceptNewest accepts the newest run as normal.
func (t *task) acceptNewest(ctx context.Context, kind drift.Kind, id, reason string) error {
	s, err := t.Drift.Accept(ctx, kind, id, 0, reason)
	switch {
	case errors.Is(err, drift.ErrRefused):
		t.app.say("zonedeck: %s", err)
		return nil // tellLeft says what is left to do
	case err != nil:
		return driftError(err)
	}
	t.app.say("zonedeck: %s of %s is the new normal; 'zonedeck drift accept %s --undo' takes it back", s.Run.Ref, id, id)
	return nil
}

// tellLeft says what stays drift after the acceptance, and what to do about it.
func (t *task) tellLeft(s drift.Standing) {
	kind, id := s.Run.Kind, s.Run.Name
	t.app.warn("%s stays drift, and 'zonedeck drift check' exits 14: %s", s.Run.Ref, strings.Join(drift.Names(s.Remaining), ", "))
	contract, fetch := false, false
	for _, f := range s.Remaining {
		contract, fetch = contract || f.Contract, fetch || !f.Contract
		t.app.say("  %s", driftLine(f))
	}
	if fetch {
		t.app.say("zonedeck: the fetch did not find what it requires: use a selector that matches in the next one, or leave that --require out, and accept that run")
	}
	if !contract {
		return
	}
	file, _ := t.Drift.ContractFile(kind, id) // it was found just before
	t.app.say("zonedeck: the contract asks for it: change %s", file)
}
