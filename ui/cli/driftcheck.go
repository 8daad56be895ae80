package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore/textfile"
	"zonedeck/service/drift"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

type driftCheckFlags struct {
	Input    string       `flag:"input" takes:"file" help:"file with the result of a job, JSON, NDJSON or CSV; - for standard input"`
	From     string       `flag:"from" takes:"json|ndjson|csv" help:"json, ndjson or csv (default: by the file's ending or content)"`
	Contract string       `flag:"contract" takes:"file" help:"with --input: file of the contract to check it against; - for standard input (default: the collector's)"`
	MaxAge   durationFlag `flag:"max-age" help:"fail if the newest run of a collector is older than this, for example 36h or 2d"`
	Given    givenFlags   `flag:"*"`
	jsonFlag
}

// check refuses flags that do not go together.
func (f driftCheckFlags) check(args []string) error {
	switch {
	case f.Input != "" && f.Given.has("max-age"):
		return usage("--max-age is about stored runs: leave it out with --input")
	case f.Given.has("max-age") && f.MaxAge.d == 0:
		return usage("--max-age 0: every run is older; give a time such as 36h or 2d")
	case f.Input == "" && (f.Contract != "" || f.From != ""):
		return usage("--contract and --from need --input")
	case f.From != "" && !slices.Contains([]string{"json", "ndjson", "jsonl", "csv"}, f.From):
		return usage("--from %q: give json, ndjson or csv", f.From)
	case f.Input != "" && len(args) > 1:
		return usage("--input checks the result of one collector; unexpected %q", args[1])
	case f.Input != "" && len(args) == 0 && f.Contract == "":
		return usage("--input needs COLLECTOR, its data set, or --contract")
	}
	return nil
}

func (a *app) driftCheckCommand() *cobra.Command {
	return command(a, spec[driftCheckFlags]{
		use:   "check [COLLECTOR…]",
		short: "Check the newest runs, or a file with results, for drift",
		long: `Compares the newest run of each collector, or of the named ones, with the good
runs before it and with its contract. A collector without a useful row in its
last 3 or more runs fails too.

--input checks the result in a file instead, and stores nothing. With --contract
it needs no runs on this machine; with COLLECTOR it is compared with the runs of that
collector.

Exit codes: 14 drift, with the fields printed, or no useful row in 3 runs; 0 no
drift; 1 something that was to be checked could not be judged: it, or a contract's
collector, has no stored run, its newest run has no useful row, its first run has
nothing to be compared with, it has too few rows, or its newest result is
incomplete. Without COLLECTOR, the last three are only printed, and fail only if
nothing at all was judged. With --max-age, also 1 if the newest run of a
collector is older: nothing new came, or nobody downloads it any more.`,
		check: (*driftCheckFlags).check,
		needs: driftNeeds[driftCheckFlags],
		run:   checkDrift,
	})
}

func checkDrift(ctx context.Context, t *task, f driftCheckFlags, names []string) (printed, error) {
	look := t.checkStored
	if f.Input != "" {
		look = t.checkFile
	}
	all, err := look(ctx, names, f)
	if err != nil {
		return printed{}, driftError(err)
	}
	if len(all) == 0 {
		t.app.warn("nothing was judged: no collector has a run")
	}
	return printed{
		object: view.DriftChecks{Collectors: append([]view.DriftCheck{}, all...)}, text: checkedLines(all), code: checkedCode(all, len(names) > 0 || f.Input != ""),
	}, nil
}

// checkedCode is the exit code of a check. Everything that was asked for by name must be judged.
func checkedCode(all []view.DriftCheck, asked bool) int {
	judged, empty := 0, false // empty: something is missing that every check asks for
	for _, c := range all {
		if len(c.Fields) > 0 || c.Dead() {
			return exitParsingDrift
		}
		if c.Judged {
			judged++
		}
		empty = empty || c.Stale || !c.Judged && c.State == string(drift.Empty)
	}
	if judged == 0 || empty || asked && judged < len(all) {
		return exitChecksFailed
	}
	return exitOK
}

func checkedLines(all []view.DriftCheck) string {
	var out strings.Builder
	for _, c := range all {
		line := "ok " + c.Name
		switch {
		case c.Dead():
			line = fmt.Sprintf("silent %s: %s", c.Name, c.Reason)
		case len(c.Fields) > 0:
			line = fmt.Sprintf("drift %s: %s", c.Name, strings.Join(c.Fields, ", "))
		case !c.Judged:
			line = fmt.Sprintf("not judged %s: %s", c.Name, c.Reason)
		}
		fmt.Fprintln(&out, sanitizeLine(line))
		for _, f := range c.Findings {
			fmt.Fprintf(&out, "  %s: %s\n", f.Kind, sanitizeLine(f.Text))
		}
	}
	return out.String()
}

