package records

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/jobs"
	"zonedeck/service/query"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Resize takes the size of the tab.
func (p *Page) Resize(size kit.Resized) tea.Cmd {
	p.wide = size.W >= besideFrom
	return p.ensure()
}

// Update handles keys, the mouse and the tree's messages while the page is open.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case widget.PaneIntent:
		p.panes.Update(msg)
		return p.ensure()
	case tea.KeyPressMsg, tea.PasteMsg:
		if p.line.kind != lineNone {
			p.line.problem = ""
			return widget.UpdateInput(&p.line.input, msg)
		}
		press, ok := msg.(tea.KeyPressMsg)
		switch {
		case !ok:
			return nil
		case p.onTree():
			return p.tree.Update(press)
		}
		return p.move(press)
	case tea.MouseClickMsg:
		return p.click(msg)
	case tea.MouseWheelMsg:
		if hit, ok := p.panes.Under(msg.Mouse()); ok && hit.Pane == paneTree {
			return p.tree.Update(msg)
		}
		if by, ok := widget.Wheel(msg); ok {
			return p.moveBy(int64(by))
		}
		return nil
	}
	return p.tree.Update(msg)
}

func (p *Page) indexing(i indexing) tea.Cmd {
	p.state = i.state
	if i.about != nil {
		p.file, p.about = i.file, *i.about
	} else {
		p.work.progress = i.at
	}
	return p.ensure()
}

func (p *Page) indexed(i indexed, err error) tea.Cmd {
	if i.file != nil {
		p.file, p.state = i.file, i.state
	}
	if err != nil {
		p.err = err
		if errors.Is(err, context.Canceled) {
			p.err = errors.New("indexing was stopped: " + p.deps.Theme.Key("records.reopen") + " starts again")
		}
		return nil
	}
	if known := p.file.Known(); known.Done {
		p.about = known
		return p.ensure()
	}
	f := p.file
	count := kit.Follow(kit.Jobs, &p.work.about, p.deps.Ctx, f.Profile, func(about jobs.ResultProfile) tea.Cmd {
		p.counted(about)
		return p.ensure()
	}, func(about jobs.ResultProfile, err error) tea.Cmd {
		if err != nil {
			p.err = err
			return p.ensure()
		}
		p.counted(about)
		p.state = p.file.State()
		return p.ensure()
	})
	return tea.Batch(count, p.ensure())
}

// counted takes what is known about the columns. The chosen column stays chosen.
func (p *Page) counted(about jobs.ResultProfile) {
	at := ""
	if p.grid.column < len(p.about.Columns) {
		at = p.about.Columns[p.grid.column].Name
	}
	p.about = about
	for i, c := range p.about.Columns {
		if c.Name == at {
			p.grid.column = i
		}
	}
}

// run shows the rows of a query.
func (p *Page) run(q jobs.ResultQuery) tea.Cmd {
	f := p.file
	if f == nil {
		return nil
	}
	closing := p.dropList()
	p.err = nil
	p.set.query = q
	p.grid.home()
	p.showDetail(-1)
	p.work.query.Drop()
	if q.All() {
		return tea.Batch(closing, p.ensure())
	}
	p.work.progress = jobs.ResultProgress{Size: f.Size()}
	return tea.Batch(closing, kit.Follow(kit.Jobs, &p.work.query, p.deps.Ctx, func(ctx context.Context, emit func(selecting)) (selected, error) {
		is, err := f.Select(ctx, q, func(l *jobs.ResultRowList) { emit(selecting{rows: l}) }, func(at jobs.ResultProgress) { emit(selecting{at: at}) })
		return selected{is}, err
	}, p.selecting, p.selected))
}

func (p *Page) selecting(s selecting) tea.Cmd {
	switch {
	case s.rows == nil:
		p.work.progress = s.at
	case p.set.query.Sort == "":
		p.show(s.rows)
	}
	return p.ensure()
}

// reached is how far an export or a comparison is.
func (p *Page) reached(at jobs.ResultProgress) tea.Cmd {
	p.work.progress = at
	return p.ensure()
}

// show shows the rows of a list.
func (p *Page) show(l *jobs.ResultRowList) {
	p.set.view.Rows = l
	p.grid.home()
	p.work.load.Drop()
	p.showDetail(-1)
}

