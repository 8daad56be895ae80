package records

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/jobs"
	"zonedeck/service/query"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// besideFrom is the least width that shows a row's tree next to the table.
const besideFrom = 120

// heads is the number of lines above the rows: names and types.
const heads = 2

// Render draws the page.
func (p *Page) Render(w, h int) string {
	return p.panes.Draw(w, h, p.areas, func(a kit.Area) string {
		if a.Pane == paneTree {
			return p.renderTree(a.W, a.H)
		}
		return p.renderTable(a.W, a.H)
	})
}

// areas places the tree next to the table, or in its place.
func (p *Page) areas(w, h int) []kit.Area {
	switch {
	case !p.wide && (p.detail.full || p.panes.At == paneTree):
		return []kit.Area{{Pane: paneTree, W: w, H: h}}
	case !p.wide || p.file == nil:
		return []kit.Area{{Pane: paneTable, W: w, H: h}}
	}
	left, right := widget.SideBySide(w, p.panes.At == paneTable, p.panes.At == paneTree)
	return []kit.Area{{Pane: paneTable, W: left, H: h}, {Pane: paneTree, X: left, W: right, H: h}}
}

// wantsDetail reports whether the row is read as a whole: for the tree on the screen, or for what changed in it.
func (p *Page) wantsDetail() bool { return p.wide || p.onTree() || p.set.compared != nil }

// rowsWords says how many rows are shown: "17 of 300 rows", "4 rows that differ".
func (p *Page) rowsWords() string {
	n, all := int(p.total()), int(p.state.Rows)
	switch c := p.set.compared; {
	case p.set.view.Rows == nil:
		return rowsCounted(all)
	case c != nil && !c.OnlyNew && n == 1: // some rows are from the other result
		return "1 row that differs"
	case c != nil && !c.OnlyNew:
		return rowsCounted(n) + " that differ"
	}
	return text.Count(n) + " of " + rowsCounted(all)
}

// columnsWords says which columns were drawn last, " · columns 1–4 of 12", if others are out of sight.
func (p *Page) columnsWords() string {
	g, all := &p.grid, len(p.about.Columns)
	if g.drawn == 0 || g.drawn >= all {
		return ""
	}
	return fmt.Sprintf(" · columns %d–%d of %d", g.firstColumn+1, g.firstColumn+g.drawn, all)
}

// Hidden are the rows that were not drawn last.
func (p *Page) Hidden() (above, below int) {
	return int(p.grid.top), int(p.total()) - int(p.grid.top) - p.grid.page
}

// rowsCounted is a number of rows.
func rowsCounted(n int) string {
	if n == 1 {
		return "1 row"
	}
	return text.Count(n) + " rows"
}

func (p *Page) renderTable(w, h int) string {
	t := p.deps.Theme
	iw, ih := widget.Inner(w, h)
	title := "Records of " + p.title
	var body string
	switch {
	case p.FileMissing():
		body = strings.Join(widget.Wrapped(kit.Ink{}, "The file of the result is no longer there: "+p.err.Error()+". "+p.deps.Theme.Key("jobs.download")+" downloads it again, esc goes back.", iw-2), "\n")
	case p.file == nil && p.err != nil:
		body = strings.Join(widget.Wrapped(kit.Ink{}, "The records cannot be shown: "+p.err.Error()+". esc goes back.", iw-2), "\n")
	case p.file == nil:
		body = "\n " + t.Muted.Render("opening the result…")
	default:
		title += " · " + p.rowsWords()
		feet := p.feet(iw)
		body = widget.Stack(p.rows(iw, ih-len(feet)), strings.Join(feet, "\n"))
		title += p.columnsWords()
	}
	return widget.ScrollPane(t, title, p, p.panes.At == paneTable, w, h, body)
}

