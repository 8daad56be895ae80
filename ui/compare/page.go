// Package compare is the page that shows a comparison: of zones and access methods, of the
// logins of zones beside their baseline, of the exits of one login, and of a refused fetch with
// one thing changed. Its rows are the cells of a model.Grid; what is particular to one of these
// four is in its kind.
//
// The Sandbox and the Proxy tab hold a Page each; for a refused fetch it is an overlay over any
// tab. What the page wants of its tab comes as a message to it: Sent, Fill and Login.
package compare

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Comparer plans and sends comparisons; *fetch.Fetcher is one.
type Comparer interface {
	Plan(ctx context.Context, p model.Preset, base model.FetchRequest) (model.Grid, error)
	// Compare makes the runs that cells lack. on receives a cell whenever it changes.
	Compare(ctx context.Context, g model.Grid, on func(i int, c model.Cell)) (model.Grid, error)
	// StopCell stops one cell of a comparison that is under way.
	StopCell(id string, cell int)
}

// History has what was compared before, and the answers to it; *history.History is one.
type History interface {
	LoadComparison(ctx context.Context, id string) (model.Grid, error)
	Answer(ctx context.Context, id string, most int64) (history.Answer, error)
	Difference(ctx context.Context, names, ids [2]string) (history.Difference, error)
	KeepBaseline(ctx context.Context, b model.Baseline) error
	LoadBaseline(ctx context.Context, profile string) (model.Baseline, error)
}

// Keys says what the operator is asked before requests are sent with a key.
type Keys interface {
	// Doubt is the question, or "".
	Doubt(key string) string
	// Confirm hears that the operator said yes to it.
	Confirm(key string)
}

// Deps are the parts the page works with.
type Deps struct {
	Ctx      context.Context //nolint:containedctx // the page lives as long as the program
	Now      func() time.Time
	Theme    *kit.Theme
	Comparer Comparer
	History  History
	// Keys is needed for comparisons of zones alone.
	Keys Keys
	// View is the tab that holds the page; empty for an overlay.
	View kit.ViewID
}

// Messages to the tab that holds the page.
type (
	// Sent says that a request was sent by the zones of the profile in use.
	Sent struct{}
	// Fill asks for the form to hold a request that was sent with a profile, and says Notice about
	// it. Loaded says that the comparison of the history stays on screen.
	Fill struct {
		Request model.FetchRequest
		Profile string
		Notice  string
		Loaded  bool
	}
	// Login asks for the login of a zone.
	Login struct{ Zone string }
)

// kind is what is particular to a kind of comparison.
type kind interface {
	columns() []widget.Column
	row(i int) []widget.Cell
	title() string
	// lines stand below the table; details are about the row under the cursor.
	lines(w int) []string
	details(w int) (title string, lines []string)
	// question is asked before g is sent, unless its Body is empty.
	question(r request, g model.Grid) widget.ConfirmSpec
	// ended says what the end of the calls means, beyond what the grid shows.
	ended(err error) tea.Cmd
	bindings() []kit.Binding
}

// Panes of the page.
const (
	paneTable = iota
	paneDetails
)

// request is what is to be compared.
type request struct {
	preset model.Preset
	base   model.FetchRequest
	from   string // the profile that it was sent with before, if that is another one
	addRun bool   // the comparison on screen gets one more run
}

// Page shows one comparison. While it is open it fills its tab; its calls go on when it is closed.
type Page struct {
	deps    Deps
	at      kit.Place
	session kit.Session

	open bool // it fills the tab
	comparison
	work, load, look kit.Slot
	lookup           looked
	base             baseline
}

// comparison is what is on screen.
type comparison struct {
	kind
	grid    model.Grid
	request request
	sent    bool // the calls were begun, or have ended
	problem string
	loaded  bool // from the history
	leaving bool // an overlay closes when what was cancelled has ended
	above   int  // lines drawn above the table of an overlay
	verdict model.Verdict
	table   widget.Table
	foot    widget.Scroll
	panes   widget.Panes
	placed  int   // the cell at which the page put the cursor
	marks   []int // cells to compare in detail, at most two
}

// New makes a page without a comparison.
func New(d Deps) *Page { return &Page{deps: d, at: d.View} }

// SetSession stores the session.
func (p *Page) SetSession(s kit.Session) { p.session = s }

// Open reports whether the page fills the tab.
func (p *Page) Open() bool { return p.open }

// Close goes back to the tab. What is still being read is dropped: it would open over what is
// shown next.
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

