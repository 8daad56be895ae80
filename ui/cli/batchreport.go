package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

type batchReportFlags struct {
	reportForm
	jsonFlag
}

// reportForm is how a report is printed.
type reportForm struct {
	As string `flag:"as" takes:"markdown|" without:"json" help:"markdown: a table in Markdown"`
}

func (f reportForm) check() error {
	if f.As != "" && f.As != formMarkdown {
		return usageKind("--as", f.As, formMarkdown)
	}
	return nil
}

func (b batchCommands) report() *cobra.Command {
	return command(b.app, spec[batchReportFlags]{
		use: "report BATCH", short: "Print what a batch came to: classes, zones, hosts with their next step, cost per useful page",
		check: func(f *batchReportFlags, _ []string) error { return f.check() },
		needs: func(batchReportFlags) needs { return needs{journal: true} },
		run: func(ctx context.Context, t *task, f batchReportFlags, args []string) (printed, error) {
			s, err := t.Batches.Report(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			out := printed{object: view.NewBatchReport(s), rows: append(batchRows(s.State, false), reportRows(s)...)}
			if f.As == formMarkdown {
				out.text, out.rows = markdown("Batch "+s.ID, out.rows), nil
			}
			return out, nil
		},
	})
}

// reportRows are what a report says beyond the batch itself.
func reportRows(s batch.Summary) (rows [][]string) {
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, sanitizeLine(fmt.Sprintf(format, args...))})
	}
	if cost, known := s.UsefulCost(); known {
		add("cost per ok", "%s", model.SmallDollars(cost))
	}
	add("retries", "%d", s.Retries())
	add("pace", "%.1f/s over %s", s.Speed(), text.Duration(s.Over))
	for _, z := range s.Zones {
		by := ""
		if z.ByRule > 0 {
			by = fmt.Sprintf(", by rule %d", z.ByRule)
		}
		add("through", "%s%s: %s, %d ok, %s", z.Zone, by, text.Counted(int(z.Items), "result"), z.OK, model.CostWords(z.Cost, s.Plan.Price > 0))
	}
	for _, f := range s.Fields {
		add("field", "%s: in %d of %s", f.Path, f.Found, text.Counted(int(f.Pages), "page"))
	}
	for _, name := range s.WorstHosts(20) {
		main, _ := s.Tally.Hosts[name].Main()
		if step := model.UsualStep(main.Class, main.Cause, s.Plan.Request.Via, s.Plan.Request.Zone).Text; step != "" {
			add("next step", "%s: %s", name, step)
		}
	}
	return rows
}

// markdown writes rows of a name and a value as a table.
func markdown(title string, rows [][]string) string {
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'")
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n| what | value |\n| --- | --- |\n", title)
	for _, row := range rows {
		fmt.Fprintf(&out, "| %s | %s |\n", cell.Replace(row[0]), cell.Replace(row[1]))
	}
	return out.String()
}