// feet are the lines below the rows.
func (p *Page) feet(w int) []string {
	t := p.deps.Theme
	var out []string
	if p.grid.column < len(p.about.Columns) {
		c := p.about.Columns[p.grid.column]
		words := fmt.Sprintf(" %s · %s · %s filled · %s distinct", text.Clean(jobs.ShownName(c.Name)), kindsWords(c), c.FillWords(p.about.Rows), c.DistinctWords())
		if !p.about.Done {
			words += fmt.Sprintf(" (of the first %s rows)", text.Count(int(p.about.Rows)))
		}
		out = append(out, t.Muted.Render(text.Cut(words, w)))
	}
	if !p.wide && p.detail.row == p.grid.cursor && len(p.detail.content.Fields) > 0 {
		var changed []string
		for _, f := range p.detail.content.Fields {
			changed = append(changed, fieldChange(f))
		}
		out = append(out, widget.Indent(widget.WrappedTo(t.Warn, strings.Join(changed, " · "), w-2, 2))...)
	}
	for _, name := range p.set.query.Filter.Fields() {
		if p.about.Lacks(name) {
			out = append(out, t.Warn.Render(text.Cut(" ! no row has a field "+text.Clean(query.QuoteName(name)), w)))
		}
	}
	for _, n := range p.set.notes {
		out = append(out, t.Warn.Render(text.Cut(" ! "+text.Clean(n), w)))
	}
	for _, n := range p.state.Notes {
		out = append(out, t.Warn.Render(text.Cut(" ! "+text.Clean(n), w)))
	}
	if p.about.Done && p.about.Damaged > 0 {
		out = append(out, t.Warn.Render(text.Cut(fmt.Sprintf(" ! rows that cannot be read: %d, the first is row %s", p.about.Damaged, text.Count(int(p.about.First+1))), w)))
	}
	if p.about.MoreColumns {
		out = append(out, t.Warn.Render(text.Cut(fmt.Sprintf(" ! there are more columns than the %d that are shown", jobs.ResultMaxColumns), w)))
	}
	if p.err != nil {
		out = append(out, t.Bad.Render(text.Cut(" ✗ "+text.Clean(p.err.Error())+" · "+t.Key("records.reopen")+" opens it again", w)))
	}
	if l := p.progress(); l != "" {
		out = append(out, t.Muted.Render(text.Cut(l, w)))
	}
	if p.line.kind != lineNone && p.line.problem != "" {
		said := widget.Hung(" ", t.Warn, "! "+p.line.problem, w-1)
		out = append(out, said[:min(len(said), 4)]...)
	}
	if l := p.lineView(w); l != "" {
		out = append(out, l)
	}
	return out
}

// kindsWords lists a column's kinds with their counts; its type if there is only one.
func kindsWords(c jobs.ResultColumn) string {
	var words []string
	for k, n := range c.Kinds {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s %s", text.Count(int(n)), jobs.ResultKind(k))) //nolint:gosec // a kind
		}
	}
	if len(words) < 2 {
		return c.Type()
	}
	return strings.Join(words, ", ")
}

// progress says what is under way.
func (p *Page) progress() string {
	at := p.work.progress
	share := func(what string) string {
		if at.Size == 0 {
			return " " + what + "…"
		}
		return fmt.Sprintf(" %s… %d %% · esc stops", what, at.Bytes*100/at.Size)
	}
	switch {
	case p.work.index.Running():
		return share("indexing")
	case p.work.query.Running() && p.set.query.Sort != "":
		return share("sorting")
	case p.work.query.Running() && p.set.query.All():
		return share("comparing")
	case p.work.query.Running():
		return share("filtering")
	case p.work.export.Running():
		return fmt.Sprintf(" writing… %s rows · esc stops", text.Count(int(at.Rows)))
	case p.work.about.Running():
		return fmt.Sprintf(" counting columns… %s rows", text.Count(int(p.about.Rows)))
	}
	return ""
}

// lineView is the line being typed, or what is shown and searched.
func (p *Page) lineView(w int) string {
	l, t := &p.line, p.deps.Theme
	if l.kind != lineNone {
		head := map[lineKind]string{lineFilter: " filter ", lineJQ: " jq ", lineSearch: " / "}[l.kind]
		l.input.SetWidth(max(w-text.Width(head)-1, 8))
		return text.Cut(t.KeyHint.Render(head)+strings.TrimRight(widget.ViewInput(l.input), " "), w)
	}
	var words []string
	if l.search != "" {
		found := "/ " + l.search
		if l.outcome != "" {
			found += " (" + l.outcome + ")"
		}
		words = append(words, found)
	}
	searches := len(words)
	q := p.set.query
	if !q.Filter.Empty() {
		words = append(words, "filter "+q.Filter.String())
	}
	if q.JQ != nil {
		words = append(words, "jq "+q.JQ.String())
	}
	if q.Sort != "" {
		way := "▲"
		if q.Down {
			way = "▼"
		}
		words = append(words, "sorted by "+jobs.ShownName(q.Sort)+" "+way)
	}
	if c := p.set.compared; c != nil && c.OnlyNew {
		words = append(words, fmt.Sprintf("by %s: %s new, %s known", query.QuoteName(c.Key), text.Count(int(c.Added)), text.Count(int(c.Unchanged))))
	} else if c != nil {
		words = append(words, fmt.Sprintf("by %s: %s added, %s changed, %s removed, %s the same", query.QuoteName(c.Key),
			text.Count(int(c.Added)), text.Count(int(c.Changed)), text.Count(int(c.Removed)), text.Count(int(c.Unchanged))))
	}
	if len(words) > searches {
		words = append(words, "esc shows all")
	}
	if len(words) == 0 {
		return ""
	}
	return t.Accent.Render(text.Cut(" "+text.Clean(strings.Join(words, " · ")), w))
}