// Forget drops the comparison, and what is under way of it.
func (p *Page) Forget() {
	p.Close()
	p.work.Drop()
	p.base.slot.Drop()
	p.comparison, p.base = comparison{}, baseline{}
}

// Stop stops what is under way.
func (p *Page) Stop() { p.work.Cancel() }

// Summary is the comparison in lines, nil until one was sent.
func (p *Page) Summary(w int) []string {
	if !p.sent {
		return nil
	}
	_, details := p.details(w)
	return slices.Concat(widget.Wrapped(p.deps.Theme.Strong, p.title(), w), p.lines(w), details)
}

// Running counts what is in flight: the cells of a comparison of zones, otherwise the comparison.
func (p *Page) Running() int {
	if p.grid.Kind != model.CompareZones {
		return kit.Running(&p.work)
	}
	n := 0
	for _, c := range p.grid.Cells {
		if c.Active {
			n++
		}
	}
	return n
}

// show puts a comparison on screen.
func (p *Page) show(g model.Grid, r request) {
	p.work.Drop()
	p.open, p.comparison = true, comparison{kind: p.kindOf(g.Kind), grid: g, request: r, panes: widget.Panes{N: 2}}
	p.fill()
}

func (p *Page) kindOf(k model.Comparison) kind {
	switch k {
	case model.CompareLogins:
		return logins{p}
	case model.CompareExits:
		return exits{logins{p}}
	case model.CompareRefusal:
		return refusal{p}
	default:
		return zones{p}
	}
}

// fill lists the cells, and judges them. The cursor goes to the winner, unless the operator moved it.
func (p *Page) fill() {
	p.table.Columns = p.columns()
	p.table.SetRows(len(p.grid.Cells), p.row)
	p.verdict = model.Verdict{Winner: -1}
	if len(p.grid.Cells) > 0 {
		p.verdict = p.grid.Verdict()
	}
	if p.verdict.Winner >= 0 && p.Running() == 0 && p.table.Cursor() == p.placed {
		p.place(p.verdict.Winner)
	}
}

// place brings the cursor to a cell that the operator did not choose.
func (p *Page) place(cell int) {
	p.placed, p.foot = cell, widget.Scroll{}
	p.table.SetCursor(cell)
}

// plan plans a comparison; then takes it.
func (p *Page) plan(r request, then func(model.Grid, error) tea.Cmd) tea.Cmd {
	comparer := p.deps.Comparer
	return kit.Load(p.at, &p.load, p.deps.Ctx, func(ctx context.Context) (model.Grid, error) {
		return comparer.Plan(ctx, r.preset, r.base)
	}, func(g model.Grid, err error) tea.Cmd {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return then(g, err)
	})
}

// preview shows what would be sent; then is called when it is on screen.
func (p *Page) preview(r request, then func() tea.Cmd) tea.Cmd {
	p.problem = ""
	return p.plan(r, func(g model.Grid, err error) tea.Cmd {
		if err != nil {
			p.problem = oneLine(err)
			return nil
		}
		p.grid = g
		p.fill()
		return then()
	})
}

// try plans a comparison and sends it, or asks first, or says why not.
func (p *Page) try(r request) tea.Cmd {
	if why := p.session.NotReady(); why != "" {
		return kit.Warn("Nothing can be compared: " + why)
	}
	return p.plan(r, func(g model.Grid, err error) tea.Cmd {
		switch {
		case err != nil:
			return kit.Fail("The comparison could not be made: " + oneLine(err))
		case len(g.Cells) == 0:
			return kit.Warn("There is no zone to compare: the profile has none.")
		}
		if g.Kind == model.CompareZones && r.preset.Zones == nil {
			first := chosen(g, 1)
			if !p.session.Local { // no zone is paid for that nobody chose
				first = model.Preset{Zones: append(zonesOf(p.grid), r.base.Zone), Ways: []model.Via{model.ViaAPI, model.ViaNative, r.base.Via}, Repeat: 1}
			}
			return p.askZones(r, first)
		}
		spec := p.kindOf(g.Kind).question(r, g)
		if spec.Body == "" {
			return p.start(r, g)
		}
		spec.View, spec.Intent = p.deps.View, sendPlanned{r, g}
		return widget.Confirm(p.deps.Theme, spec)
	})
}

// start sends a comparison in place of the one before, or one more run of that.
func (p *Page) start(r request, g model.Grid) tea.Cmd {
	if r.addRun {
		p.grid.Repeat++
		return p.send()
	}
	g.Base.Retries = 0
	if g.Kind != model.CompareZones {
		g.Started = p.deps.Now()
	}
	p.show(g, r)
	p.place(max(p.cellBy(r.base.Zone.Name, r.base.Via), 0))
	cmd := p.send()
	if g.Kind == model.CompareZones {
		cmd = tea.Batch(kit.SendTo(p.deps.View, Sent{}), cmd)
	}
	return cmd
}

