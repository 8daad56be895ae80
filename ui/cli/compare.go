package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/export"
	"zonedeck/ui/kit/text"
)

type compareFlags struct {
	askFlags
	listFlags
	Via      []string `flag:"via" takes:"api|native|agent|browser" list:"comma" help:"access methods: api, native, agent and browser, separated by commas (default api,native and, as a row of its own, agent where the profile has it; with --input api)"`
	Repeat   int      `flag:"repeat" help:"runs of each zone by each method, one after the other unless you give --at-once (default 1; with --logins 3 calls to each zone; not with --input, which fetches each row once)"`
	AtOnce   int      `flag:"at-once" default:"1" help:"runs of a zone by a method that are in flight at a time, within the limits of products and keys; with --input, as many as these allow unless you give it"`
	Zones    []string `flag:"zones" takes:"zone" list:"comma" help:"zones to compare, separated by commas (required; with --logins every zone of the profile unless you give it)"`
	Baseline string   `flag:"baseline" takes:"save|compare" help:"save: keep the result as the baseline; compare: compare it with the baseline"`
	reportForm
	Markdown bool       `flag:"markdown" without:"json" help:"the same as --as markdown"`
	Logins   bool       `flag:"logins" help:"compare the proxy logins of zones, and no page"`
	Given    givenFlags `flag:"*"`
}

func (f compareFlags) needs() needs {
	if f.Logins {
		return needs{journal: true, rules: true}
	}
	return f.askFlags.needs()
}

func (a *app) compareCommand() *cobra.Command {
	cmd := command(a, spec[compareFlags]{
		use:     "compare [URL]",
		aliases: []string{"twin"},
		short:   "Compare zones and access methods for one page, or the proxy logins of zones",
		long: `Fetches one page through each of the zones by each of the access methods, side
by side, and prints a line for each: class, status, time, bytes, required
fields, cost. With --input it compares the zones over a list.

The winner is the cheapest that was ok in every run; among equals, the fastest.
Exit code 1 says that there is no winner.

Each run is billed like any other fetch. It is one attempt, unless --retries
says otherwise. {{name}} is a variable: its value comes from --var, the profile
or the environment.

With --input it fetches the same sample of the rows of a file through each zone:
of each host as many as its part in the list, the same each time. It says first
what that may cost. A line for each shows the share of useful pages with its 95 %
interval, failures, times, and what a fetch and a useful page cost; below are a
few of the pages that failed. The winner is the zone with the cheapest useful
pages of those that reach --need. By a sample, the lower end of the interval has
to; where every row was fetched, the share is known and has no interval. Exit
code 1: there is none. URL is then the address to fetch for a row, with its
columns as {{name}}; -H and -d have them, too. ctrl+c keeps what was measured.

With --logins it tests the proxy login of every zone of the profile, or of those
of --zones, all at once: connection, CONNECT, certificate, class, country and
rotation of the exits, time. URL is then the page to fetch through the proxy.
Each call is billed. --baseline save keeps the result as the profile's baseline;
--baseline compare says what is new, better or worse than it. Exit code 1: with
compare, a zone is worse; without --baseline, a zone is not ok.`,
		defaults: compareFlags{listFlags: listFlags{Need: 0.95}},
		unless:   "query logins input",
		check: func(f *compareFlags, _ []string) error {
			if err := cmp.Or(f.check(), f.checkList()); err != nil {
				return err
			}
			if f.Markdown {
				f.As = formMarkdown
			}
			if !f.Given.has("repeat") {
				f.Repeat = 1
				if f.Logins {
					f.Repeat = 3
				}
			}
			switch ignored := f.Given.ignored(f.Logins, []string{"baseline"}, []string{"logins", "repeat", "zones", "json", "help"}); {
			case ignored == "":
				return nil
			case f.Logins:
				return usage("--logins takes no %s", ignored)
			default:
				return usage("%s: only with --logins", ignored)
			}
		},
		run: func(ctx context.Context, t *task, f compareFlags, args []string) (printed, error) {
			if f.Logins {
				return t.compareLogins(ctx, f, firstOf(args))
			}
			if f.Input != "" {
				return t.compareList(ctx, firstOf(args), f)
			}
			return t.compare(ctx, firstOf(args), f)
		},
	})
	_ = cmd.Flags().MarkHidden("markdown") // for scripts
	return cmd
}

func (t *task) compare(ctx context.Context, target string, f compareFlags) (printed, error) {
	plan, err := t.comparePlan(ctx, target, f)
	if err != nil {
		return printed{}, err
	}
	result, err := t.comparing(ctx, plan, func(_ map[int]model.Cell, runs int) string {
		return fmt.Sprintf("%d of %s", runs, text.Counted(len(plan.Cells)*plan.Repeat, "run"))
	})
	if err != nil {
		return printed{}, fetchError(ctx, err)
	}
	if !slices.ContainsFunc(result.Cells, func(c model.Cell) bool { return c.Problem == "" }) {
		if err := config.RefuseTarget(t.CurrentProfile(), plan.Base.URL); err != nil {
			return printed{}, err
		}
		return printed{}, usage("none of the zones can fetch this: %w", result.Cells[0].Cause)
	}
	v := result.Verdict()
	out := printed{object: export.NewComparison(result)}
	if v.Winner < 0 {
		out.code = exitChecksFailed
	}
	if f.As == formMarkdown {
		out.text = text.CleanLines(export.ComparisonMarkdown(result))
	} else {
		out.rows, out.text = compareRows(result), sanitizeLine(v.Text)+"\n"
	}
	return out, nil
}

