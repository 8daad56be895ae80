package records

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/query"
	"zonedeck/service/records"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Update handles the page's messages and, while it is open, intents, keys and the mouse. It reports
// whether it handled the message.
func (p *Page) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if size, ok := msg.(kit.Resized); ok {
		p.wide = size.W >= besideFrom
		return p.ensure(), false
	}
	if !p.open {
		return nil, false
	}
	if cmd, handled := p.result(msg); handled {
		return cmd, true
	}
	if cmd, handled := p.act(msg); handled {
		return cmd, true
	}
	if p.panes.Update(msg) {
		return p.ensure(), true
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
		if p.line.kind != lineNone {
			p.line.problem = ""
			return widget.UpdateInput(&p.line.input, msg), true
		}
		if press, ok := msg.(tea.KeyPressMsg); ok {
			if p.onTree() {
				return p.tree.Update(press), true
			}
			return p.move(press), true
		}
		return nil, true
	case tea.MouseClickMsg:
		return p.click(msg), true
	case tea.MouseWheelMsg:
		if hit, ok := p.panes.Under(msg.Mouse()); ok && hit.Pane == paneTree {
			return p.tree.Update(msg), true
		}
		if by, ok := widget.Wheel(msg); ok {
			return p.moveBy(int64(by)), true
		}
		return nil, true
	}
	cmd = p.tree.Update(msg)
	return cmd, cmd != nil
}

// result handles the results of commands.
func (p *Page) result(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	switch msg := msg.(type) {
	case opened:
		p.file, p.about, p.state = msg.file, msg.about, msg.state
		return p.ensure(), true
	case indexing:
		p.state, p.work.progress = msg.state, msg.at
		return p.ensure(), true
	case indexed:
		return p.indexed(msg), true
	case counted:
		p.counted(msg)
		return p.ensure(), true
	case begun:
		if p.what.query.Sort == "" {
			p.show(msg.list)
		}
		return p.ensure(), true
	case reached:
		p.work.progress = msg.at
		return p.ensure(), true
	case selected:
		return p.selected(msg), true
	case compared:
		return p.compared(msg), true
	case loaded:
		return p.loaded(msg), true
	case detailed:
		return p.detailed(msg), true
	case searched:
		p.line.said = "searched " + text.Count(int(msg.rows)) + " rows"
		return nil, true
	case hit:
		return p.found(msg), true
	case exported:
		return p.exported(msg), true
	}
	return nil, false
}

func (p *Page) indexed(msg indexed) tea.Cmd {
	if msg.file != nil {
		p.file, p.state = msg.file, msg.state
	}
	if msg.err != nil {
		p.err = msg.err
		if errors.Is(msg.err, context.Canceled) {
			p.err = errors.New("indexing was stopped: r begins again")
		}
		return nil
	}
	if known := p.file.Known(); known.Done {
		p.about = known
		return p.ensure()
	}
	f := p.file
	count := kit.Stream(kit.Jobs, &p.work.about, p.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		about, err := f.Profile(ctx, func(so records.Profile) { emit(counted{about: so}) })
		return counted{about, err, true}
	})
	return tea.Batch(count, p.ensure())
}

// counted takes what is known of the columns. Columns that the table has stay where they are.
func (p *Page) counted(msg counted) {
	if msg.err != nil {
		p.err = msg.err
		return
	}
	at := ""
	if p.grid.column < len(p.about.Columns) {
		at = p.about.Columns[p.grid.column].Name
	}
	p.about = msg.about
	for i, c := range p.about.Columns {
		if c.Name == at {
			p.grid.column = i
		}
	}
	if msg.done {
		p.state = p.file.State()
	}
}

// run shows the rows of a query.
func (p *Page) run(q records.Query) tea.Cmd {
	f := p.file
	if f == nil {
		return nil
	}
	closing := p.dropList()
	p.err = nil
	p.what.query = q
	p.grid.home()
	p.showDetail(-1)
	p.work.query.Drop()
	if q.All() {
		return tea.Batch(closing, p.ensure())
	}
	p.work.progress = records.Progress{Size: f.Size()}
	return tea.Batch(closing, kit.Stream(kit.Jobs, &p.work.query, p.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		is, err := f.Select(ctx, q, func(l *records.RowList) { emit(begun{l}) }, func(at records.Progress) { emit(reached{at}) })
		return selected{q, is, err}
	}))
}

