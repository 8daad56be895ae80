package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// printColumns prints rows in aligned columns and sanitises every cell.
func (a *app) printColumns(rows [][]string) error {
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = sanitizeLine(cell)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	_ = tw.Flush() // into memory
	return a.printText(table.String())
}

// filledColumns drops the columns that are empty in every row below the heading.
func filledColumns(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i := range rows[0] {
		if slices.ContainsFunc(rows[1:], func(row []string) bool { return row[i] != "" }) {
			for k, row := range rows {
				out[k] = append(out[k], row[i])
			}
		}
	}
	return out
}

// known is a count in a cell, "-" if it is negative, which means unknown.
func known[N int | int64](n N) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
