package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printColumns prints rows in aligned columns and sanitises every cell.
func printColumns(w io.Writer, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = sanitizeLine(cell)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return fail(exitState, "write the table: %w", err)
	}
	return nil
}
