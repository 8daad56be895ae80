package records

import (
	"fmt"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/jobs"
	"zonedeck/service/query"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Panes of the page, in the order of tab.
const (
	paneTable = iota
	paneTree
)

// Intent is the meaning of a key of the page.
type Intent interface{ do(p *Page) tea.Cmd }

// Intents of the page's keys.
type (
	leave      struct{} // one step back
	openLine   lineKind
	takeLine   struct{}
	leaveLine  struct{}
	nextHit    struct{ back bool }
	sideways   int
	askColumn  struct{}
	columnAt   int // the column that was picked
	sortColumn struct{}
	openDetail struct{}
	askExport  struct{}
	askCompare struct{}
	reopen     struct{}
	copyMenu   struct{}
	hasColumn  struct{}
)

// Bindings are the keys that work now.
func (p *Page) Bindings() []kit.Binding {
	const group = "Rows"
	if p.line.kind != lineNone {
		return []kit.Binding{
			{Name: "records.take", Keys: []string{"enter"}, Label: "go", Help: "Take what is typed.", Group: group, Intent: takeLine{}, WhileTyping: true},
			{Name: "records.leave", Keys: []string{"esc"}, Label: "leave", Help: "Leave the line as it was.", Group: group, Intent: leaveLine{}, WhileTyping: true},
		}
	}
	none, unread := "", ""
	switch {
	case p.file == nil:
		none = "no result is open"
	case p.total() == 0:
		none = "there are no rows"
	}
	switch {
	case p.work.index.Running():
		unread = "the rows are being indexed"
	case !p.state.Indexed:
		unread = "the rows are not indexed: " + p.deps.Theme.Key("records.reopen") + " indexes them"
	}
	busy := none
	if busy == "" {
		busy = unread
	}
	if p.file != nil && none != "" && p.set.query.Filter.String()+p.jq() != "" {
		busy = "" // a filter without a match can be changed
	}
	reopening, partial := "", busy
	switch {
	case p.work.export.Running():
		reopening = "the rows are being written: esc stops that"
		busy, partial = reopening, reopening // the export reads the list that is shown
	case busy == "" && p.work.query.Running():
		partial = "the rows are still being found"
	}
	noSearch := none
	if noSearch == "" && p.line.search == "" {
		noSearch = p.deps.Theme.Key("records.search") + " searches first"
	}
	back := kit.Binding{Name: "records.back", Keys: []string{"esc", "p"}, Label: "back", Help: "One step back: stop what is running, then the whole table, all rows, the jobs.", Group: group, Intent: leave{}}
	if p.busy() {
		back.Label, back.Stops = "stop", true
	}
	if p.onTree() {
		return append([]kit.Binding{back}, append(p.tree.Bindings(), p.panes.Bindings(false)...)...)
	}
	out := []kit.Binding{
		{Name: "records.filter", Keys: []string{"f"}, Label: "filter", Help: "Show only the rows that match: words, field:part, field=value, field>5, has:field, -word; names with blanks, colons or slashes in quotes.", Group: group, Intent: openLine(lineFilter), Disabled: busy},
		{Name: "records.jq", Keys: []string{"|"}, Label: "jq", Help: "Show only the rows for which a jq expression gives anything but false and null.", Group: group, Intent: openLine(lineJQ), Disabled: busy},
		{Name: "records.search", Keys: []string{"/"}, Label: "search", Help: "Go to the next row with a text, in any case.", Group: group, Intent: openLine(lineSearch), Disabled: none},
		{Name: "records.sort", Keys: []string{"s"}, Label: "sort", Help: "Sort by the chosen column: ascending, descending, not at all. Numbers come before texts; missing and null values come last.", Group: group, Intent: sortColumn{}, Disabled: busy},
		{Name: "records.row", Keys: []string{"enter"}, Label: "row", Help: "Show the row as a tree.", Group: group, Intent: openDetail{}, Disabled: none},
		{Name: "records.export", Keys: []string{"x"}, Label: "export", Help: "Write the rows that are shown to a new file.", Group: group, Intent: askExport{}, Disabled: partial},
		{Name: "records.compare", Keys: []string{"c"}, Label: "compare", Help: "Show what differs from another result by a key, or only the new rows.", Group: group, Intent: askCompare{}, Disabled: busy},
		{Name: "records.columns", Keys: []string{"i"}, Label: "columns", Help: "List the columns with what is in them, and go to one.", Group: group, Intent: askColumn{}, Disabled: none},
		back,
		{Name: "records.column-right", Keys: []string{"right", "l"}, Label: "column right", Help: "Go one column to the right.", Group: group, Intent: sideways(1), Disabled: none, Hidden: true},
		{Name: "records.column-left", Keys: []string{"left", "h"}, Label: "column left", Help: "Go one column to the left.", Group: group, Intent: sideways(-1), Disabled: none, Hidden: true},
		{Name: "records.next-hit", Keys: []string{"n"}, Label: "next hit", Help: "Go to the next row with the text.", Group: group, Intent: nextHit{}, Disabled: noSearch, Hidden: true},
		{Name: "records.previous-hit", Keys: []string{"N"}, Label: "hit before", Help: "Go to the row before with the text.", Group: group, Intent: nextHit{back: true}, Disabled: noSearch, Hidden: true},
		{Name: "records.with-column", Keys: []string{"w"}, Label: "with column", Help: "Show only the rows that have a value in the chosen column.", Group: group, Intent: hasColumn{}, Disabled: busy, Hidden: true},
		{Name: "records.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy a cell, a column's name or the file's path.", Group: group, Intent: copyMenu{}, Disabled: none, Hidden: true},
		{Name: "records.reopen", Keys: []string{"r"}, Label: "reopen", Help: "Open the result again, for example after it changed.", Group: group, Intent: reopen{}, Disabled: reopening, Hidden: true},
	}
	out = append(out, p.panes.Bindings(false)...)
	return append(out, widget.MotionBindings()...)
}

func (p *Page) jq() string {
	if p.set.query.JQ == nil {
		return ""
	}
	return p.set.query.JQ.String()
}

// busy reports whether esc stops something.
func (p *Page) busy() bool {
	return kit.Running(&p.work.query, &p.work.find, &p.work.export) > 0 || p.work.index.Running() && p.file != nil
}

// onTree reports whether keys go to the tree.
func (p *Page) onTree() bool { return p.panes.At == paneTree || p.detail.full }

// Act carries out the intent of a key, while the page is open.
func (p *Page) Act(i Intent) tea.Cmd {
	if !p.open {
		return nil
	}
	return i.do(p)
}

func (leave) do(p *Page) tea.Cmd      { return p.leave() }
func (i openLine) do(p *Page) tea.Cmd { return p.openLine(lineKind(i)) }
func (takeLine) do(p *Page) tea.Cmd   { return p.takeLine() }
func (i nextHit) do(p *Page) tea.Cmd  { return p.search(p.grid.cursor, i.back) }
func (i sideways) do(p *Page) tea.Cmd { return p.goTo(p.grid.column + int(i)) }
func (askColumn) do(p *Page) tea.Cmd  { return p.askColumn() }
func (i columnAt) do(p *Page) tea.Cmd { return p.goTo(int(i)) }
func (sortColumn) do(p *Page) tea.Cmd { return p.sort() }
func (hasColumn) do(p *Page) tea.Cmd  { return p.addTerm("has:" + query.QuoteName(p.column())) }
func (askExport) do(p *Page) tea.Cmd  { return p.askExport() }
func (askCompare) do(p *Page) tea.Cmd { return p.askCompare() }
func (reopen) do(p *Page) tea.Cmd     { return p.Show(p.name, p.title) }
func (copyMenu) do(p *Page) tea.Cmd   { return p.copyMenu() }

func (leaveLine) do(p *Page) tea.Cmd { //nolint:unparam // an intent of the page
	p.line.kind, p.line.problem = lineNone, ""
	return nil
}

func (openDetail) do(p *Page) tea.Cmd {
	if p.wide {
		p.panes.At = paneTree
	} else {
		p.detail.full = true
	}
	return p.ensure()
}

// column is the name of the chosen column.
func (p *Page) column() string {
	if p.grid.column < len(p.about.Columns) {
		return p.about.Columns[p.grid.column].Name
	}
	return ""
}

// goTo chooses a column and scrolls to it.
func (p *Page) goTo(column int) tea.Cmd {
	g := &p.grid
	g.column = max(min(column, len(p.about.Columns)-1), 0)
	g.firstColumn = min(g.firstColumn, g.column)
	if g.visible > 0 && g.column >= g.firstColumn+g.visible {
		g.firstColumn = g.column - g.visible + 1
	}
	return p.ensure()
}

// askColumn lists the columns with what is in them.
func (p *Page) askColumn() tea.Cmd {
	choices := make([]widget.Choice, len(p.about.Columns))
	for i, c := range p.about.Columns {
		choices[i] = widget.Choice{
			Option: widget.Option{Value: c.Name, Label: text.Clean(jobs.ShownName(c.Name)), Note: fmt.Sprintf("%s · %s distinct", facts(c, p.about), c.DistinctWords())},
			Pick:   kit.SendTo(kit.Jobs, columnAt(i)),
		}
	}
	title := text.Counted(len(choices), "column")
	if !p.about.Done {
		title += fmt.Sprintf(", as counted in the first %s rows", text.Count(int(p.about.Rows)))
	}
	return kit.OpenOverlay(widget.NewFinder(p.deps.Theme, title, "type to filter", choices))
}

// leave goes one step back.
func (p *Page) leave() tea.Cmd {
	switch {
	case kit.Running(&p.work.query, &p.work.find, &p.work.export) > 0:
		for _, s := range []*slot{&p.work.query, &p.work.find, &p.work.export} {
			s.Cancel()
		}
		return nil
	case p.work.index.Running() && p.file != nil:
		p.work.index.Cancel()
		return nil
	case p.detail.full:
		p.detail.full = false
		return nil
	case p.panes.Zoomed:
		p.panes.Zoomed = false
		return nil
	case p.panes.At == paneTree:
		p.panes.At = paneTable
		return nil
	case p.set.view.Rows != nil || !p.set.query.All():
		return p.run(jobs.ResultQuery{})
	}
	return p.Hide()
}

func (p *Page) openLine(k lineKind) tea.Cmd {
	l := &p.line
	l.kind, l.problem, l.outcome = k, "", ""
	l.input = widget.NewInput(p.deps.Theme)
	l.input.SetWidth(40) // until it is drawn
	switch k {
	case lineFilter:
		l.input.Placeholder = `word  field:part  field>5  has:"a b"  -word`
		l.input.SetValue(p.set.query.Filter.String())
	case lineJQ:
		l.input.Placeholder = `.price > 5 and .brand == "x"`
		l.input.SetValue(p.jq())
	default:
		l.input.SetValue(l.search)
	}
	l.input.CursorEnd()
	return l.input.Focus()
}

// takeLine takes what was typed. If it is wrong, the line stays and says why.
func (p *Page) takeLine() tea.Cmd {
	l := &p.line
	typed := strings.TrimSpace(l.input.Value())
	q := p.set.query
	switch l.kind {
	case lineFilter:
		f, err := jobs.ParseResultFilter(typed)
		if err != nil {
			l.problem = err.Error()
			return nil
		}
		q.Filter = f
	case lineJQ:
		q.JQ = nil
		if typed != "" {
			c, err := jobs.NewCondition(typed)
			if err != nil {
				l.problem = err.Error()
				return nil
			}
			q.JQ = c
		}
	default:
		l.kind, l.search = lineNone, typed
		return p.search(p.grid.cursor-1, false) // the row under the cursor counts
	}
	l.kind = lineNone
	return p.run(q)
}

// addTerm adds a term to the filter.
func (p *Page) addTerm(term string) tea.Cmd {
	q := p.set.query
	words := strings.TrimSpace(q.Filter.String() + " " + term)
	f, err := jobs.ParseResultFilter(words)
	if err != nil {
		return kit.Warn(err.Error())
	}
	q.Filter = f
	return p.run(q)
}

func (p *Page) sort() tea.Cmd {
	q, name := p.set.query, p.column()
	switch {
	case name == "":
		return kit.Warn("sort: this column has no name to sort by")
	case q.Sort != name:
		q.Sort, q.Down = name, false
	case !q.Down:
		q.Down = true
	default:
		q.Sort, q.Down = "", false
	}
	return p.run(q)
}

func (p *Page) copyMenu() tea.Cmd {
	cell := ""
	if r, ok := p.grid.row(p.grid.cursor); ok {
		c, _ := p.grid.cell(r, p.column())
		cell = c.Text
	}
	return widget.OpenMenu(p.deps.Theme, "Copy", kit.Jobs, []widget.MenuItem{
		widget.CopyItem("c", "cell", cell),
		widget.CopyItem("n", "column's name", p.column()),
		widget.CopyItem("f", "file", p.file.Path()),
		widget.CopyItem("w", "command", p.command()),
	})
}

// command is the shell command that prints these rows.
func (p *Page) command() string {
	out := "zonedeck jobs rows " + quoted(p.file.Path())
	q := p.set.query
	if !q.Filter.Empty() {
		out += " --filter " + quoted(q.Filter.String())
	}
	if q.JQ != nil {
		out += " --jq " + quoted(q.JQ.String())
	}
	if q.Sort != "" {
		out += " --sort " + quoted(q.Sort)
	}
	if q.Down {
		out += " --desc"
	}
	return out
}

// quoted quotes a word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// askExport asks for a path and a format.
func (p *Page) askExport() tea.Cmd {
	t := p.deps.Theme
	base := strings.TrimSuffix(p.file.Path(), filepath.Ext(p.file.Path()))
	if c := p.set.compared; c != nil && !c.OnlyNew {
		return p.askExportChanges(base)
	}
	form := widget.NewForm(t,
		widget.Field{Name: "path", Label: "File", Value: base + "-rows.ndjson", Help: inFolder(base), Check: widget.Required("name a file")},
		widget.Field{Name: "format", Label: "Format", Kind: widget.FieldChoice, Value: "ndjson", Options: []widget.Option{
			{Value: "ndjson", Label: "NDJSON"}, {Value: "json", Label: "JSON"}, {Value: "csv", Label: "CSV"},
		}},
		widget.Field{Name: "cells", Label: "Formulas", Kind: widget.FieldChoice, Value: "defused", Help: "Cells of CSV that a spreadsheet would take for a formula.", Options: []widget.Option{
			{Value: "defused", Label: "get an apostrophe"}, {Value: "raw", Label: "stay as they are"},
		}},
	)
	dialog := widget.NewFormDialog(t, fmt.Sprintf("Export %s", p.rowsWords()), form)
	dialog.Submit = "write"
	endings := widget.Endings{File: "path", Format: "format", FormatOf: func(name string) string { return string(jobs.ResultFormatOf(name)) }, Before: form.Value("path")}
	dialog.OnChange = endings.Agree
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		e := jobs.ResultExport{Format: jobs.ResultFormat(f.Value("format")), Raw: f.Value("cells") == "raw"}
		return tea.Batch(kit.CloseOverlay(dialog), p.export(strings.TrimSpace(f.Value("path")), e, dialog))
	}
	return kit.OpenOverlay(dialog)
}