// checkStored checks the newest runs of the named collectors, or of all if none is named.
func (t *task) checkStored(ctx context.Context, names []string, f driftCheckFlags) ([]view.DriftCheck, error) {
	if err := t.Jobs.SeeDue(ctx); err != nil { // a download may have stopped before it judged
		t.app.warn("not every result was judged: %v", err)
	}
	list, err := t.Drift.List(ctx)
	var fault *textfile.Error // if names are given, only their own contracts matter
	if err != nil && (len(names) == 0 || !errors.As(err, &fault)) {
		return nil, err
	}
	var out []view.DriftCheck
	if len(names) == 0 {
		for _, s := range list {
			out = append(out, view.NewStoredDriftCheck(s, t.Now(), f.MaxAge.d))
		}
		unused, err := t.Drift.UnusedContracts(list)
		for _, c := range unused {
			out = append(out, withoutRun(c.Kind, c.Name, fmt.Sprintf("%s judges nothing: no run of %s %s is stored", c.File, c.Kind, c.Name)))
		}
		return out, err
	}
	for _, name := range names {
		kind, id, err := t.subject(ctx, name)
		if err != nil {
			return nil, err
		}
		if _, err := t.Drift.Contract(kind, id); err != nil {
			return nil, err
		}
		c := withoutRun(kind, id, drift.ErrUnknown.Error())
		for _, s := range list {
			if s.Run.Kind == kind && s.Run.Name == id {
				c = view.NewStoredDriftCheck(s, t.Now(), f.MaxAge.d)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// withoutRun is the check of a collector of which no run is stored: it could not be judged.
func withoutRun(kind drift.Kind, name, reason string) view.DriftCheck {
	return view.DriftCheck{Name: name, Kind: string(kind), State: string(drift.Empty), Reason: reason, Fields: []string{}, Findings: []view.DriftFinding{}}
}

// checkFile checks a result in a file.
func (t *task) checkFile(ctx context.Context, names []string, f driftCheckFlags) ([]view.DriftCheck, error) {
	var contract *drift.Contract
	if f.Contract != "" {
		text, err := t.app.read(ctx, "--contract", f.Contract, textfile.MaxSize)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usage("--contract: there is no file %s", f.Contract)
		}
		if err != nil {
			return nil, err
		}
		c, err := drift.ParseContract(f.Contract, text)
		if err != nil {
			return nil, err
		}
		contract = &c
	}
	kind, id := drift.Dataset, ""
	switch {
	case len(names) > 0:
		var err error
		if kind, id, err = t.subject(ctx, names[0]); err != nil {
			return nil, err
		}
	case contract != nil:
		kind, id = contract.Kind, contract.Name
	}
	if kind != drift.Dataset {
		return nil, usage("--input: only results of data sets can be checked, and %s is a target", id)
	}
	if contract != nil && contract.Name != id {
		return nil, usage("--contract: %s is for %s, not for %s", f.Contract, contract.Name, id)
	}
	file, err := t.app.open(ctx, f.Input)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("--input: there is no file %s", f.Input)
	}
	if err != nil {
		return nil, fail(exitState, "%w", err)
	}
	defer file.Close()
	name := f.Input
	if name == "-" {
		name = "standard input"
	}
	r, v, err := t.Drift.CheckFile(ctx, drift.File{Reader: file, Name: name, Format: f.From, Dataset: id, Contract: contract, At: t.Now()})
	switch unreadable := (*drift.UnreadableError)(nil); {
	case ctx.Err() != nil:
		return nil, fail(ExitInterrupted, "interrupted")
	case errors.As(err, &unreadable):
		return nil, usage("--input: %w", err)
	case err != nil:
		return nil, err
	}
	return []view.DriftCheck{view.NewDriftCheck(r, v)}, nil
}

func (a *app) driftContractCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "contract COLLECTOR",
		short: "Check and print the contract of a collector",
		long: `A contract says which fields a collector has to give, with their types, patterns
and minimum coverage. If there is none, the command names the file to write it
to: exit 2.`,
		needs: driftNeeds[jsonFlag],
		run:   showContract,
	})
}

func showContract(ctx context.Context, t *task, _ jsonFlag, args []string) (printed, error) {
	kind, id, err := t.subject(ctx, args[0])
	if err != nil {
		return printed{}, err
	}
	file, err := t.Drift.ContractFile(kind, id)
	if err != nil {
		return printed{}, driftError(err)
	}
	raw, err := textfile.ReadBounded(file, textfile.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return printed{}, usage("%s has no contract: write one to %s", id, file)
	case err != nil:
		return printed{}, fail(exitState, "%w", err)
	}
	c, err := drift.ParseContract(file, raw)
	if err != nil {
		return printed{}, driftError(err)
	}
	t.app.say("zonedeck: the contract %s is about %d fields", file, len(c.Fields))
	return printed{object: view.Text{Text: string(raw)}, text: text.CleanLines(string(raw))}, nil
}
