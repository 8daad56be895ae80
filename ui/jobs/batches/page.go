// Package batches is the page of the Jobs tab about batches: a board of them, and one batch as it goes on.
//
// The tab holds a Page and passes it messages.
package batches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Batches is the part of the use case that the page uses. Every call but Attended and Folder may block and is made in a
// command. See service/batch.
type Batches interface {
	List(ctx context.Context) ([]batch.State, error)
	Waiting(ctx context.Context, profile string) ([]batch.State, error)
	Watch(ctx context.Context, id string, on func(batch.Progress)) error
	Start(ctx context.Context, r batch.Report) (batch.State, error)
	Discard(r batch.Report) error
	// Begin works on a batch beside other things, until it is over or the program ends.
	Begin(ctx context.Context, id string) error
	Pause(ctx context.Context, id string) (batch.State, error)
	Set(ctx context.Context, id string, to batch.Settings) (batch.State, error)
	Decide(ctx context.Context, id string, again bool) (batch.State, error)
	Newest(ctx context.Context, id string, n int, failed bool) ([]batch.Result, error)
	Request(ctx context.Context, id string, n int64) (model.FetchRequest, error)
	// Attended counts the batches that this process works on.
	Attended() int
	Folder(id string) string
}

// Planner plans a batch of the rows of a file, whose path was typed. Nothing is sent.
type Planner interface {
	PlanBatch(ctx context.Context, path string, d batch.Draft) (batch.Report, error)
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Deps are the parts the page works with.
type Deps struct {
	Ctx     context.Context //nolint:containedctx // the page lives as long as the program
	Clock   Clock
	Theme   *kit.Theme
	Batches Batches
	Planner Planner
}

// Page is the board and, below it, one batch. While it is open it fills the tab.
type Page struct {
	deps    Deps
	session kit.Session
	open    bool
	board   board
	one     one
	draft   draft
	work    kit.Slot // begins, pauses, changes
	waiting waiting
}

// board is the list of batches.
type board struct {
	states []batch.State
	loaded bool
	err    error
	table  widget.Table
	slot   kit.Slot
}

// waiting are the batches that go on only if the operator does something.
type waiting struct {
	count int
	slot  kit.Slot
}

// one is the batch that is shown.
type one struct {
	open  bool
	watch kit.Slot
	batch.Progress
	err    error // it can no longer be watched
	byItem bool  // a small screen shows the items in place of the hosts
	items  items
}

// items are its newest results.
type items struct {
	list   []batch.Result
	failed bool // those alone that are not ok
	loaded bool
	err    error
	tries  int64     // of the batch when they were read
	due    time.Time // when they may be read again: reading many takes a while
	table  widget.Table
	slot   kit.Slot
	opened kit.Slot // the request of one
}

// New makes a page that is closed.
func New(d Deps) *Page { return &Page{deps: d} }

// Open reports whether the page fills the tab.
func (p *Page) Open() bool { return p.open }

// Find shows one batch for another tab.
func (p *Page) Find(id string) tea.Cmd {
	p.open = true
	return kit.Load(kit.Jobs, &p.board.slot, p.deps.Ctx, p.deps.Batches.List, func(all []batch.State, err error) tea.Cmd {
		listed := p.listed(all, err)
		if i := slices.IndexFunc(p.board.states, func(s batch.State) bool { return s.ID == id }); i >= 0 {
			return tea.Batch(listed, p.show(p.board.states[i]))
		}
		return tea.Batch(listed, kit.Warn("batch "+id+" no longer exists"))
	})
}

// Running counts the work that quitting would interrupt: batches that this process works on, and what is being written.
func (p *Page) Running() int {
	return kit.Running(&p.work, &p.draft.slot) + p.deps.Batches.Attended()
}

// AtWork says how many batches are worked on, as far as the page has seen them; "" for none.
func (p *Page) AtWork() string {
	live := 0
	for _, s := range p.board.states {
		if s.ID == p.one.ID && p.one.open { // which is watched, while the board is not read
			s = p.one.State
		}
		if s.Live {
			live++
		}
	}
	attended := p.deps.Batches.Attended()
	switch {
	case attended > 0:
		return text.Counted(attended, "batch") + " at work"
	case live > 0 && p.open:
		return fmt.Sprintf("%d at work", live) // in other processes; as long as "0 running", whose place it takes
	}
	return ""
}

// SetSession stores a session, and looks for batches of a new profile that wait.
func (p *Page) SetSession(s kit.Session) tea.Cmd {
	before := p.session.ProfileName
	if p.session = s; s.ProfileName == before {
		return nil
	}
	b, w := p.deps.Batches, &p.waiting
	return kit.Load(kit.Jobs, &w.slot, p.deps.Ctx, func(ctx context.Context) ([]batch.State, error) {
		return b.Waiting(ctx, s.ProfileName)
	}, func(all []batch.State, err error) tea.Cmd {
		if w.count = len(all); w.count == 0 || err != nil { // the page says what is wrong
			return nil
		}
		others := ""
		if w.count > 1 {
			others = fmt.Sprintf(" (and %d more)", w.count-1)
		}
		return kit.Warn(fmt.Sprintf("batch %s is %s%s · %s in Jobs shows it", name(all[0]), all[0].Condition(), others, p.deps.Theme.Key("jobs.batches")))
	})
}

// Waiting counts the batches of the profile that go on only if the operator does something.
func (p *Page) Waiting() int { return p.waiting.count }

// Show opens the page as it was left, and reads what it shows.
func (p *Page) Show() tea.Cmd {
	p.open = true
	if p.one.open {
		return p.show(p.one.State)
	}
	return p.load()
}

// Close closes the page. What this process works on goes on.
func (p *Page) Close() {
	p.open = false
	p.board.slot.Drop()
	p.one.watch.Drop()
}

// Tick reads the board again, or the items of the batch that is shown if some came.
func (p *Page) Tick() tea.Cmd {
	o := &p.one
	switch it := &o.items; {
	case !p.open || p.board.slot.Running() || it.slot.Running():
	case !o.open:
		return p.load()
	case o.byItem && it.tries != o.Tally.Tries && !p.deps.Clock.Now().Before(it.due):
		return p.loadItems()
	}
	return nil
}

func (p *Page) load() tea.Cmd {
	return kit.Load(kit.Jobs, &p.board.slot, p.deps.Ctx, p.deps.Batches.List, p.listed)
}

func (p *Page) listed(all []batch.State, err error) tea.Cmd {
	if !errors.Is(err, context.Canceled) {
		p.board.states, p.board.err, p.board.loaded = all, err, true
		p.waiting.count = 0
		for _, s := range all {
			if s.Waits(p.session.ProfileName) {
				p.waiting.count++
			}
		}
		p.fillBoard()
	}
	return nil
}

// show shows one batch, and watches it until the page is left.
func (p *Page) show(s batch.State) tea.Cmd {
	if s.ID != p.one.ID {
		p.one.items.slot.Drop()
		p.one.items = items{}
		p.one.byItem = false
	}
	p.one.open, p.one.Progress, p.one.err = true, batch.Progress{State: s}, nil
	b := p.deps.Batches
	return kit.Follow(kit.Jobs, &p.one.watch, p.deps.Ctx, func(ctx context.Context, emit func(batch.Progress)) (struct{}, error) {
		return struct{}{}, b.Watch(ctx, s.ID, emit)
	}, func(now batch.Progress) tea.Cmd {
		p.one.Progress = now
		return nil
	}, func(_ struct{}, err error) tea.Cmd {
		if !errors.Is(err, context.Canceled) {
			p.one.err = err
		}
		return nil
	})
}

// itemsShown is how many results the list of items has.
const itemsShown = 200

// loadItems reads the newest results.
func (p *Page) loadItems() tea.Cmd {
	b, id, failed, it := p.deps.Batches, p.one.ID, p.one.items.failed, &p.one.items
	began := p.deps.Clock.Now()
	it.tries = p.one.Tally.Tries
	return kit.Load(kit.Jobs, &it.slot, p.deps.Ctx, func(ctx context.Context) ([]batch.Result, error) {
		return b.Newest(ctx, id, itemsShown, failed)
	}, func(list []batch.Result, err error) tea.Cmd {
		if !errors.Is(err, context.Canceled) {
			it.list, it.err, it.loaded = list, err, true
			now := p.deps.Clock.Now()
			it.due = now.Add(10 * now.Sub(began))
			p.fillItems()
		}
		return nil
	})
}

// selected is the batch under the cursor, or the one that is shown.
func (p *Page) selected() (batch.State, bool) {
	if p.one.open {
		return p.one.State, true
	}
	if i := p.board.table.Cursor(); i < len(p.board.states) {
		return p.board.states[i], true
	}
	return batch.State{}, false
}

// item is the result under the cursor.
func (p *Page) item() (batch.Result, bool) {
	it := &p.one.items
	if i := it.table.Cursor(); p.one.open && p.one.byItem && i < len(it.list) {
		return it.list[i], true
	}
	return batch.Result{}, false
}

// Update handles keys and the mouse, while the page is open.
func (p *Page) Update(msg tea.Msg) {
	table := &p.board.table
	if p.one.open {
		table = &p.one.items.table
	}
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		if !p.one.open {
			table.Click(msg.Y - 1) // the table is inside the frame
		}
	case tea.MouseWheelMsg, tea.KeyPressMsg:
		table.Update(msg)
	}
}

// ended reports the outcome of an action.
func (p *Page) ended(s batch.State, err error, done string) tea.Cmd {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return kit.Fail(err.Error())
	}
	cmds := []tea.Cmd{p.load()}
	if p.one.open && p.one.ID == s.ID {
		p.one.State = s
	}
	if done != "" {
		cmds = append(cmds, kit.Info(done))
	}
	return tea.Batch(cmds...)
}