// rows draws the header and the rows on the screen.
func (p *Page) rows(w, h int) string {
	t, g := p.deps.Theme, &p.grid
	g.page = max(h-heads, 1)
	g.clamp(p.total())
	gutter := max(len(text.Count(int(max(p.state.Rows, 1)))), 3) + 1
	changes := 0
	if p.set.compared != nil {
		changes = 8
	}
	widths := g.widths(p.about, w-gutter-changes-2, g.page)
	g.visible, g.drawn = len(widths), len(widths)
	if n := len(widths); n > 1 && g.firstColumn+n < len(p.about.Columns) {
		g.visible = n - 1 // the last one may be cut
	}
	out := make([]string, 0, h)
	name, kind := strings.Builder{}, strings.Builder{}
	name.WriteString(text.Spaces(gutter + changes + 1))
	kind.WriteString(text.Spaces(gutter + changes + 1))
	for i, width := range widths {
		c := p.about.Columns[g.firstColumn+i]
		ink := t.Title
		if g.firstColumn+i == g.column {
			ink = t.Accent
		}
		name.WriteString(ink.Render(text.Fit(text.Clean(jobs.ShownName(c.Name)), width)) + " ")
		fill := t.Muted
		if c.Filled < p.about.Rows {
			fill = t.Warn
		}
		kind.WriteString(fill.Render(text.Fit(facts(c, p.about), width)) + " ")
	}
	out = append(out, text.Cut(name.String(), w), text.Cut(kind.String(), w))
	if p.total() == 0 {
		out = append(out, t.Muted.Render(text.Cut(" "+p.emptyWords(), w)))
	}
	for k := range int64(g.page) {
		if i := g.top + k; i < p.total() && len(out) < h {
			out = append(out, p.row(i, gutter, changes, widths, w))
		}
	}
	return widget.Block(strings.Join(out, "\n"), w, h)
}

func (p *Page) emptyWords() string {
	switch {
	case p.work.query.Running():
		return "nothing yet"
	case p.set.compared != nil:
		return "nothing differs"
	case !p.set.query.All():
		return "no row matches: esc shows all rows, " + p.deps.Theme.Key("records.filter") + " changes the filter"
	case !p.state.Indexed:
		return "reading the first rows…"
	}
	return "the result holds no records"
}

// row draws one row, or a placeholder until it is read.
func (p *Page) row(i int64, gutter, changes int, widths []int, w int) string {
	t, g := p.deps.Theme, &p.grid
	r, read := g.row(i)
	number := "…"
	if read {
		number = text.Count(int(r.N + 1))
	}
	var b strings.Builder
	on := i == g.cursor
	mark := " "
	if on {
		mark = "›"
	}
	ink := func(k kit.Ink, s string) string {
		if on {
			return s
		}
		return k.Render(s)
	}
	tells := " "
	if r.Error != "" {
		tells = ink(t.Warn, "!")
	}
	b.WriteString(mark + ink(t.Muted, text.FitRight(number, gutter-1)) + tells)
	if changes > 0 {
		how := map[jobs.ResultChange]kit.Ink{jobs.ResultAdded: t.Good, jobs.ResultRemoved: t.Bad, jobs.ResultChanged: t.Warn}[r.Change]
		b.WriteString(ink(how, text.Fit(r.Change.String(), changes)))
	}
	switch {
	case r.Damaged != "":
		words := "! " + text.Clean(r.Damaged)
		if r.Raw != "" {
			words += ": " + text.Clean(r.Raw)
		}
		b.WriteString(ink(t.Warn, text.Cut(words, max(w-gutter-changes-1, 0))))
	case r.Error != "" && p.blank(r, len(widths)):
		b.WriteString(ink(t.Muted, text.Cut(" "+text.Clean(r.Error), max(w-gutter-changes-1, 0))))
	default:
		for k, width := range widths {
			b.WriteString(p.cell(r, read, p.about.Columns[g.firstColumn+k].Name, width, on) + " ")
		}
	}
	if !on {
		return text.Fit(b.String(), w)
	}
	cursor := t.SelectedBlur
	if p.panes.At == paneTable {
		cursor = t.Selected
	}
	return cursor.Render(text.Fit(b.String(), w))
}

