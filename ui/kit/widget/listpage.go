package widget

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/service/query"
	"zonedeck/ui/kit"
)

// Rows are what a ListPage shows of its rows.
type Rows[R any] interface {
	// Key identifies a row, Cells are its cells.
	Key(row R) string
	Cells(row R) []Cell
	// Fields is what a filter can ask of rows; nil where the list has no filter.
	Fields() query.Fields[R]
	// Empty is shown where there are no rows, or none that a filter lets through.
	Empty(filtered bool) string
}

// ListPage is a list of rows in memory: a table, and a filter over it. A list that is too long for that has a Table and
// a ListFilter.
type ListPage[R any] struct {
	Table
	Filter ListFilter
	// Rows are what is shown; Plural is what its rows are called.
	Rows   Rows[R]
	Plural string

	all, visible []R
	named        bool // the filter's words name the first row
}

// Set replaces the rows. Those that the filter's words name come first. The cursor stays on its row.
func (l *ListPage[R]) Set(all []R) {
	l.all, l.visible, l.named = all, all, false
	if q, err := query.Parse(l.Filter.Text(), l.Rows.Fields()); l.Filter.Text() != "" && err == nil {
		l.visible = nil
		var others []R
		for _, row := range all {
			switch {
			case !q.Match(row):
			case q.Names(l.Rows.Key(row)):
				l.visible = append(l.visible, row)
			default:
				others = append(others, row)
			}
		}
		l.named = len(l.visible) > 0
		l.visible = append(l.visible, others...)
	}
	shown := l.visible
	l.SetRowsKeyed(len(shown), func(i int) string { return l.Rows.Key(shown[i]) }, func(i int) []Cell { return l.Rows.Cells(shown[i]) })
}

// All are the rows, Visible those that the filter lets through.
func (l *ListPage[R]) All() []R { return l.all }

// Visible are the rows that the filter lets through.
func (l *ListPage[R]) Visible() []R { return l.visible }

// Selected is the row at the cursor.
func (l *ListPage[R]) Selected() (row R, ok bool) {
	if i := l.Cursor(); i < len(l.visible) {
		return l.visible[i], true
	}
	return row, false
}

// Go puts the cursor on a row by its key, and ends a filter that hides it. Without the row it does nothing.
func (l *ListPage[R]) Go(key string) bool {
	for i, row := range l.visible {
		if l.Rows.Key(row) == key {
			l.SetCursor(i)
			return true
		}
	}
	if len(l.visible) == len(l.all) {
		return false
	}
	for _, row := range l.all {
		if l.Rows.Key(row) == key {
			l.Filter.Clear()
			l.Set(l.all)
			l.ForgetNews()
			return l.Go(key)
		}
	}
	return false
}

// UpdateFilter handles what is the filter's. The cursor goes to the first row when its words name that, or
// the filter hides the one it was on.
func (l *ListPage[R]) UpdateFilter(t *kit.Theme, msg tea.Msg) (tea.Cmd, FilterEvent) {
	cmd, event := UpdateFilter(&l.Filter, t, msg, l.Rows.Fields())
	if event == FilterChanged {
		before, had := l.CursorKey()
		l.Set(l.all)
		l.ForgetNews()
		if after, has := l.CursorKey(); !had || !has || before != after || l.named {
			l.SetCursor(0)
		}
	}
	return cmd, event
}

// FilterBindings are the filter's keys; see ListFilter.Bindings.
func (l *ListPage[R]) FilterBindings(esc bool) []kit.Binding {
	return l.Filter.Bindings(l.Plural, l.Rows.Fields().Examples(), esc)
}

// Render draws the table and, below it, the filter as exactly h lines of w cells.
func (l *ListPage[R]) Render(t *kit.Theme, focused bool, w, h int) string {
	l.Empty = l.Rows.Empty(l.Filter.Text() != "")
	if line := l.Filter.Line(t, len(l.visible), len(l.all), w); line != "" {
		return Stack(l.Table.Render(t, focused, w, h-1), line)
	}
	return l.Table.Render(t, focused, w, h)
}

// UpdateFilter is ListFilter.Update for a filter over rows with those fields.
func UpdateFilter[R any](f *ListFilter, t *kit.Theme, msg tea.Msg, fields query.Fields[R]) (tea.Cmd, FilterEvent) {
	return f.Update(t, msg, fields.Examples(), func(s string) error {
		_, err := query.Parse(s, fields)
		return err
	})
}
