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
	"github.com/spf13/pflag"

	"zonedeck/model"
	"zonedeck/service/export"
	"zonedeck/ui/kit/text"
)

type compareFlags struct {
	askFlags
	login      loginsFlags
	zones, via []string
	logins     bool
	chosen     bool // --via is given
	repeat     int
	atOnce     int
	markdown   bool
}

// hidden is a command under its former name.
func hidden(name string, cmd *cobra.Command) *cobra.Command {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	cmd.Use, cmd.Hidden = strings.TrimSpace(name+" "+arguments), true
	return cmd
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare [URL]",
		Short: "Compare zones and access methods for one page, or the proxy logins of zones",
		Long: `Fetches one page through each of the zones by each of the access methods, side
by side, and prints a line for each: class, status, time, bytes, required
fields, cost.

The winner is the cheapest that was ok in every run; among equals, the fastest.
Exit code 1 says that there is no winner.

Each run is billed like any other fetch. It is one attempt, unless --retries
says otherwise. {{name}} is a variable: its value comes from --var, the profile
or the environment.

With --logins it tests the proxy login of every zone of the profile, or of those
of --zones, all at once: connection, CONNECT, certificate, class, country and
rotation of the exits, time. URL is then the page to fetch through the proxy.
Each call is billed. --baseline save keeps the result as the profile's baseline;
--baseline compare says what is new, better or worse than it. Exit code 1: with
compare, a zone is worse; without --baseline, a zone is not ok.`,
		Args: oneArgUnless("the URL to fetch", "query", "logins"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkLogins(cmd); err != nil {
				return err
			}
			if f.logins {
				f.login.zones, f.login.target, f.login.json = f.zones, firstOf(args), f.json
				return a.compareLogins(cmd.Context(), f.login)
			}
			f.chosen = cmd.Flags().Changed("via")
			return a.withSession(cmd.Context(), needs{key: f.key, journal: true, rules: true, reason: f.adminReason}, func(t *task) error {
				return t.compare(cmd.Context(), firstOf(args), f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.zones, "zones", nil, "zones to compare, separated by commas (required; with --logins every zone of the profile unless you give it)")
	fl.StringSliceVar(&f.via, "via", []string{string(model.ViaAPI), string(model.ViaNative)}, "access methods: api, native, agent and browser, separated by commas; by default also agent, as a row of its own, where the profile has it")
	fl.IntVar(&f.repeat, "repeat", 1, "runs of each zone by each method, one after the other unless you give --at-once")
	fl.IntVar(&f.atOnce, "at-once", 1, "runs of a zone by a method that are in flight at a time, within the limits of products and keys")
	f.add(cmd, 0)
	fl.BoolVar(&f.markdown, "markdown", false, "print the table as Markdown")
	fl.BoolVar(&f.logins, "logins", false, "compare the proxy logins of zones, and no page")
	f.login.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}

// checkLogins refuses flags that would be ignored: flags of logins without --logins, all others with it.
func (f *compareFlags) checkLogins(cmd *cobra.Command) error {
	var ignored []string
	cmd.LocalNonPersistentFlags().VisitAll(func(fl *pflag.Flag) {
		both := slices.Contains([]string{"logins", "zones", "json", "help"}, fl.Name)
		if fl.Changed && !both && slices.Contains([]string{"calls", "baseline"}, fl.Name) != f.logins {
			ignored = append(ignored, "--"+fl.Name)
		}
	})
	switch {
	case len(ignored) == 0:
		return nil
	case f.logins:
		return usage("--logins takes no %s", strings.Join(ignored, ", "))
	default:
		return usage("%s: only with --logins", strings.Join(ignored, ", "))
	}
}

func (t *task) compare(ctx context.Context, target string, f compareFlags) error {
	rest := model.FetchRequest{Zone: model.Zone{Name: model.ZoneName(strings.Join(f.zones, textBreak))}}
	if err := t.fillIn(&f.askFlags, &target, &rest); err != nil {
		return err
	}
	if len(f.zones) > 0 {
		f.zones = strings.Split(string(rest.Zone.Name), textBreak)
	}
	plan, err := t.comparePlan(ctx, target, f)
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
		err = t.app.printJSON(export.NewComparison(result))
	case f.markdown:
		_, err = io.WriteString(t.app.Stdout, text.CleanLines(export.ComparisonMarkdown(result)))
	default:
		if err = printColumns(t.app.Stdout, compareRows(result)); err == nil {
			_, err = fmt.Fprintln(t.app.Stdout, sanitizeLine(v.Text))
		}
	}
	if err != nil {
		return err
	}
	return exit(code)
}

// comparePlan builds the comparison from the flags. Its error names all their mistakes.
func (t *task) comparePlan(ctx context.Context, target string, f compareFlags) (model.Grid, error) {
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