// show shows the rows of a list.
func (p *Page) show(l *records.RowList) {
	p.what.view.List = l
	p.grid.home()
	p.work.load.Drop()
	p.showDetail(-1)
}

func (p *Page) selected(msg selected) tea.Cmd {
	if msg.err != nil {
		p.show(nil)
		p.what = shown{}
		closing := func() tea.Msg {
			_ = msg.Close() // it is temporary
			return nil
		}
		if errors.Is(msg.err, context.Canceled) {
			return tea.Batch(closing, p.ensure(), kit.Info("stopped: every row is shown"))
		}
		return tea.Batch(closing, p.ensure(), kit.Fail("the rows: "+msg.err.Error()))
	}
	if p.what.view.List != msg.is.List {
		p.show(msg.is.List)
	}
	if msg.is.Failed > 0 {
		p.what.notes = append(p.what.notes, fmt.Sprintf("jq failed for %s: %s", text.Counted(int(msg.is.Failed), "row"), msg.is.First))
	}
	return p.ensure()
}

// compare shows what differs from another result; asked is the dialog that it was asked in.
func (p *Page) compare(name string, how records.How, asked *widget.FormDialog) tea.Cmd {
	f, open := p.file, p.deps.Open
	p.work.query.Drop()
	closing := p.dropList()
	p.grid.home()
	p.showDetail(-1)
	p.work.progress = records.Progress{}
	return tea.Batch(closing, kit.Stream(kit.Jobs, &p.work.query, p.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		old, err := open(ctx, name)
		if err != nil {
			return compared{err: err, asked: asked, field: "old"}
		}
		is, err := f.Compare(ctx, old, how, func(at records.Progress) { emit(reached{at}) })
		if err != nil {
			_ = old.Close() // the error before says more
			field := ""
			if errors.As(err, new(*records.KeyError)) {
				field = "key"
			}
			return compared{err: err, asked: asked, field: field}
		}
		return compared{is: &is, old: old}
	}))
}

func (p *Page) compared(msg compared) tea.Cmd {
	if msg.err != nil {
		if errors.Is(msg.err, context.Canceled) {
			return tea.Batch(p.ensure(), kit.Info("stopped: every row is shown"))
		}
		if msg.field != "" {
			edit, _ := msg.asked.Form.Refuse(msg.field, msg.err.Error())
			return tea.Batch(p.ensure(), kit.OpenOverlay(msg.asked), edit)
		}
		return tea.Batch(p.ensure(), kit.Fail("compare: "+msg.err.Error()))
	}
	p.show(msg.is.List)
	p.what = shown{compared: msg.is, view: msg.is.View(), notes: msg.is.Counts()}
	return p.ensure()
}

// ensure reads the rows around the screen if some there are missing, and the row of the cursor for its tree.
func (p *Page) ensure() tea.Cmd {
	if p.file == nil {
		return nil
	}
	g, f, view := &p.grid, p.file, p.what.view
	g.clamp(p.total())
	cmds := []tea.Cmd{}
	names := p.names()
	if from, n := g.missing(p.total(), names); n > 0 {
		g.reading = names
		cmds = append(cmds, kit.Do(kit.Jobs, &p.work.load, p.deps.Ctx, func(ctx context.Context) tea.Msg {
			rows, err := f.Rows(ctx, view, from, n, names)
			return loaded{from, rows, err}
		}))
	}
	if row := g.cursor; p.wantsDetail() && row != p.detail.row && row < p.total() {
		p.showDetail(row)
		cmds = append(cmds, kit.Do(kit.Jobs, &p.work.detail, p.deps.Ctx, func(context.Context) tea.Msg {
			is, err := f.Detail(view, row)
			return detailed{row, is, err}
		}))
	}
	return tea.Batch(cmds...)
}

