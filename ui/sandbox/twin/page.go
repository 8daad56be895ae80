// Package twin is the Sandbox's page that compares zones and access methods for one
// request: all cells are sent at once, the winner is named with its reason, and two
// marked cells show how their answers differ.
//
// The Sandbox holds a Page and passes it messages. What the page wants of the Sandbox
// comes as a message to it: Sent, Ended, Fill, and kit.OpenFetch.
package twin

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/widget"
)

// Comparer plans and sends comparisons; *fetch.Fetcher is one.
type Comparer interface {
	Plan(ctx context.Context, p model.Preset, base model.FetchRequest) (model.Grid, error)
	// Compare makes the runs that cells lack. on receives a cell whenever it changes.
	Compare(ctx context.Context, g model.Grid, on func(i int, c model.Cell)) (model.Grid, error)
	// StopCell stops one cell of a comparison that is under way.
	StopCell(id string, cell int)
	LoadComparison(ctx context.Context, id string) (model.Grid, error)
}

// Deps are the parts the page works with.
type Deps struct {
	Ctx   context.Context
	Now   func() time.Time
	Theme *kit.Theme
	Twins Comparer
	// LoadFetch reads a fetch from the journal, and Open its body; both are called in
	// commands.
	LoadFetch func(ctx context.Context, id string) (model.FetchResult, error)
	Open      func(ctx context.Context, b model.BodyRef) (body.Source, error)
	// NotReady says why nothing can be sent yet; it is asked while the session is not
	// ready.
	NotReady func() string
	// Doubt is what the operator is asked before requests are sent with a key, or "".
	Doubt func(key string) string
	// Confirmed hears that the operator said yes to that.
	Confirmed func(key string)
}

// Messages to the Sandbox.
type (
	// Sent says that a request was sent by the zones of the profile in use.
	Sent struct{}
	// Ended says that no cell is running any more.
	Ended struct{}
	// Fill asks for the form to hold a request that was sent with a profile, and says
	// Notice about it.
	Fill struct {
		Request model.FetchRequest
		Profile string
		Notice  string
	}
)

// Page compares zones and access methods for one request. While it is open it fills
// the tab; its cells run on when it is closed.
type Page struct {
	deps    Deps
	session kit.Session

	open bool
	grid
	work, load, look kit.Slot
	lookup           looked
}

// grid is the comparison on screen.
type grid struct {
	twin model.Grid
	// zones and ways are the rows and the columns: the cell of row r and column c is
	// number r*len(ways)+c of the twin. Agent access is the last row, with one cell across
	// all columns, the last of the twin.
	zones  []model.Zone
	ways   []model.Via
	loaded bool // from the history
	room   int  // how wide a column of cells is
	table  widget.Table
	col    int
	marks  []int // cells to compare in detail, at most two
	// winner and reason are the twin's, as of its last change.
	winner int
	reason string
}

// New makes a page without a comparison.
func New(d Deps) *Page { return &Page{deps: d} }

// SetSession stores the session.
func (p *Page) SetSession(s kit.Session) { p.session = s }

// Open reports whether the page fills the tab.
func (p *Page) Open() bool { return p.open }

// Close goes back to the Sandbox. A difference or a comparison that is still being read is
// dropped: it would open over what is shown next.
func (p *Page) Close() {
	p.open = false
	p.load.Drop()
}

// Blur drops a difference that is still being worked out: it would open over another tab.
func (p *Page) Blur() {
	if p.open {
		p.load.Drop()
	}
}

// click goes to the cell under the pointer; the table is inside the frame.
func (p *Page) click(msg tea.MouseClickMsg) {
	if !p.table.Click(msg.Y - 1) {
		return
	}
	if col, ok := p.table.ColumnAt(msg.X - 1); ok && col >= 1 && col <= len(p.ways) {
		p.col = col - 1
	}
}

// Update handles the intents of Bindings and, while the page is
// open, keys and the mouse. It reports whether it handled the message.
func (p *Page) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if cmd, handled := p.act(msg); handled || !p.open {
		return cmd, handled
	}
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		p.click(msg)
	case tea.MouseWheelMsg, tea.KeyPressMsg, tea.PasteMsg:
		p.table.Update(msg)
	default:
		return nil, false
	}
	return nil, true
}
