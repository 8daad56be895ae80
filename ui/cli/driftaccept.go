package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore/textfile"
	"zonedeck/service/drift"
	"zonedeck/ui/kit/text"
)

type driftAcceptFlags struct {
	reason               string
	contract, undo, json bool
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
and the command says what is left to do, with the lines of the contract that
would have to change. --contract changes these lines too, and leaves comments and
all other lines as they are. --undo does not change them back.

If the run is like those before it, or was accepted already, nothing changes:
exit 2.`,
		Args: oneArg("the data set, or the target or its address, as 'zonedeck drift list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.undo && (f.reason != "" || f.contract) {
				return usage("--undo takes neither --reason nor --contract")
			}
			return a.withSession(cmd.Context(), driftNeeds(), func(t *task) error {
				return t.accept(cmd.Context(), args[0], f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.reason, "reason", "", "why it is normal")
	fl.BoolVar(&f.contract, "contract", false, "also change the lines of the contract that refuse the newest run")
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
	} else if err := t.acceptNewest(ctx, kind, id, f); err != nil {
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
	t.tellLeft(ctx, s)
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

// acceptNewest accepts what the newest run gives and, with --contract, has the contract ask for no more.
func (t *task) acceptNewest(ctx context.Context, kind drift.Kind, id string, f driftAcceptFlags) error {
	amended, seq := false, int64(0)
	if f.contract {
		var err error
		if amended, seq, err = t.amendContract(ctx, kind, id); err != nil {
			return err
		}
	}
	s, err := t.Client.Drift.Accept(ctx, kind, id, seq, f.reason)
	switch {
	case errors.Is(err, drift.ErrRefused):
		t.app.say("zonedeck: %s", sanitizeLine(err.Error()))
		return nil // tellLeft says what is left
	case amended && (errors.Is(err, drift.ErrNormal) || errors.Is(err, drift.ErrAccepted)):
		return nil // only the contract was in the way
	case err != nil:
		return driftError(err)
	}
	t.app.say("zonedeck: %s of %s is the new normal; 'zonedeck drift accept %s --undo' takes it back", sanitizeLine(s.Run.Ref), sanitizeLine(id), sanitizeLine(id))
	return nil
}

// amendContract has the contract of a collector ask for no more than its newest run, seq, gives.
func (t *task) amendContract(ctx context.Context, kind drift.Kind, id string) (changed bool, seq int64, err error) {
	s, err := t.standing(ctx, kind, id)
	if err != nil {
		return false, 0, err
	}
	seq = s.Run.Seq
	if !s.Verdict.Contract || s.Run.Useful == 0 {
		return false, seq, nil // accepting says what is the matter
	}
	a, err := t.Client.Drift.Amend(ctx, kind, id, seq)
	if err != nil {
		return false, seq, driftError(err)
	}
	if len(a.Lines) == 0 {
		return false, seq, nil
	}
	if err := t.Client.Drift.WriteAmendment(a); err != nil {
		return false, seq, driftError(err)
	}
	t.app.say("zonedeck: the contract %s was changed:", a.File)
	for _, l := range a.Lines {
		t.app.say("  %s", sanitizeLine(l.String()))
	}
	return true, seq, nil
}

// tellLeft says what stays drift though the newest run is accepted, and what to do about it.
func (t *task) tellLeft(ctx context.Context, s drift.Standing) {
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
	a, err := t.Client.Drift.Amend(ctx, kind, id, s.Run.Seq)
	if err != nil || len(a.Lines) == 0 {
		t.app.say("zonedeck: the contract asks for it: change %s", file)
		return
	}
	lines := make([]string, 0, len(a.Lines))
	for _, l := range a.Lines {
		lines = append(lines, sanitizeLine(l.String()))
	}
	t.app.say("zonedeck: the contract %s asks for it. For it to ask for no more than this run gives, change %s:\n  %s\nzonedeck: 'zonedeck drift accept %s --contract' does that",
		file, text.Counted(len(lines), "line"), strings.Join(lines, "\n  "), sanitizeLine(id))
}