// inFolder says where a file is proposed: its path may be longer than the field.
func inFolder(base string) string {
	return "In the folder " + filepath.Dir(base) + ", unless you name another. A new file: no file is replaced."
}

// askExportChanges asks for a difference's path; its format is fixed.
func (p *Page) askExportChanges(base string) tea.Cmd {
	form := widget.NewForm(p.deps.Theme, widget.Field{
		Name: "path", Label: "File", Value: base + "-changes.ndjson", Check: widget.Required("name a file"),
		Help: inFolder(base) + " Each line has what became of a row, the row, and the old and new values of the fields that differ.",
	})
	dialog := widget.NewFormDialog(p.deps.Theme, fmt.Sprintf("Export the difference, %s", rowsCounted(int(p.total()))), form)
	dialog.Submit = "write"
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		return tea.Batch(kit.CloseOverlay(dialog), p.exportChanges(strings.TrimSpace(f.Value("path")), *p.set.compared, dialog))
	}
	return kit.OpenOverlay(dialog)
}

// askCompare asks for the other result and the key.
func (p *Page) askCompare() tea.Cmd {
	t := p.deps.Theme
	form := widget.NewForm(t,
		widget.Field{Name: "old", Label: "Old result", Placeholder: "job-1, or the path of a file", Help: "A job whose result was downloaded, or a file.", Check: widget.Required("name a job or a file")},
		widget.Field{Name: "key", Label: "Key", Value: p.column(), Help: "The field that identifies a row in both.", Check: widget.Required("name the field that identifies a row")},
		widget.Field{Name: "show", Label: "Show", Kind: widget.FieldChoice, Value: "all", Options: []widget.Option{
			{Value: "all", Label: "added, changed, removed"}, {Value: "new", Label: "only the new rows"},
		}},
		widget.Field{Name: "ignore", Label: "Not compared", Placeholder: "e.g. timestamp; several with a comma", Help: "Fields whose changes do not matter."},
	)
	dialog := widget.NewFormDialog(t, "Compare with an older result", form)
	dialog.Submit = "compare"
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		how := jobs.ResultHow{Key: f.Value("key"), OnlyNew: f.Value("show") == "new"}
		for name := range strings.SplitSeq(f.Value("ignore"), ",") {
			if name = strings.TrimSpace(name); name != "" {
				how.Ignore = append(how.Ignore, name)
			}
		}
		return tea.Batch(kit.CloseOverlay(dialog), p.compare(strings.TrimSpace(f.Value("old")), how, dialog))
	}
	return kit.OpenOverlay(dialog)
}