// comparing runs a comparison. While it runs, a line on stderr says what progress makes of the runs that have ended.
func (t *task) comparing(ctx context.Context, g model.Grid, progress func(cells map[int]model.Cell, runs int) string) (model.Grid, error) {
	var mu sync.Mutex
	cells := map[int]model.Cell{}
	line := t.app.wait(func(waited time.Duration) string {
		mu.Lock()
		defer mu.Unlock()
		runs := 0
		for _, c := range cells {
			runs += len(c.Runs)
		}
		return fmt.Sprintf("zonedeck: %.1f s  %s  (ctrl+c cancels)", waited.Seconds(), progress(cells, runs))
	})
	defer line.stop()
	return t.Fetch.Compare(ctx, g, func(i int, c model.Cell) {
		mu.Lock()
		defer mu.Unlock()
		cells[i] = c
	})
}

// mistakes are those in the flags that every comparison of zones has.
func (f compareFlags) mistakes() (wrong []error) {
	if len(f.Zones) == 0 {
		wrong = append(wrong, errors.New("--zones is missing: name the zones to compare, separated by commas"))
	}
	if f.AtOnce < 1 || f.AtOnce > model.MaxRuns {
		wrong = append(wrong, fmt.Errorf("--at-once %d: write a number from 1 to %d", f.AtOnce, model.MaxRuns))
	}
	return wrong
}

// comparePlan builds the comparison from the flags. Its error names all their mistakes.
func (t *task) comparePlan(ctx context.Context, target string, f compareFlags) (model.Grid, error) {
	wrong := f.mistakes()
	preset := model.Preset{Repeat: f.Repeat, AtOnce: f.AtOnce}
	if len(f.Via) == 0 && f.Given.has("via") {
		wrong = append(wrong, errors.New("--via is empty: write api, native, agent or browser, or several with commas"))
	}
	for _, v := range unique(f.Via) {
		preset.Ways = append(preset.Ways, model.Via(v))
		if _, err := model.ParseVia(v); err != nil {
			wrong = append(wrong, fmt.Errorf("--via %w", err))
		}
	}
	if f.Repeat < 1 || f.Repeat > model.MaxRuns {
		wrong = append(wrong, fmt.Errorf("--repeat %d: write a number from 1 to %d", f.Repeat, model.MaxRuns))
	}
	d := f.draft(target)
	d.AnyZone, d.Request.Zone.Name = true, model.ZoneName(strings.Join(f.Zones, textBreak))
	p, base, zones, err := t.checked(ctx, f.askFlags, d, false, wrong...)
	if err != nil {
		return model.Grid{}, err
	}
	preset.Zones, base.Zone = zones, model.Zone{}
	plan, err := t.Fetch.Plan(ctx, preset, base)
	if err != nil {
		return model.Grid{}, fetchError(ctx, err)
	}
	// A key of the profile that is not in the inventory is a problem of the cells that use it.
	if f.Key == "" && p.Key == "" && (len(f.Via) == 0 || slices.ContainsFunc(preset.Ways, func(v model.Via) bool { return !v.Login() })) {
		if _, err := (flagKeys{p, t}).Pick(""); err != nil {
			return plan, usage("%w", err)
		}
	}
	return plan, nil
}

// unique drops repeated names and keeps the order.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// compareRows shows the comparison as a table with a heading.
func compareRows(t model.Grid) [][]string {
	rows := [][]string{{"ZONE", "VIA", "CLASS", "OK", "STATUS", "MEDIAN", "FROM", "TO", "FIRST BYTE", "BYTES", "FIELDS", "COST/1000"}}
	for _, c := range t.Cells {
		row := []string{c.ZoneWord(), string(c.Via)}
		typical, ran := c.Typical()
		if !ran {
			rows = append(rows, append(row, "not sent: "+c.Problem))
			continue
		}
		total, _ := c.Total()
		first, _ := c.FirstByte()
		bytes, _ := c.Bytes()
		fastest, slowest, _ := c.Spread()
		status, fields, cost := export.ComparisonWords(t, c)
		rows = append(rows, append(row, model.ClassWord(typical.Class, typical.Cause), fmt.Sprintf("%d of %d", c.OK(), len(c.Runs)), status,
			text.Duration(total), text.Duration(fastest), text.Duration(slowest), text.Duration(first), text.Bytes(bytes), fields, cost))
	}
	return rows
}