func (p *Page) selected(s selected, err error) tea.Cmd {
	if err != nil {
		p.show(nil)
		p.set = rowSet{}
		closing := func() tea.Msg {
			_ = s.Close() // it is temporary
			return nil
		}
		if errors.Is(err, context.Canceled) {
			return tea.Batch(closing, p.ensure(), kit.Info("stopped: all rows are shown"))
		}
		return tea.Batch(closing, p.ensure(), kit.Fail("filtering the rows: "+err.Error()))
	}
	if p.set.view.Rows != s.Rows {
		p.show(s.Rows)
	}
	if s.Failed > 0 {
		p.set.notes = append(p.set.notes, fmt.Sprintf("jq failed for %s: %s", text.Counted(int(s.Failed), "row"), s.First))
	}
	return p.ensure()
}

// compare shows what differs from another result; asked is the dialog that asked for it.
func (p *Page) compare(name string, how jobs.ResultHow, asked *widget.FormDialog) tea.Cmd {
	f, open := p.file, p.deps.Open
	p.work.query.Drop()
	closing := p.dropList()
	p.grid.home()
	p.showDetail(-1)
	p.work.progress = jobs.ResultProgress{}
	return tea.Batch(closing, kit.Follow(kit.Jobs, &p.work.query, p.deps.Ctx, func(ctx context.Context, emit func(jobs.ResultProgress)) (compared, error) {
		old, err := open(ctx, name)
		if err != nil {
			return compared{}, &fieldError{"old", err}
		}
		is, err := f.Compare(ctx, old, how, emit)
		if err != nil {
			_ = old.Close() // the error before says more
			if errors.As(err, new(*jobs.ResultKeyError)) {
				err = &fieldError{"key", err}
			}
			return compared{}, err
		}
		return compared{&is, old}, nil
	}, p.reached, func(c compared, err error) tea.Cmd { return p.compared(c.result, asked, err) }))
}

// fieldError is an error about a field of the dialog.
type fieldError struct {
	field string
	error
}

func (e *fieldError) Unwrap() error { return e.error }

func (p *Page) compared(c *jobs.ResultCompared, asked *widget.FormDialog, err error) tea.Cmd {
	var wrong *fieldError
	switch {
	case errors.Is(err, context.Canceled):
		return tea.Batch(p.ensure(), kit.Info("stopped: all rows are shown"))
	case errors.As(err, &wrong):
		edit, _ := asked.Form.Refuse(wrong.field, err.Error())
		return tea.Batch(p.ensure(), kit.OpenOverlay(asked), edit)
	case err != nil:
		return tea.Batch(p.ensure(), kit.Fail("compare: "+err.Error()))
	}
	p.show(c.Rows)
	p.set = rowSet{compared: c, view: c.View(), notes: c.Counts()}
	return p.ensure()
}

// ensure reads the rows around the screen if some are missing, and the row at the cursor for its tree.
func (p *Page) ensure() tea.Cmd {
	if p.file == nil {
		return nil
	}
	g, f, view := &p.grid, p.file, p.set.view
	g.clamp(p.total())
	cmds := []tea.Cmd{}
	names := p.names()
	if from, n := g.missing(p.total(), names); n > 0 {
		g.reading = names
		cmds = append(cmds, kit.Load(kit.Jobs, &p.work.load, p.deps.Ctx, func(ctx context.Context) ([]jobs.ResultRow, error) {
			return f.Rows(ctx, view, from, n, names)
		}, func(rows []jobs.ResultRow, err error) tea.Cmd { return p.loaded(from, rows, err) }))
	}
	if row := g.cursor; p.wantsDetail() && row != p.detail.row && row < p.total() {
		p.showDetail(row)
		cmds = append(cmds, kit.Load(kit.Jobs, &p.work.detail, p.deps.Ctx, func(context.Context) (jobs.ResultDetail, error) {
			return f.Detail(view, row)
		}, func(is jobs.ResultDetail, err error) tea.Cmd { return p.detailed(row, is, err) }))
	}
	return tea.Batch(cmds...)
}

// names are the columns that are read.
func (p *Page) names() []string {
	out := make([]string, 0, readColumns)
	for i := p.grid.firstColumn; i < len(p.about.Columns) && len(out) < readColumns; i++ {
		out = append(out, p.about.Columns[i].Name)
	}
	return out
}

func (p *Page) loaded(from int64, rows []jobs.ResultRow, err error) tea.Cmd {
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		p.err = err
		return nil
	}
	p.grid.setRows(from, rows)
	return p.ensure()
}

func (p *Page) showDetail(row int64) {
	p.detail.row, p.detail.content, p.detail.err = row, jobs.ResultDetail{}, nil
	p.tree.Close()
}

func (p *Page) detailed(row int64, is jobs.ResultDetail, err error) tea.Cmd {
	if row != p.detail.row {
		return nil
	}
	p.detail.content, p.detail.err = is, err
	if err != nil || is.JSON == nil || is.Damaged != "" {
		return nil
	}
	return p.tree.Open(body.Source{Reader: is.JSON, Size: is.Size, Type: "application/json"}, nil)
}

