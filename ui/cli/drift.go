package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/drift"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// driftNeeds are what the commands about drift need.
func driftNeeds[F any](F) needs { return needs{jobs: true} }

type driftListFlags struct {
	Silent bool `flag:"silent" help:"list only those without a useful row in their last 3 or more runs"`
	jsonFlag
}

func (a *app) driftListCommand() *cobra.Command {
	return command(a, spec[driftListFlags]{
		use:   "list",
		short: "List the collectors: data sets with results, targets with required fields",
		long: `Lists the collectors of the profile: data sets with downloaded results, and
targets that were fetched with required fields. First come those without a
useful row in their last 3 or more runs, by the class of their failures, then
those with drift, then the others. Nothing is sent.`,
		needs: driftNeeds[driftListFlags],
		run: func(ctx context.Context, t *task, f driftListFlags, _ []string) (printed, error) {
			list, err := t.standings(ctx)
			if err != nil {
				return printed{}, err
			}
			if f.Silent {
				list = slices.DeleteFunc(list, func(s drift.Standing) bool { return !s.Dead() })
			}
			return printedStandings(list), nil
		},
	})
}

// standings lists the collectors. It warns of a contract that cannot be read.
func (t *task) standings(ctx context.Context) ([]drift.Standing, error) {
	list, err := t.Drift.List(ctx)
	var fault *textfile.Error
	switch {
	case errors.As(err, &fault):
		t.app.warn("a contract is left out: %s", err)
	case err != nil:
		return nil, driftError(err)
	}
	return list, nil
}

// driftError gives an error its exit code.
func driftError(err error) error {
	var fault *textfile.Error
	switch {
	case errors.Is(err, drift.ErrUnknown):
		return usage("%w; 'zonedeck drift list' names those with runs", err)
	case errors.As(err, &fault), errors.Is(err, drift.ErrNotAccepted), errors.Is(err, drift.ErrNothing), errors.Is(err, drift.ErrAccepted), errors.Is(err, drift.ErrNormal), errors.Is(err, drift.ErrNewer):
		return usage("%w", err)
	case slices.ContainsFunc(database.Faults(), func(fault error) bool { return errors.Is(err, fault) }):
		return fail(exitState, "%w", err)
	default:
		return err
	}
}

// standsAs gives the state of a collector in a few words.
func standsAs(s drift.Standing) string {
	switch {
	case s.Dead():
		return fmt.Sprintf("no useful row in %d runs", s.Silent)
	case s.Verdict.State == drift.First:
		return "first run"
	case s.Verdict.State == drift.FewRows:
		return "too few rows to tell"
	case s.Verdict.State == drift.Empty:
		return "no useful row"
	default:
		return string(s.Verdict.State)
	}
}

func printedStandings(list []drift.Standing) printed {
	out := printed{object: view.NewStandings(list)}
	if len(list) == 0 {
		out.note = "there is no collector yet: download the result of a job, or fetch with --require"
		return out
	}
	out.rows = [][]string{{"STATE", "COLLECTOR", "KIND", "LAST RUN", "USEFUL", "SAYS"}}
	for _, s := range list {
		says := strings.Join(drift.Names(drift.Alarms(s.Verdict.Findings)), ", ")
		if s.Dead() {
			says = model.ClassWord(s.SilentClass, s.SilentCause)
		}
		out.rows = append(out.rows, []string{standsAs(s), s.Run.Name, string(s.Run.Kind), s.Run.Ref, fmt.Sprintf("%d of %d", s.Run.UsefulRows(), s.Run.Returned), cmp.Or(says, "-")})
	}
	return out
}

// subject finds the collector with a name or an address.
func (t *task) subject(ctx context.Context, name string) (kind drift.Kind, id string, err error) {
	c, err := t.Drift.Named(ctx, name)
	if err != nil {
		return "", "", driftError(err)
	}
	return c.Kind, c.Name, nil
}

func (a *app) driftShowCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "show COLLECTOR",
		short: "Show the fields of a collector: their coverage over its runs, and what has changed",
		needs: driftNeeds[jsonFlag],
		run:   showDrift,
	})
}

func showDrift(ctx context.Context, t *task, f jsonFlag, args []string) (printed, error) {
	kind, id, err := t.subject(ctx, args[0])
	if err != nil {
		return printed{}, err
	}
	d, err := t.showCollector(ctx, kind, id)
	if err != nil {
		return printed{}, err
	}
	if f.JSON {
		return printed{object: view.NewDriftDetail(d)}, nil
	}
	r := d.Run
	t.app.say("zonedeck: %s %s: %s; %s of %s useful in %s of %s", r.Kind, r.Name, standsAs(d.Standing), fmt.Sprint(r.UsefulRows()), text.Counted(r.Returned, "row"), r.Ref, r.At.Local().Format(time.DateTime))
	if a := d.Accepted; a.Seq > 0 {
		t.app.say("zonedeck: %s was accepted as normal by %s on %s: %s", a.Ref, a.Person, a.At.Local().Format(time.DateTime), cmp.Or(a.Reason, "no reason was given"))
	}
	rows := [][]string{{"FIELD", "TYPE", "NOW", "BEFORE", "RUNS", "SAYS"}}
	for _, l := range d.Lines {
		says := "-"
		if !l.Requested {
			says = "not asked for"
		}
		if len(l.Findings) > 0 {
			says = string(l.Findings[0].Word)
		}
		rows = append(rows, []string{l.Field, cmp.Or(l.Type, "-"), drift.Percent(l.Now), drift.Percent(l.Before), drift.Sparkline(l.History, 20), says})
	}
	var lines strings.Builder
	for _, f := range d.Verdict.Findings {
		fmt.Fprintln(&lines, driftLine(f))
	}
	for _, l := range d.Lines {
		if failure := l.Failure(); failure != "" {
			fmt.Fprintf(&lines, "%s: %s\n", sanitizeLine(l.Field), sanitizeLine(failure))
		}
	}
	return printed{rows: rows, text: lines.String()}, nil
}

// showCollector is a collector with its fields. It warns of a contract that cannot be read.
func (t *task) showCollector(ctx context.Context, kind drift.Kind, id string) (drift.Detail, error) {
	d, err := t.Drift.Show(ctx, kind, id, "")
	switch {
	case errors.As(err, new(*textfile.Error)):
		t.app.warn("a contract is left out: %s", err)
	case err != nil:
		return d, driftError(err)
	}
	return d, nil
}

func driftLine(f drift.Finding) string {
	return fmt.Sprintf("%s: %s", f.Word, sanitizeLine(f.Text))
}