// cellChanged is a cell as it is now.
type cellChanged struct {
	i    int
	cell model.Cell
}

// send makes the runs that the cells lack.
func (p *Page) send() tea.Cmd {
	p.sent, p.problem = true, ""
	g := p.grid
	g.Cells, g.KeepGoing = slices.Clone(g.Cells), true
	for i := range p.grid.Cells { // until they have begun
		c := &p.grid.Cells[i]
		if p.grid.Kind == model.CompareZones {
			c.Problem = ""
		}
		c.Active = c.Problem == "" && p.grid.Kind != model.CompareRefusal
	}
	p.fill()
	compare := p.deps.Comparer.Compare
	return kit.Follow(p.at, &p.work, p.deps.Ctx, func(ctx context.Context, emit func(cellChanged)) (model.Grid, error) {
		return compare(ctx, g, func(i int, c model.Cell) { emit(cellChanged{i, c}) })
	}, func(c cellChanged) tea.Cmd {
		p.grid.Cells[c.i] = c.cell
		p.fill()
		return nil
	}, func(g model.Grid, err error) tea.Cmd {
		if len(g.Cells) > 0 {
			p.grid = g
		}
		for i := range p.grid.Cells {
			p.grid.Cells[i].Active = false
		}
		switch {
		case errors.Is(err, context.Canceled):
			p.problem = "stopped: not every call was made"
		case err != nil:
			p.problem = oneLine(err)
		}
		p.fill()
		return p.ended(err)
	})
}

// cellBy is the number of a zone's cell by a method, or by another; -1 without one.
func (p *Page) cellBy(zone model.ZoneName, via model.Via) int {
	at := slices.IndexFunc(p.grid.Cells, func(c model.Cell) bool { return c.Zone.Name == zone && c.Via == via })
	if at < 0 {
		at = slices.IndexFunc(p.grid.Cells, func(c model.Cell) bool { return c.Zone.Name == zone })
	}
	return at
}

// cell is the number of the cell under the cursor; false without cells.
func (p *Page) cell() (int, bool) {
	i := p.table.Cursor()
	return i, i < len(p.grid.Cells)
}

// newest is the newest run of the cell under the cursor; false without one.
func (p *Page) newest() (model.Run, bool) {
	i, ok := p.cell()
	if !ok || len(p.grid.Cells[i].Runs) == 0 {
		return model.Run{}, false
	}
	runs := p.grid.Cells[i].Runs
	return runs[len(runs)-1], true
}

// elapsed is how long the calls have been going on.
func (p *Page) elapsed() string {
	return p.deps.Theme.Accent.Render("● " + text.Duration(p.deps.Now().Sub(p.grid.Started)) + " · esc stops it")
}

// PriceWords say what n calls of the test page to each of some zones cost.
func (p *Page) PriceWords(n int, zones ...model.Zone) string {
	return p.price(n, p.pageBytes(1024), zones)
}

// price says what n calls to each of some zones cost, as far as the profile says it: a real account pays for each.
func (p *Page) price(n int, bytes int64, zones []model.Zone) string {
	if p.session.Local {
		return "The emulator charges nothing."
	}
	var dollars float64
	var unpriced []string
	size := ""
	for _, z := range zones {
		cost, priced := z.Rate.Cost(float64(n), float64(n)*float64(bytes))
		if name := cmp.Or(string(z.Name), "agent access"); !priced && !slices.Contains(unpriced, name) {
			unpriced = append(unpriced, name)
		}
		if z.Rate.PerGB > 0 {
			size = " with " + text.Bytes(bytes) + " a call"
		}
		dollars += cost
	}
	var parts []string
	if dollars > 0 {
		parts = append(parts, "About "+model.SmallDollars(dollars)+size+" on this account.")
	}
	if len(unpriced) > 0 {
		parts = append(parts, "Unpriced: the profile has no rate for "+strings.Join(unpriced, ", ")+". 'zonedeck zones rates --set' writes one.")
	}
	return strings.Join(parts, " ")
}

// pageBytes is the size of the page of the comparison on screen, the largest that was received, or what such a page has.
func (p *Page) pageBytes(usual int64) (most int64) {
	for _, c := range p.grid.Cells {
		for _, r := range c.Runs {
			most = max(most, r.Bytes)
		}
	}
	return cmp.Or(most, usual)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
