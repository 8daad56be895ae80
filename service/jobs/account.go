package jobs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/profile"
	"zonedeck/service/rows"
)

// maxRowCodes bounds the error codes that are told apart; a result is remote.
const maxRowCodes = 50

// countRows accounts for the rows of a result on this disk.
func countRows(ctx context.Context, p profile.Profile, d dialect.Dialect, file, format string) model.JobRows {
	out := model.JobRows{Billed: -1}
	f, err := os.Open(file)
	if err != nil {
		out.Problem = line(err.Error())
		return out
	}
	defer f.Close()
	err = rows.EachRow(f, format, func(r rows.Row) error {
		out.Returned++
		switch {
		case r.Error:
			addError(&out, d, r)
		case r.Data:
			out.Useful++
		default:
			out.Empty++
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return model.JobRows{Billed: -1, Problem: line(err.Error())}
	}
	out.Counted = true
	slices.SortStableFunc(out.Errors, func(a, b model.JobRowErrors) int { return cmp.Compare(b.Rows, a.Rows) })
	if out.Billed = d.BilledRows(out); out.Billed >= 0 {
		_, rate := rateOf(p)
		out.Cost, out.Priced = rate.Cost(float64(out.Billed), 0)
	}
	return out
}

// addError counts an error row under its code.
func addError(out *model.JobRows, d dialect.Dialect, r rows.Row) {
	code := model.Line(r.Code, maxDetail)
	i := slices.IndexFunc(out.Errors, func(e model.JobRowErrors) bool { return e.Code == code })
	if i < 0 && len(out.Errors) == maxRowCodes {
		code = ""
		i = slices.IndexFunc(out.Errors, func(e model.JobRowErrors) bool { return e.Code == "" })
	}
	if i < 0 {
		class, cause := d.RowError(code)
		out.Errors = append(out.Errors, model.JobRowErrors{Code: code, Class: class, Cause: cause, Text: line(r.Text)})
		i = len(out.Errors) - 1
	}
	out.Errors[i].Rows++
}

// rowsText is the account of a result in a few words.
func rowsText(r model.JobRows) string {
	if !r.Counted {
		return "rows not counted: " + r.Problem
	}
	text := fmt.Sprintf("%d rows: %d useful", r.Returned, r.Useful)
	if n := r.Failed(); n > 0 {
		text += fmt.Sprintf(", %d errors", n)
	}
	if r.Empty > 0 {
		text += fmt.Sprintf(", %d empty", r.Empty)
	}
	if r.Billed >= 0 {
		text += fmt.Sprintf(", %d billed (%s)", r.Billed, model.CostWords(r.Cost, r.Priced))
	}
	return text
}