// found is the row that a search came to; -1 is none.
type found struct {
	row     int64
	wrapped bool // past the end of the rows, or past their beginning
}

// search looks for the next row from one on, or for the one before it, and goes on at the other end of the rows.
func (p *Page) search(from int64, back bool) tea.Cmd {
	if p.line.search == "" || p.file == nil {
		return nil
	}
	want, err := jobs.ParseResultFilter(query.QuoteText(p.line.search))
	if err != nil {
		return kit.Warn(err.Error())
	}
	f, view, end := p.file, p.set.view, int64(-1)
	if back {
		end = p.total()
	}
	p.line.outcome = "searching…"
	return kit.Follow(kit.Jobs, &p.work.find, p.deps.Ctx, func(ctx context.Context, emit func(int64)) (is found, err error) {
		row, ok, err := f.Find(ctx, view, from, back, want, emit)
		if err == nil && !ok {
			is.wrapped = true
			row, ok, err = f.Find(ctx, view, end, back, want, emit)
		}
		if is.row = row; !ok {
			is.row = -1
		}
		return is, err
	}, func(rows int64) tea.Cmd {
		p.line.outcome = "searched " + text.Count(int(rows)) + " rows"
		return nil
	}, func(is found, err error) tea.Cmd { return p.foundRow(is, back, err) })
}

// foundRow goes to the row that a search found.
func (p *Page) foundRow(is found, back bool, err error) tea.Cmd {
	p.line.outcome = ""
	switch {
	case errors.Is(err, context.Canceled):
		p.line.outcome = "stopped"
		return nil
	case err != nil:
		return kit.Fail("search: " + err.Error())
	case is.row < 0:
		p.line.outcome = "not found"
		return nil
	case is.wrapped && back:
		p.line.outcome = "wrapped past the first row"
	case is.wrapped:
		p.line.outcome = "wrapped past the last row"
	}
	p.grid.cursor = is.row
	return p.ensure()
}

// written is an export.
type written struct {
	name string
	jobs.ResultWritten
}

// export writes what is shown to a new file; asked is the dialog that asked for it.
func (p *Page) export(path string, e jobs.ResultExport, asked *widget.FormDialog) tea.Cmd {
	f, view := p.file, p.set.view
	return p.write(path, asked, func(ctx context.Context, w io.Writer, on func(jobs.ResultProgress)) (jobs.ResultWritten, error) {
		return f.Export(ctx, w, view, e, on)
	})
}

// exportChanges writes a difference to a new file.
func (p *Page) exportChanges(path string, c jobs.ResultCompared, asked *widget.FormDialog) tea.Cmd {
	f := p.file
	return p.write(path, asked, func(ctx context.Context, w io.Writer, on func(jobs.ResultProgress)) (jobs.ResultWritten, error) {
		return jobs.ResultWritten{Rows: c.Rows.Len()}, f.WriteChanges(ctx, w, c, on)
	})
}

func (p *Page) write(path string, asked *widget.FormDialog, f func(context.Context, io.Writer, func(jobs.ResultProgress)) (jobs.ResultWritten, error)) tea.Cmd {
	save := p.deps.Save
	p.work.progress = jobs.ResultProgress{}
	return kit.Follow(kit.Jobs, &p.work.export, p.deps.Ctx, func(ctx context.Context, emit func(jobs.ResultProgress)) (is written, err error) {
		is.name, err = save(path, func(w io.Writer) (err error) {
			is.ResultWritten, err = f(ctx, w, emit)
			return err
		})
		return is, err
	}, p.reached, func(is written, err error) tea.Cmd { return p.exported(is, asked, err) })
}

func (p *Page) exported(is written, asked *widget.FormDialog, err error) tea.Cmd {
	switch {
	case errors.Is(err, context.Canceled):
		return kit.Info("stopped: nothing was written")
	case err != nil:
		edit, _ := asked.Form.Refuse("path", err.Error())
		return tea.Batch(kit.OpenOverlay(asked), edit)
	}
	words := fmt.Sprintf("wrote %s to %s", text.Counted(int(is.Rows), "row"), is.name)
	if is.Skipped > 0 {
		words += fmt.Sprintf("; left out %s that cannot be read; the first: %s", text.Counted(int(is.Skipped), "row"), is.First)
	}
	if is.Defused > 0 {
		words += fmt.Sprintf("; kept from being formulas: %s", text.Counted(int(is.Defused), "cell"))
	}
	return kit.Info(words)
}
