// Package drift is the page of the Jobs tab that shows which collectors have changed: a board of them, and the
// fields of one over its runs.
//
// The tab holds a Page and passes it messages.
package drift

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Monitor is the part of the service that the page uses. Every call may block and is made in a command.
type Monitor interface {
	List(ctx context.Context) ([]jobs.DriftStanding, error)
	// Show shows a collector as of the run of a job, or of the newest one if ref is empty.
	Show(ctx context.Context, kind jobs.DriftKind, name, ref string) (jobs.DriftDetail, error)
	// Accept accepts the newest run, which must be seq, and returns how the collector then stands.
	Accept(ctx context.Context, kind jobs.DriftKind, name string, seq int64, reason string) (jobs.DriftStanding, error)
	TakeBack(ctx context.Context, kind jobs.DriftKind, name string) error
	// ToEdit names the file of the contract, which need not exist.
	ToEdit(kind jobs.DriftKind, name string) (string, error)
}

// Deps are the parts the page works with.
type Deps struct {
	Ctx     context.Context
	Now     func() time.Time
	Theme   *kit.Theme
	Monitor Monitor
	// Edit prepares the operator's editor for a file; nil if none is set.
	Edit func(file string) tea.ExecCommand
}

// Page is the board and, below it, one collector. While it is open it fills the tab.
type Page struct {
	deps   Deps
	open   bool
	board  board
	detail detail
	work   kit.Slot // accepts, takes back, writes
}

// board is the list of collectors.
type board struct {
	standings []jobs.DriftStanding
	loaded    bool
	err       error // nothing could be read
	wrong     error // a contract cannot be read
	table     widget.Table
	slot      kit.Slot
}

// detail is the collector whose fields are shown.
type detail struct {
	open bool
	ref  string // the job whose run was asked for; empty for the newest one
	jobs.DriftDetail
	wrong error // its contract cannot be read
	table widget.Table
	slot  kit.Slot
}

// New makes a page that is closed.
func New(d Deps) *Page { return &Page{deps: d} }

// Open reports whether the page fills the tab.
func (p *Page) Open() bool { return p.open }

// Close closes the page. Results that arrive later do not open it again.
func (p *Page) Close() {
	p.open = false
	p.board.slot.Drop()
	p.detail.slot.Drop()
}

// Running counts the work in flight.
func (p *Page) Running() int { return kit.Running(&p.work) }

// Show opens the page as it was left, and reads what it shows.
func (p *Page) Show() tea.Cmd {
	p.open = true
	return p.reload()
}

// ShowJob opens the page with the fields of a job's result.
func (p *Page) ShowJob(j model.Job) tea.Cmd {
	p.open = true
	return tea.Batch(p.load(), p.show(jobs.DriftSubject{Profile: j.Profile, Kind: jobs.DriftDataset, Name: j.Dataset}, j.ID))
}

// Refresh reads again what an open page shows: a fetch or download elsewhere may have changed it.
func (p *Page) Refresh() tea.Cmd {
	if !p.open {
		return nil
	}
	return p.reload()
}

// Forget drops what belongs to another profile.
func (p *Page) Forget() tea.Cmd {
	was := p.open
	p.Close()
	p.board.standings, p.board.loaded, p.board.err, p.board.wrong, p.board.table = nil, false, nil, nil, widget.Table{}
	p.detail.open, p.detail.DriftDetail, p.detail.wrong, p.detail.table = false, jobs.DriftDetail{}, nil, widget.Table{}
	if !was {
		return nil
	}
	return p.Show()
}

func (p *Page) load() tea.Cmd {
	m := p.deps.Monitor
	return kit.Load(kit.Jobs, &p.board.slot, p.deps.Ctx, m.List, p.listed)
}

func (p *Page) show(of jobs.DriftSubject, ref string) tea.Cmd {
	m := p.deps.Monitor
	p.detail.ref = ref
	return kit.Load(kit.Jobs, &p.detail.slot, p.deps.Ctx, func(ctx context.Context) (jobs.DriftDetail, error) {
		return m.Show(ctx, of.Kind, of.Name, ref)
	}, p.showDetail)
}

// reload reads again what is on the screen.
func (p *Page) reload() tea.Cmd {
	if p.detail.open {
		return tea.Batch(p.load(), p.show(p.detail.Run.Subject, p.detail.ref))
	}
	return p.load()
}

// selected is the collector under the cursor, or the one that is shown.
func (p *Page) selected() (jobs.DriftStanding, bool) {
	if p.detail.open {
		return p.detail.Standing, true
	}
	if i := p.board.table.Cursor(); i < len(p.board.standings) {
		return p.board.standings[i], true
	}
	return jobs.DriftStanding{}, false
}

// line is the field under the cursor.
func (p *Page) line() (jobs.DriftLine, bool) {
	if i := p.detail.table.Cursor(); p.detail.open && i < len(p.detail.Lines) {
		return p.detail.Lines[i], true
	}
	return jobs.DriftLine{}, false
}

// Update handles keys and the mouse, while the page is open.
func (p *Page) Update(msg tea.Msg) {
	table := &p.board.table
	if p.detail.open {
		table = &p.detail.table
	}
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		table.Click(msg.Y - 1) // the table is inside the frame
	case tea.MouseWheelMsg, tea.KeyPressMsg:
		table.Update(msg)
	}
}

func (p *Page) listed(list []jobs.DriftStanding, err error) tea.Cmd {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	p.board.loaded, p.board.err, p.board.wrong = true, nil, nil
	var fault *jobs.DriftContractError
	if errors.As(err, &fault) {
		p.board.wrong = err
	} else if err != nil {
		p.board.err = err
		return nil
	}
	p.board.standings = list
	p.fillBoard()
	return nil
}

func (p *Page) showDetail(d jobs.DriftDetail, err error) tea.Cmd {
	var fault *jobs.DriftContractError
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &fault):
		p.detail.wrong = err
	case err != nil:
		return kit.Fail("the fields cannot be shown: " + err.Error())
	default:
		p.detail.wrong = nil
	}
	if !p.detail.open || p.detail.Run.Subject != d.Run.Subject {
		p.detail.table = widget.Table{}
	}
	p.detail.open, p.detail.DriftDetail = true, d
	p.fillDetail()
	return nil
}

// ended reports the outcome of an action, and reads again what it changed.
func (p *Page) ended(err error, doing, done string) tea.Cmd {
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, jobs.ErrContractNewer):
		return tea.Batch(kit.Fail(doing+": "+err.Error()), p.reload())
	case err != nil:
		return kit.Fail(doing + ": " + err.Error())
	case done == "":
		return p.reload()
	}
	return tea.Batch(kit.Info(done), p.reload())
}

// located opens the file of a contract.
func (p *Page) located(file string, err error) tea.Cmd {
	if err != nil {
		return p.ended(err, "the contract", "")
	}
	if p.deps.Edit == nil {
		return p.ended(nil, "", "the contract is "+file+": set $EDITOR to edit it here")
	}
	return tea.Exec(p.deps.Edit(file), func(err error) tea.Msg {
		return kit.Call(kit.Jobs, func() tea.Cmd { return p.ended(err, "the editor", "") })
	})
}
