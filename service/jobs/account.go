package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/rows"
)

// maxRowCodes bounds the error codes that are told apart; a result is remote.
const maxRowCodes = 50

// tally accounts for the rows of a partial file that is written to it. After a row that cannot be read it
// stops counting.
type tally struct {
	d       dialect.Dialect
	dataset string // the data set
	array   bool   // the rows are an array's, which has no end yet
	begun   bool
	out     model.JobRows
	lines   rows.Lines
	err     error // why not
}

// copy makes a copy, to go back to what was counted before a part.
func (t *tally) copy() tally {
	out := *t
	out.lines = rows.Lines{}
	out.out.Errors = slices.Clone(t.out.Errors)
	return out
}

func (t *tally) Write(p []byte) (int, error) {
	n := len(p)
	if t.array && !t.begun && n > 0 {
		p = p[1:] // the bracket
	}
	if t.begun = t.begun || n > 0; t.err == nil {
		t.lines.On, t.lines.Array = t.row, t.array
		_, t.err = t.lines.Write(p)
	}
	return n, nil
}

// errCutRow is the error of a part that ends within a row.
var errCutRow = errors.New("it ended in the middle of a row")

// endPart ends a part, whose last row needs no line break. If only this row can show whether the
// part was cut off, an unreadable one shows that it was; in a part that is known to be whole it is
// treated like any other unreadable row.
func (t *tally) endPart(whole bool) error {
	t.lines.On = t.row
	err := t.lines.Close()
	t.lines = rows.Lines{}
	if t.err == nil && err != nil && !whole {
		return errCutRow
	}
	t.err = cmp.Or(t.err, err)
	return nil
}

func (t *tally) row(raw []byte) error {
	r, valid := rows.CountRow(raw)
	if !valid {
		return rows.ErrNoRow
	}
	t.out.Returned++
	switch {
	case r.Error:
		addError(&t.out, t.d, r)
	case r.Data:
		t.out.Useful++
	default:
		t.out.Empty++
	}
	return nil
}

// sum is the account, with what the billed rows cost by the rates of a profile.
func (t *tally) sum(p config.Profile) model.JobRows {
	if t.err != nil {
		return model.JobRows{Billed: -1, Problem: line(t.err.Error())}
	}
	out := t.out
	out.Counted = true
	slices.SortStableFunc(out.Errors, func(a, b model.JobRowErrors) int { return cmp.Compare(b.Rows, a.Rows) })
	if out.Billed = t.d.BilledRows(t.dataset, out); out.Billed >= 0 {
		_, rate := rateOf(p, t.d, t.dataset)
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
	switch n := r.Failed(); n {
	case 0:
	case 1:
		text += ", 1 error"
	default:
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
