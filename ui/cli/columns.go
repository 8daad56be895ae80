package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// printColumns prints rows in aligned columns and sanitises every cell.
func printColumns(w io.Writer, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(tw, "\t")
			}
			fmt.Fprint(tw, sanitizeLine(cell))
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return fail(exitState, "write the table: %w", err)
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