// names are the columns that are read.
func (p *Page) names() []string {
	out := make([]string, 0, readColumns)
	for i := p.grid.left; i < len(p.about.Columns) && len(out) < readColumns; i++ {
		out = append(out, p.about.Columns[i].Name)
	}
	return out
}

func (p *Page) loaded(msg loaded) tea.Cmd {
	if msg.err != nil {
		if errors.Is(msg.err, context.Canceled) {
			return nil
		}
		p.err = msg.err
		return nil
	}
	p.grid.take(msg.from, msg.rows)
	return p.ensure()
}

func (p *Page) showDetail(row int64) {
	p.detail.row, p.detail.is, p.detail.err = row, records.Detail{}, nil
	p.tree.Close()
}

func (p *Page) detailed(msg detailed) tea.Cmd {
	if msg.row != p.detail.row {
		return nil
	}
	p.detail.is, p.detail.err = msg.is, msg.err
	if msg.err != nil || msg.is.JSON == nil || msg.is.Damaged != "" {
		return nil
	}
	return p.tree.Open(body.Source{Reader: msg.is.JSON, Size: msg.is.Size, Type: "application/json"}, nil)
}

// search looks for the next row, or the one before.
func (p *Page) search(back bool) tea.Cmd {
	if p.line.search == "" || p.file == nil {
		return nil
	}
	want, err := records.ParseFilter(query.QuoteText(p.line.search))
	if err != nil {
		return kit.Warn(err.Error())
	}
	f, view, from := p.file, p.what.view, p.grid.cursor
	p.line.said = "searching…"
	return kit.Stream(kit.Jobs, &p.work.find, p.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		at, ok, err := f.Find(ctx, view, from, back, want, func(n int64) { emit(searched{n}) })
		return hit{at, ok, err}
	})
}

func (p *Page) found(msg hit) tea.Cmd {
	p.line.said = ""
	switch {
	case errors.Is(msg.err, context.Canceled):
		p.line.said = "stopped"
		return nil
	case msg.err != nil:
		return kit.Fail("search: " + msg.err.Error())
	case !msg.ok:
		p.line.said = "no further row"
		return nil
	}
	p.grid.cursor = msg.at
	return p.ensure()
}

// export writes what is shown to a new file; asked is the dialog that it was asked in.
func (p *Page) export(path string, e records.Export, asked *widget.FormDialog) tea.Cmd {
	f, view, save := p.file, p.what.view, p.deps.Save
	p.work.progress = records.Progress{}
	return kit.Stream(kit.Jobs, &p.work.export, p.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		var is records.Written
		name, err := save(path, func(w io.Writer) (err error) {
			is, err = f.Export(ctx, w, view, e, func(at records.Progress) { emit(reached{at}) })
			return err
		})
		return exported{name, is, err, asked}
	})
}

// exportChanges writes a difference to a new file.
func (p *Page) exportChanges(path string, c records.Compared, asked *widget.FormDialog) tea.Cmd {
	f, save := p.file, p.deps.Save
	p.work.progress = records.Progress{}
	return kit.Stream(kit.Jobs, &p.work.export, p.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		name, err := save(path, func(w io.Writer) error {
			return f.WriteChanges(ctx, w, c, func(at records.Progress) { emit(reached{at}) })
		})
		return exported{name, records.Written{Rows: c.List.Len()}, err, asked}
	})
}

func (p *Page) exported(msg exported) tea.Cmd {
	switch {
	case errors.Is(msg.err, context.Canceled):
		return kit.Info("stopped: nothing was written")
	case msg.err != nil:
		edit, _ := msg.asked.Form.Refuse("path", msg.err.Error())
		return tea.Batch(kit.OpenOverlay(msg.asked), edit)
	}
	words := fmt.Sprintf("%s in %s", text.Counted(int(msg.is.Rows), "row"), msg.name)
	if msg.is.Skipped > 0 {
		words += fmt.Sprintf("; left out as unreadable: %s; the first: %s", text.Counted(int(msg.is.Skipped), "row"), msg.is.First)
	}
	if msg.is.Defused > 0 {
		words += fmt.Sprintf("; defused: %s", text.Counted(int(msg.is.Defused), "cell"))
	}
	return kit.Info(words)
}
