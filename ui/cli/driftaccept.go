package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore/textfile"
	"zonedeck/service/drift"
)

type driftAcceptFlags struct {
	reason     string
	undo, json bool
}

func (a *app) driftAcceptCommand() *cobra.Command {
	var f driftAcceptFlags
	cmd := &cobra.Command{
		Use:   "accept NAME",
		Short: "Accept the newest run of a collector as the new normal, or undo that",
		Long: `From now on, runs are compared with the newest run of the collector and those
after it. Who accepted it, when and why is recorded. --undo takes the newest
acceptance back, and runs since then are judged as if it had not been made.

This does not change what the contract of the collector asks for, or what a
fetch requires. If the newest run does not give that, it stays drift (exit 14),
and the command says what is left to do.

If the run is like those before it, or was accepted already, nothing changes:
exit 2.`,
		Args: oneArg("the data set, or the target or its address, as 'zonedeck drift list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.undo && f.reason != "" {
				return usage("--undo takes no --reason")
			}
			return a.withSession(cmd.Context(), driftNeeds(), func(t *task) error {
				return t.accept(cmd.Context(), args[0], f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.reason, "reason", "", "why it is normal")
	fl.BoolVar(&f.undo, "undo", false, "take the newest acceptance back")
	fl.BoolVar(&f.json, "json", false, "print one JSON object: the collector as it stands afterwards")
	return cmd
}

func (t *task) accept(ctx context.Context, name string, f driftAcceptFlags) error {
	kind, id, err := t.collector(ctx, name)
	if err != nil {
		return err
	}
	if f.undo {
		if err := t.Client.Drift.TakeBack(ctx, kind, id); err != nil {
			return driftError(err) // it names the collector
		}
		t.app.say("zonedeck: the newest acceptance of %s was taken back", sanitizeLine(id))
	} else if err := t.acceptNewest(ctx, kind, id, f.reason); err != nil {
		return err
	}
	s, err := t.standing(ctx, kind, id)
	if err != nil {
		return err
	}
	if f.json {
		if err := t.printStandings([]drift.Standing{s}, true); err != nil {
			return err
		}
	}
	if f.undo || len(s.Left) == 0 {
		return nil
	}
	t.tellLeft(s)
	return exit(exitParsingDrift)
}

// standing is how a collector stands. It warns of a contract that cannot be read.
func (t *task) standing(ctx context.Context, kind drift.Kind, id string) (drift.Standing, error) {
	d, err := t.Client.Drift.Show(ctx, kind, id)
	var fault *textfile.Error
	switch {
	case errors.As(err, &fault):
		t.app.warn("the contract is left out: %s", oneLine(fault))
	case err != nil:
		return drift.Standing{}, driftError(err)
	}
	return d.Standing, nil
}

// acceptNewest accepts what the newest run gives.
func (t *task) acceptNewest(ctx context.Context, kind drift.Kind, id, reason string) error {
	s, err := t.Client.Drift.Accept(ctx, kind, id, 0, reason)
	switch {
	case errors.Is(err, drift.ErrRefused):
		t.app.say("zonedeck: %s", sanitizeLine(err.Error()))
		return nil // tellLeft says what is left
	case err != nil:
		return driftError(err)
	}
	t.app.say("zonedeck: %s of %s is the new normal; 'zonedeck drift accept %s --undo' takes it back", sanitizeLine(s.Run.Ref), sanitizeLine(id), sanitizeLine(id))
	return nil
}

// tellLeft says what stays drift though the newest run is accepted, and what to do about it.
func (t *task) tellLeft(s drift.Standing) {
	kind, id := s.Run.Kind, s.Run.Name
	t.app.warn("%s stays drift, and 'zonedeck drift check' exits 14: %s", sanitizeLine(s.Run.Ref), sanitizeLine(strings.Join(drift.Names(s.Left), ", ")))
	contract, fetch := false, false
	for _, f := range s.Left {
		contract, fetch = contract || f.Contract, fetch || !f.Contract
		t.app.say("  %s", driftLine(f))
	}
	if fetch {
		t.app.say("zonedeck: the fetch did not find what it requires: use a selector that matches in the next one, or leave that --require out, and accept that run")
	}
	if !contract {
		return
	}
	file, _ := t.Client.Drift.ContractFile(kind, id) // it was found a moment ago
	t.app.say("zonedeck: the contract asks for it: change %s", file)
}
