package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

type twinFlags struct {
	askFlags
	zones, via []string
	repeat     int
	markdown   bool
}

func (a *app) twinCommand() *cobra.Command {
	var f twinFlags
	cmd := &cobra.Command{
		Use:   "twin URL",
		Short: "Fetch one page through several zones, by API and by proxy, and compare",
		Long: `Fetches one page through each of the zones by each of the access methods, side by
side, and prints a line for each: class, status, time, bytes, required fields, cost.
The winner is the cheapest that was ok in every run, then the fastest; exit code 1
says that there is none. Each run is one attempt, and billed like any other fetch.`,
		Args: oneArg("the URL to fetch"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{key: f.key, journal: true, reason: f.adminReason}, func(t *task) error {
				return t.twin(cmd.Context(), args[0], f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.zones, "zones", nil, "zones to compare, separated by commas (required)")
	fl.StringSliceVar(&f.via, "via", []string{string(model.ViaAPI), string(model.ViaNative)}, "access methods: api, native or both, separated by commas")
	fl.IntVar(&f.repeat, "repeat", 1, "runs of each zone by each method, one after the other")
	f.add(cmd, 0)
	fl.BoolVar(&f.markdown, "markdown", false, "print a table in Markdown")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}

// maxRepeat bounds the runs of one cell: each is billed.
const maxRepeat = 100

// twin runs the command.
func (t *task) twin(ctx context.Context, target string, f twinFlags) error {
	plan, err := t.twinPlan(ctx, target, f)
	if err != nil {
		return err
	}
	var done atomic.Int64
	all := len(plan.Cells) * plan.Repeat
	line := t.app.wait(func(waited time.Duration) string {
		return fmt.Sprintf("zonedeck: %.1f s  %d of %s  (ctrl+c cancels)", waited.Seconds(), done.Load(), text.Counted(all, "run"))
	})
	result, err := t.Client.Twin(ctx, plan, func(_ int, c model.TwinCell) {
		if c.Problem == "" {
			done.Add(1)
		}
	})
	line.stop()
	if err != nil {
		return fetchError(ctx, err)
	}
	if !slices.ContainsFunc(result.Cells, func(c model.TwinCell) bool { return c.Problem == "" }) {
		return usage("none of the zones can fetch this: %s", result.Cells[0].Problem)
	}
	winner, reason := result.Winner()
	switch {
	case f.json:
		err = t.app.printJSON(newTwinJSON(result))
	case f.markdown:
		err = t.app.printMarkdown(twinRows(result), twinVerdict(result, winner, reason))
	default:
		err = printColumns(t.app.Stdout, twinRows(result))
	}
	if err != nil {
		return err
	}
	code := exitOK
	if winner < 0 {
		code = exitChecksFailed
	}
	if !f.json && !f.markdown {
		t.app.verdict(code, sanitizeLine(twinVerdict(result, winner, reason)))
	}
	return exit(code)
}

// twinPlan builds the comparison from the flags. Its error names everything that is
// wrong with them.
func (t *task) twinPlan(ctx context.Context, target string, f twinFlags) (model.Twin, error) {
	var wrong []error
	if len(f.zones) == 0 {
		wrong = append(wrong, errors.New("--zones is missing: name the zones to compare, separated by commas"))
	}
	for _, v := range f.via {
		if via := model.Via(v); via != model.ViaAPI && via != model.ViaNative {
			wrong = append(wrong, fmt.Errorf("--via %q: write api, native or api,native", v))
		}
	}
	if f.repeat < 1 || f.repeat > maxRepeat {
		wrong = append(wrong, fmt.Errorf("--repeat %d: write a number from 1 to %d", f.repeat, maxRepeat))
	}
	header, err := f.check(target, wrong...)
	if err != nil {
		return model.Twin{}, usage("%w", err)
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return model.Twin{}, fail(exitState, "%w", err)
	}
	req := f.fetchRequest(target, header)
	plan := model.Twin{Profile: p.Name, Request: req, Repeat: f.repeat}
	for _, name := range unique(f.zones) {
		zone, err := t.Zone(p, name)
		if err != nil {
			return model.Twin{}, err
		}
		for _, via := range unique(f.via) {
			plan.Cells = append(plan.Cells, model.TwinCell{Zone: zone, Via: model.Via(via)})
		}
	}
	if slices.Contains(f.via, string(model.ViaAPI)) {
		return plan, t.haveKey(p, f.key)
	}
	return plan, nil
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
func twinRows(t model.Twin) [][]string {
	rows := [][]string{{"ZONE", "VIA", "CLASS", "OK", "STATUS", "MEDIAN", "FROM", "TO", "FIRST BYTE", "BYTES", "FIELDS", "COST/1000"}}
	for _, c := range t.Cells {
		row := []string{string(c.Zone.Name), string(c.Via)}
		if c.Problem != "" {
			rows = append(rows, append(row, "not sent: "+c.Problem))
			continue
		}
		typical, _ := c.Typical()
		total, _ := c.Total()
		first, _ := c.FirstByte()
		bytes, _ := c.Bytes()
		fastest, slowest, _ := c.Spread()
		status, fields, cost := "-", "-", "unpriced"
		if typical.Status > 0 {
			status = fmt.Sprint(typical.Status)
		}
		if n := len(t.Request.Required); n > 0 {
			fields = fmt.Sprintf("%d of %d", c.Found(), n)
		}
		if dollars, priced := c.Cost(); priced {
			cost = fmt.Sprintf("$%.2f", dollars)
		}
		rows = append(rows, append(row, kit.ClassWord(typical.Class, typical.Cause), fmt.Sprintf("%d of %d", c.OK(), len(c.Runs)), status,
			text.Took(total), text.Took(fastest), text.Took(slowest), text.Took(first), text.Bytes(bytes), fields, cost))
	}
	return rows
}

func twinVerdict(t model.Twin, winner int, reason string) string {
	if winner < 0 {
		return "no winner: " + reason
	}
	c := t.Cells[winner]
	return fmt.Sprintf("winner: %s by %s, %s", c.Zone.Name, c.Via, reason)
}

// printMarkdown writes a table, the first row its heading, and a line below it.
func (a *app) printMarkdown(rows [][]string, below string) error {
	var b strings.Builder
	cell := strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;")
	for i, row := range rows {
		for len(row) < len(rows[0]) {
			row = append(row, "")
		}
		for _, c := range row {
			b.WriteString("| " + cell.Replace(sanitizeLine(c)) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	if _, err := fmt.Fprintf(a.Stdout, "%s\n%s\n", b.String(), cell.Replace(sanitizeLine(below))); err != nil {
		return fail(exitState, "write the table: %w", err)
	}
	return nil
}

// twinJSON is the object that "twin --json" prints (docs/schema/twin.json).
type twinJSON struct {
	SchemaVersion int            `json:"schema_version"`
	ID            string         `json:"id"`
	Profile       string         `json:"profile"`
	URL           string         `json:"url"`
	Required      []string       `json:"required"`
	Cells         []twinCellJSON `json:"cells"`
	Winner        *winnerJSON    `json:"winner"`
}

// twinCellJSON is one zone by one method. Times are in milliseconds; what was not seen is
// null.
type twinCellJSON struct {
	Zone        string        `json:"zone"`
	Via         string        `json:"via"`
	Class       string        `json:"class"`
	Cause       string        `json:"cause"`
	Status      int           `json:"status"`
	Runs        int           `json:"runs"`
	OK          int           `json:"ok"`
	MedianMS    *float64      `json:"median_ms"`
	FastestMS   *float64      `json:"fastest_ms"`
	SlowestMS   *float64      `json:"slowest_ms"`
	FirstByteMS *float64      `json:"first_byte_ms"`
	Bytes       int64         `json:"bytes"`
	CostPer1000 *float64      `json:"cost_per_1000"`
	FieldsFound int           `json:"fields_found"`
	Problem     string        `json:"problem,omitempty"`
	Fetches     []twinRunJSON `json:"fetches"`
}

// twinRunJSON is one run, by its identifier in the history.
type twinRunJSON struct {
	ID          string   `json:"id"`
	Class       string   `json:"class"`
	Cause       string   `json:"cause"`
	Status      int      `json:"status"`
	TotalMS     *float64 `json:"total_ms"`
	FirstByteMS *float64 `json:"first_byte_ms"`
	Bytes       int64    `json:"bytes"`
	FieldsFound int      `json:"fields_found"`
}

type winnerJSON struct {
	Zone   string `json:"zone"`
	Via    string `json:"via"`
	Reason string `json:"reason"`
}

func newTwinJSON(t model.Twin) twinJSON {
	out := twinJSON{
		SchemaVersion: schemaVersion, ID: t.ID, Profile: t.Profile, URL: t.Request.URL,
		Required: append([]string{}, t.Request.Required...), Cells: make([]twinCellJSON, len(t.Cells)),
	}
	for i, c := range t.Cells {
		out.Cells[i] = newTwinCellJSON(c)
	}
	if i, reason := t.Winner(); i >= 0 {
		out.Winner = &winnerJSON{Zone: string(t.Cells[i].Zone.Name), Via: string(t.Cells[i].Via), Reason: reason}
	}
	return out
}

func newTwinCellJSON(c model.TwinCell) twinCellJSON {
	out := twinCellJSON{
		Zone: string(c.Zone.Name), Via: string(c.Via), Runs: len(c.Runs), OK: c.OK(), FieldsFound: c.Found(), Problem: c.Problem,
		Fetches: make([]twinRunJSON, len(c.Runs)),
	}
	if typical, ok := c.Typical(); ok {
		total, _ := c.Total()
		first, _ := c.FirstByte()
		fastest, slowest, _ := c.Spread()
		out.Class, out.Cause, out.Status = string(typical.Class), string(typical.Cause), typical.Status
		out.MedianMS, out.FastestMS, out.SlowestMS, out.FirstByteMS = phase(total), phase(fastest), phase(slowest), phase(first)
		out.Bytes, _ = c.Bytes()
	}
	if cost, priced := c.Cost(); priced {
		cost = math.Round(cost*1e6) / 1e6
		out.CostPer1000 = &cost
	}
	for i, r := range c.Runs {
		out.Fetches[i] = twinRunJSON{
			ID: r.Fetch, Class: string(r.Class), Cause: string(r.Cause), Status: r.Status, TotalMS: phase(r.Total),
			FirstByteMS: phase(r.FirstByte), Bytes: r.Bytes, FieldsFound: r.Found,
		}
	}
	return out
}
