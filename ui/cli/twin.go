package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/export"
	"zonedeck/ui/kit/text"
)

type twinFlags struct {
	askFlags
	zones, via []string
	chosen     bool // --via is given
	repeat     int
	atOnce     int
	markdown   bool
}

func (a *app) twinCommand() *cobra.Command {
	var f twinFlags
	cmd := &cobra.Command{
		Use:   "twin [URL]",
		Short: "Fetch one page through several zones, by API and by proxy, and compare",
		Long: `Fetches one page through each of the zones by each of the access methods, side
by side, and prints a line for each: class, status, time, bytes, required
fields, cost.

The winner is the cheapest that was ok in every run; among equals, the fastest.
Exit code 1 says that there is no winner.

Each run is billed like any other fetch. It is one attempt, unless --retries
says otherwise. {{name}} is a variable: its value comes from --var, the profile
or the environment.`,
		Args: oneArgUnless("the URL to fetch", "query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.chosen = cmd.Flags().Changed("via")
			return a.withSession(cmd.Context(), needs{key: f.key, journal: true, rules: true, reason: f.adminReason}, func(t *task) error {
				return t.twin(cmd.Context(), firstOf(args), f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.zones, "zones", nil, "zones to compare, separated by commas (required)")
	fl.StringSliceVar(&f.via, "via", []string{string(model.ViaAPI), string(model.ViaNative)}, "access methods: api, native, agent and browser, separated by commas; by default also agent, as a row of its own, where the profile has it")
	fl.IntVar(&f.repeat, "repeat", 1, "runs of each zone by each method, one after the other unless you give --at-once")
	fl.IntVar(&f.atOnce, "at-once", 1, "runs of a zone by a method that are in flight at a time, within the limits of products and keys")
	f.add(cmd, 0)
	fl.BoolVar(&f.markdown, "markdown", false, "print the table as Markdown")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}

// twin runs the command.
func (t *task) twin(ctx context.Context, target string, f twinFlags) error {
	rest := model.FetchRequest{Zone: model.Zone{Name: model.ZoneName(strings.Join(f.zones, textBreak))}}
	if err := t.fillIn(&f.askFlags, &target, &rest); err != nil {
		return err
	}
	if len(f.zones) > 0 {
		f.zones = strings.Split(string(rest.Zone.Name), textBreak)
	}
	plan, err := t.twinPlan(ctx, target, f)
	if err != nil {
		return err
	}
	var runs progress
	all := len(plan.Cells) * plan.Repeat
	line := t.app.wait(func(waited time.Duration) string {
		return fmt.Sprintf("zonedeck: %.1f s  %d of %s  (ctrl+c cancels)", waited.Seconds(), runs.made(), text.Counted(all, "run"))
	})
	result, err := t.Client.Compare(ctx, plan, runs.changed)
	line.stop()
	if err != nil {
		return fetchError(ctx, err)
	}
	if !slices.ContainsFunc(result.Cells, func(c model.Cell) bool { return c.Problem == "" }) {
		if err := t.CurrentProfile().RefuseTarget(plan.Base.URL); err != nil {
			return err
		}
		return usage("none of the zones can fetch this: %w", result.Cells[0].Cause)
	}
	code := exitOK
	v := result.Verdict()
	if v.Winner < 0 {
		code = exitChecksFailed
	}
	switch {
	case f.json:
		err = t.app.printJSON(export.NewTwin(result))
	case f.markdown:
		_, err = io.WriteString(t.app.Stdout, text.CleanLines(export.TwinMarkdown(result)))
	default:
		if err = printColumns(t.app.Stdout, twinRows(result)); err == nil {
			_, err = fmt.Fprintln(t.app.Stdout, sanitizeLine(v.Text))
		}
	}
	if err != nil {
		return err
	}
	return exit(code)
}

// twinPlan builds the comparison from the flags. Its error names everything that is
// wrong with them.
func (t *task) twinPlan(ctx context.Context, target string, f twinFlags) (model.Grid, error) {
	var wrong []error
	if len(f.zones) == 0 {
		wrong = append(wrong, errors.New("--zones is missing: name the zones to compare, separated by commas"))
	}
	if len(f.via) == 0 {
		wrong = append(wrong, errors.New("--via is empty: write api, native, agent or browser, or several with commas"))
	}
	for _, v := range f.via {
		if _, err := model.ParseVia(v); err != nil {
			wrong = append(wrong, fmt.Errorf("--via %w", err))
		}
	}
	if f.repeat < 1 || f.repeat > model.MaxRuns {
		wrong = append(wrong, fmt.Errorf("--repeat %d: write a number from 1 to %d", f.repeat, model.MaxRuns))
	}
	if f.atOnce < 1 || f.atOnce > model.MaxRuns {
		wrong = append(wrong, fmt.Errorf("--at-once %d: write a number from 1 to %d", f.atOnce, model.MaxRuns))
	}
	header, err := f.check(target, false, wrong...)
	if err != nil {
		return model.Grid{}, usage("%w", err)
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return model.Grid{}, fail(exitState, "%w", err)
	}
	preset := model.Preset{Repeat: f.repeat, AtOnce: f.atOnce}
	for _, name := range unique(f.zones) {
		zone, err := t.Zone(p, name)
		if err != nil {
			return model.Grid{}, err
		}
		preset.Zones = append(preset.Zones, zone)
	}
	if f.chosen {
		for _, via := range unique(f.via) {
			preset.Ways = append(preset.Ways, model.Via(via))
		}
	}
	plan, err := t.Client.Plan(ctx, preset, f.fetchRequest(target, header))
	if err != nil {
		return model.Grid{}, fetchError(ctx, err)
	}
	if f.key != "" || slices.ContainsFunc(f.via, func(v string) bool { return !model.Via(v).Login() }) {
		return plan, t.haveKey(p, f.key)
	}
	return plan, nil
}

// progress counts the runs of a comparison that have ended.
type progress struct {
	mu   sync.Mutex
	runs map[int]int // by cell
}

func (p *progress) changed(i int, c model.Cell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[int]int{}
	}
	p.runs[i] = len(c.Runs)
}

func (p *progress) made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, runs := range p.runs {
		n += runs
	}
	return n
}

// unique is names in their order, each once.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// twinRows is the comparison as a table, the first row its heading.
func twinRows(t model.Grid) [][]string {
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
		status, fields, cost := export.TwinWords(t, c)
		rows = append(rows, append(row, model.ClassWord(typical.Class, typical.Cause), fmt.Sprintf("%d of %d", c.OK(), len(c.Runs)), status,
			text.Took(total), text.Took(fastest), text.Took(slowest), text.Took(first), text.Bytes(bytes), fields, cost))
	}
	return rows
}