// blank reports whether a row says nothing in the n columns on the screen.
func (p *Page) blank(r jobs.ResultRow, n int) bool {
	for _, c := range p.about.Columns[p.grid.firstColumn : p.grid.firstColumn+n] {
		if is, ok := p.grid.cell(r, c.Name); !ok || is.Kind != jobs.ResultMissing && is.Kind != jobs.ResultNull {
			return false
		}
	}
	return true
}

func (p *Page) cell(r jobs.ResultRow, read bool, name string, width int, on bool) string {
	t := p.deps.Theme
	c, ok := p.grid.cell(r, name)
	words, ink := text.Clean(c.Text), kit.Ink{}
	switch {
	case !read || !ok:
		words, ink = "…", t.Muted
	case c.Kind == jobs.ResultMissing:
		words = ""
	case c.Kind == jobs.ResultNull:
		ink = t.Muted
	}
	fit := text.Fit(words, width)
	if c.Kind == jobs.ResultNumber {
		fit = text.FitRight(words, width)
	}
	if on {
		return fit
	}
	return ink.Render(fit)
}

func (p *Page) renderTree(w, h int) string {
	t, focused := p.deps.Theme, p.onTree()
	iw, ih := widget.Inner(w, h)
	d := p.detail
	title := "Row"
	if d.row >= 0 && (d.content.Size > 0 || d.content.Damaged != "") {
		title = "Row " + text.Count(int(d.content.N+1))
	}
	if d.content.Size > 0 { // unknown if the row is too long
		title += " · " + text.Bytes(d.content.Size)
	}
	if d.content.Change != jobs.ResultUnchanged {
		title += " · " + d.content.Change.String()
	}
	var head []string
	switch {
	case d.err != nil:
		head = widget.Wrapped(t.Bad, "✗ "+d.err.Error(), iw)
	case d.content.Damaged != "":
		head = widget.Wrapped(t.Warn, "! "+d.content.Damaged, iw)
		if r, ok := p.grid.row(d.row); ok && r.Raw != "" {
			head = append(append(head, ""), widget.Wrapped(kit.Ink{}, r.Raw, iw)...)
		}
	}
	for _, f := range d.content.Fields {
		head = append(head, widget.Wrapped(t.Warn, fieldChange(f), iw)...)
	}
	head = head[:min(len(head), max(ih-3, 0))]
	if d.content.Damaged != "" || d.err != nil {
		return widget.Pane(t, title, focused, w, h, strings.Join(head, "\n"))
	}
	return widget.ScrollPane(t, title, p.tree, focused, w, h, widget.Stack(append(head, p.tree.Render(focused, iw, ih-len(head)))...))
}

// fieldChange is a field of a changed row with its old value and its new one.
func fieldChange(f jobs.ResultFieldChange) string {
	return jobs.ShownName(f.Name) + ": " + oldValue(f.Old) + " → " + oldValue(f.New)
}

// oldValue is a field's value in a difference.
func oldValue(c jobs.ResultCell) string {
	if c.Kind == jobs.ResultMissing || c.Kind == jobs.ResultNull {
		return c.Kind.String()
	}
	return text.Clean(c.Text)
}

// move moves the cursor by a key.
func (p *Page) move(key tea.KeyPressMsg) tea.Cmd {
	total := int(min(p.total(), 1<<62))
	by, ok := widget.Motion(key.String(), max(p.grid.page, 1), total)
	if !ok {
		return nil
	}
	return p.moveBy(int64(by))
}

func (p *Page) moveBy(by int64) tea.Cmd {
	p.grid.cursor += by
	p.line.outcome = ""
	return p.ensure()
}

// click chooses a row, or a column.
func (p *Page) click(c tea.MouseClickMsg) tea.Cmd {
	hit, ok := p.panes.Under(c.Mouse())
	if !ok {
		return nil
	}
	if p.wide {
		p.panes.At = hit.Pane
	}
	if hit.Pane != paneTable || hit.Line < heads {
		return nil
	}
	if i := p.grid.top + int64(hit.Line-heads); i < p.total() && hit.Line-heads < p.grid.page {
		p.grid.cursor = i
	}
	return p.ensure()
}
