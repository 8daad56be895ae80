// Package records is the page of the Jobs tab that shows a downloaded result row by row, however large it is: a
// table whose columns say what is in them, search, filters, sorting, a row as a tree, export, and the difference
// to another result.
//
// The tab holds a Page and passes it messages. Only the rows on the screen are read, in commands.
package records

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body/jsontree"
	"zonedeck/ui/kit/widget"
)

// Deps are the parts the page works with; all are required.
type Deps struct {
	Ctx   context.Context //nolint:containedctx // the page lives as long as the program
	Theme *kit.Theme
	// Open opens a result by the path of its file or the identifier of its job in the ledger.
	Open func(ctx context.Context, name string) (*jobs.ResultFile, error)
	// Save makes a new file that fill writes, and returns its name. It replaces none.
	Save func(path string, fill func(io.Writer) error) (string, error)
}

// Page shows one result. While it is open it fills the tab.
type Page struct {
	deps   Deps
	name   string // what was opened: a job or a file
	title  string
	open   bool
	wide   bool // the tree is next to the table
	file   *jobs.ResultFile
	state  jobs.ResultState
	about  jobs.ResultProfile
	err    error
	set    rowSet
	grid   grid
	line   line
	tree   *jsontree.View
	detail detail
	panes  widget.Panes
	work   work
}

// rowSet is which rows the table shows, and why.
type rowSet struct {
	query    jobs.ResultQuery
	view     jobs.ResultView
	compared *jobs.ResultCompared
	notes    []string // what the query left out
}

// total is how many rows there are to show now.
func (p *Page) total() int64 {
	if p.set.view.Rows != nil {
		return p.set.view.Rows.Len()
	}
	return p.state.Rows
}

// line is the input line below the table.
type line struct {
	input   textinput.Model
	kind    lineKind
	problem string
	search  string // what n and N look for
	outcome string // what the search came to
}

type lineKind int

const (
	lineNone lineKind = iota
	lineFilter
	lineJQ
	lineSearch
)

// work is the work in flight.
type work struct {
	index, about, query, load, detail, find, export slot
	progress                                        jobs.ResultProgress
}

type slot = kit.Slot

// detail is the row whose tree is shown.
type detail struct {
	row     int64 // in the view; -1 for none
	content jobs.ResultDetail
	err     error
	full    bool // it fills the page
}

// New makes a page without a result.
func New(d Deps) *Page {
	p := &Page{deps: d, panes: widget.Panes{N: 2}}
	p.tree = jsontree.New(d.Ctx, kit.Jobs, d.Theme)
	p.detail.row = -1
	return p
}

// Open reports whether the page fills the tab.
func (p *Page) Open() bool { return p.open }

// FileMissing reports whether the page shows that its result's file is gone.
func (p *Page) FileMissing() bool { return p.open && p.file == nil && errors.Is(p.err, fs.ErrNotExist) }

// CapturingText reports whether a line is being typed.
func (p *Page) CapturingText() bool { return p.open && p.line.kind != lineNone }

// Running counts the work that quitting would interrupt.
func (p *Page) Running() int { return kit.Running(&p.work.export) }

// Show opens the page on a result.
func (p *Page) Show(name, title string) tea.Cmd {
	closing := p.release()
	p.open, p.name, p.title, p.err, p.file = true, name, title, nil, nil
	p.state, p.about, p.set = jobs.ResultState{}, jobs.ResultProfile{}, rowSet{}
	p.grid, p.line, p.panes = grid{}, line{}, widget.Panes{N: 2}
	p.showDetail(-1)
	p.detail.full = false
	open := p.deps.Open
	return tea.Batch(closing, kit.Follow(kit.Jobs, &p.work.index, p.deps.Ctx, func(ctx context.Context, emit func(indexing)) (indexed, error) {
		f, err := open(ctx, name)
		if err != nil {
			return indexed{}, err
		}
		begun := false
		begin := func() {
			if begun || f.State().Rows == 0 {
				return
			}
			begun = true
			head := f.Known()
			if !head.Done {
				var err error
				if head, err = f.Head(ctx); err != nil {
					return // indexing reports it
				}
			}
			emit(indexing{about: &head, state: f.State(), file: f})
		}
		begin()
		err = f.Index(ctx, func(at jobs.ResultProgress) {
			begin()
			emit(indexing{at: at, state: f.State()})
		})
		begin()
		return indexed{f, f.State()}, err
	}, p.indexing, p.indexed))
}

// Hide closes the page.
func (p *Page) Hide() tea.Cmd {
	if !p.open {
		return nil
	}
	p.open = false
	if p.work.export.Running() {
		return tea.Batch(p.release(), kit.Warn("the rows were not written: their page was closed"))
	}
	return p.release()
}

// release closes what is open, in a command.
func (p *Page) release() tea.Cmd {
	for _, s := range []*slot{&p.work.index, &p.work.about, &p.work.query, &p.work.load, &p.work.detail, &p.work.find, &p.work.export} {
		s.Drop()
	}
	p.tree.Close()
	f, list := p.file, p.dropList()
	p.file = nil
	return tea.Batch(list, func() tea.Msg {
		if f != nil {
			_ = f.Close() // it was only read
		}
		return nil
	})
}

// dropList closes the list on the screen and, for a difference, the other file.
func (p *Page) dropList() tea.Cmd {
	v := p.set.view
	p.set = rowSet{}
	p.work.load.Drop()
	p.work.detail.Drop()
	p.work.find.Drop()
	p.line.outcome = ""
	if v.Rows == nil {
		return nil
	}
	return func() tea.Msg {
		_ = v.Rows.Close() // it is temporary
		if v.Old != nil {
			_ = v.Old.Close() // it was only read
		}
		return nil
	}
}

// indexing is the progress of an index. about is set once, when the columns are known before the index.
type indexing struct {
	about *jobs.ResultProfile
	at    jobs.ResultProgress
	state jobs.ResultState
	file  *jobs.ResultFile
}

// indexed is a file with its index.
type indexed struct {
	file  *jobs.ResultFile
	state jobs.ResultState
}

// Close closes the file if nobody waits for it any more.
func (i indexed) Close() error {
	if i.file == nil {
		return nil
	}
	return i.file.Close()
}

// selecting is the progress of a query: first the list that gets its rows.
type selecting struct {
	rows *jobs.ResultRowList
	at   jobs.ResultProgress
}

// selected is what a query gave.
type selected struct{ jobs.ResultSelection }

// Close closes what nobody waits for any more.
func (s selected) Close() error { return s.Rows.Close() }

// compared is a difference from another result.
type compared struct {
	result *jobs.ResultCompared
	old    *jobs.ResultFile
}

// Close closes what nobody waits for any more.
func (c compared) Close() error {
	if c.result == nil {
		return nil
	}
	_ = c.result.Rows.Close() // it is temporary
	return c.old.Close()
}
