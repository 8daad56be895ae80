package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Twins sends a request by several zones and access methods; service.Client is one.
type Twins interface {
	// RunCell makes the runs of one cell. on receives the cell after each of them.
	RunCell(ctx context.Context, r model.FetchRequest, c model.TwinCell, runs int, on func(model.TwinCell)) (model.TwinCell, error)
	// KeepTwin keeps a comparison in the history and returns it with its identifier.
	KeepTwin(ctx context.Context, t model.Twin) model.Twin
	LoadTwin(ctx context.Context, id string) (model.Twin, error)
}

// twinPage compares zones and access methods for one request. While it is open it fills
// the tab; its cells run on when it is closed.
type twinPage struct {
	open bool
	twin model.Twin
	// zones and ways are the rows and the columns: the cell of row r and column c is
	// number r*len(ways)+c of the twin.
	zones []model.Zone
	ways  []model.Via
	slots []kit.Slot // of the cells
	table widget.Table
	col   int
	marks []int // cells to compare in detail, at most two
	// winner and reason are the twin's, as of its last change.
	winner int
	reason string
	failed bool // the operator was told that a cell could not be sent
	// sure names the profiles whose zones the operator agreed to compare.
	sure map[string]bool
}

// Messages of a comparison.
type (
	// cellRan is a cell after one more run, cellEnded after the last.
	cellRan struct {
		i    int
		cell model.TwinCell
	}
	cellEnded struct {
		i    int
		cell model.TwinCell
		err  error
	}
	twinKept   struct{ twin model.Twin }
	twinLoaded struct {
		id, profile string
		twin        model.Twin
		err         error
	}
)

// defaultWays are the columns of a comparison.
func defaultWays() []model.Via { return []model.Via{model.ViaAPI, model.ViaNative} }

// fetchesPages reports whether a zone is compared unless the operator chooses others: its
// product returns the page that was asked for.
func fetchesPages(p model.Product) bool {
	return p.Network() || p == model.ProductUnlocker || p == model.ProductBrowser || p == model.ProductUnknown
}

// compare opens the comparison of the form's request, and sends it if there is none yet.
func (m *Model) compare() tea.Cmd {
	m.endEditing()
	m.form.tried = true
	m.refresh()
	p := &m.twin
	same := p.twin.Profile == m.session.ProfileName && sameTarget(p.twin.Request, m.form.request)
	if len(p.twin.Cells) > 0 && (same || p.running() > 0) {
		p.open = true
		if !same {
			return kit.Warn("This comparison is still running. When it has ended, w compares the form's request.")
		}
		return nil
	}
	for _, pr := range m.form.problems {
		if pr.Severity == stop && pr.Field != fieldZone && pr.Field != fieldVia {
			m.result.trouble = "Not sent: " + string(pr.Field) + ": " + pr.Text
			m.focus(paneForm)
			return m.toField(pr.Field)
		}
	}
	zones := slices.DeleteFunc(slices.Clone(m.session.Zones), func(z model.Zone) bool {
		return !fetchesPages(z.Product) && z.Name != m.form.request.Zone.Name
	})
	if len(zones) == 0 && m.form.request.Zone.Name != "" {
		zones = []model.Zone{m.form.request.Zone}
	}
	return m.tryTwin(compareZones{request: m.form.request, from: m.form.profile, zones: zones, ways: defaultWays(), runs: 1})
}

// sameTarget reports whether two requests differ in no more than zone, access method and
// retries.
func sameTarget(a, b model.FetchRequest) bool {
	a.Zone, a.Via, a.Retries = b.Zone, b.Via, b.Retries
	a.Format, b.Format = cmp.Or(a.Format, model.FormatRaw), cmp.Or(b.Format, model.FormatRaw)
	return reflect.DeepEqual(a, b)
}

// tryTwin starts a comparison, asks first, or says why not.
func (m *Model) tryTwin(c compareZones) tea.Cmd {
	switch {
	case !m.session.Ready:
		return kit.Warn(m.notReady())
	case len(c.zones) == 0:
		return kit.Warn("There is no zone to compare: the profile names none.")
	}
	if body := m.twinDoubts(c); body != "" && !c.sure {
		c.sure = true
		return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
			Title: "Compare " + text.Counted(len(c.zones), "zone") + "?", Body: body, Yes: "send them", View: kit.Sandbox, Intent: c,
		})
	}
	if m.twin.sure == nil {
		m.twin.sure = map[string]bool{}
	}
	m.twin.sure[m.session.ProfileName] = true
	if c.more {
		m.twin.twin.Repeat++
	} else {
		m.form.profile = ""
		m.startTwin(c)
	}
	return m.runCells()
}

// twinDoubts is what the operator is asked before a comparison is sent, or "": what it
// costs on a real account, and whether a request of another profile is meant.
func (m *Model) twinDoubts(c compareZones) string {
	var body []string
	if c.from != "" {
		body = append(body, fmt.Sprintf("This request was sent with profile %s. The zones and the key are those of profile %s.", c.from, m.session.ProfileName))
	}
	if p, doubt := first(m.form.problems, ask); doubt && p.Field == fieldKey && c.request.Key == m.form.request.Key {
		body = append(body, p.Text)
	}
	if n := len(c.zones) * len(c.ways) * c.runs; !m.session.Local && (!m.twin.sure[m.session.ProfileName] || n > manyFetches) {
		body = append(body, fmt.Sprintf("%s to profile %s at once, each billed like any other, by these zones: %s.", text.Counted(n, "request"), m.session.ProfileName, names(c.zones)))
	}
	return strings.Join(body, "\n\n")
}

// manyFetches is how many fetches of one comparison are asked about each time.
const manyFetches = 40

func names(zones []model.Zone) string {
	list := make([]string, len(zones))
	for i, z := range zones {
		list[i] = string(z.Name)
	}
	return strings.Join(list, ", ")
}

// startTwin makes a comparison, in place of the one before, without sending it.
func (m *Model) startTwin(c compareZones) {
	t := model.Twin{Profile: m.session.ProfileName, Request: c.request, Repeat: c.runs}
	t.Request.Zone, t.Request.Via, t.Request.Retries = model.Zone{}, "", 0
	for _, z := range c.zones {
		for _, via := range c.ways {
			t.Cells = append(t.Cells, model.TwinCell{Zone: z, Via: via})
		}
	}
	m.showTwin(t)
}

// showTwin puts a comparison on screen.
func (m *Model) showTwin(t model.Twin) {
	p := &m.twin
	for i := range p.slots {
		p.slots[i].Drop()
	}
	m.work.keep.Drop()
	*p = twinPage{open: true, twin: t, slots: make([]kit.Slot, len(t.Cells)), sure: p.sure}
	for _, c := range t.Cells {
		if !slices.Contains(p.ways, c.Via) {
			p.ways = append(p.ways, c.Via)
		}
		if !slices.ContainsFunc(p.zones, func(z model.Zone) bool { return z.Name == c.Zone.Name }) {
			p.zones = append(p.zones, c.Zone)
		}
	}
	p.table.Columns = twinColumns(p.ways)
	p.table.SetRows(len(p.zones), m.twinRow)
	p.judge()
	m.endEditing()
}

// judge names the winner anew.
func (p *twinPage) judge() { p.winner, p.reason = p.twin.Winner() }

// grid reports whether cells are every zone by every method, zone by zone.
func grid(cells []model.TwinCell) bool {
	n := 0 // methods
	for n < len(cells) && cells[n].Zone.Name == cells[0].Zone.Name {
		n++
	}
	for i, c := range cells {
		if n == 0 || len(cells)%n != 0 || c.Via != cells[i%n].Via || c.Zone.Name != cells[i-i%n].Zone.Name {
			return false
		}
	}
	return n > 0
}

// runCells makes the runs that each cell lacks.
func (m *Model) runCells() tea.Cmd {
	m.twin.failed = false
	var cmds []tea.Cmd
	for i, c := range m.twin.twin.Cells {
		cmds = append(cmds, m.runCell(i, m.twin.twin.Repeat-len(c.Runs)))
	}
	return tea.Batch(cmds...)
}

func (m *Model) runCell(i, runs int) tea.Cmd {
	t := &m.twin
	run, request, cell := m.deps.Twins.RunCell, t.twin.Request, t.twin.Cells[i]
	return kit.Stream(kit.Sandbox, &t.slots[i], m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		cell, err := run(ctx, request, cell, runs, func(c model.TwinCell) { emit(cellRan{i: i, cell: c}) })
		return cellEnded{i: i, cell: cell, err: err}
	})
}

// running counts the cells with a run in flight.
func (p *twinPage) running() int {
	n := 0
	for i := range p.slots {
		n += kit.Running(&p.slots[i])
	}
	return n
}

// cell is the number of the cell under the cursor; false without cells.
func (p *twinPage) cell() (int, bool) {
	i := p.table.Cursor()*len(p.ways) + p.col
	return i, i < len(p.twin.Cells)
}

// updateTwin handles the messages of comparisons.
func (m *Model) updateTwin(msg tea.Msg) tea.Cmd {
	p := &m.twin
	switch msg := msg.(type) {
	case cellRan:
		p.twin.Cells[msg.i] = msg.cell
		p.judge()
	case cellEnded:
		return m.cellEnded(msg)
	case twinKept:
		p.twin.ID, p.twin.Started = msg.twin.ID, msg.twin.Started
	case twinDiffed:
		return m.twinDiffed(msg)
	case twinLoaded:
		if errors.Is(msg.err, context.Canceled) {
			return nil
		}
		if msg.err != nil {
			return kit.Fail("Comparison " + msg.id + " could not be opened: " + msg.err.Error())
		}
		if m.twin.running() > 0 {
			return kit.Warn("Another comparison is still running: open this one when it has ended.")
		}
		if !grid(msg.twin.Cells) {
			return kit.Fail("Comparison " + msg.id + " could not be opened: its cells are not every zone by every method")
		}
		msg.twin.Profile = msg.profile
		return m.historyTwin(msg.twin)
	}
	return nil
}

// cellEnded keeps the comparison when the last of its cells has ended.
func (m *Model) cellEnded(msg cellEnded) tea.Cmd {
	p := &m.twin
	var fault tea.Cmd
	switch {
	case errors.Is(msg.err, context.Canceled):
		msg.cell.Problem = "cancelled"
	case msg.err != nil:
		msg.cell.Problem = oneLine(msg.err)
		if p.failed {
			break // the cells say the rest
		}
		p.failed = true
		fault = kit.Fail(fmt.Sprintf("%s by %s was not sent: %v", msg.cell.Zone.Name, msg.cell.Via, msg.err))
	}
	p.twin.Cells[msg.i] = msg.cell
	p.judge()
	if p.running() > 0 {
		return fault
	}
	keep, twin := m.deps.Twins.KeepTwin, p.twin
	twin.Cells = slices.Clone(twin.Cells)
	return tea.Batch(fault, m.loadHistory(), kit.Do(kit.Sandbox, &m.work.keep, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		return twinKept{keep(ctx, twin)}
	}))
}

// openTwin loads a comparison from the history. Nothing is sent.
func (m *Model) openTwin(id, profile string) tea.Cmd {
	load := m.deps.Twins.LoadTwin
	return kit.Do(kit.Sandbox, &m.work.load, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		twin, err := load(ctx, id)
		return twinLoaded{id: id, profile: profile, twin: twin, err: err}
	})
}

// historyTwin shows a comparison of the history, and fills the form with its request.
func (m *Model) historyTwin(t model.Twin) tea.Cmd {
	at := max(0, slices.IndexFunc(t.Cells, func(c model.TwinCell) bool { return c.Zone.Name == m.form.request.Zone.Name }))
	if i, _ := t.Winner(); i >= 0 {
		at = i
	}
	changed := m.setForm(m.draftOfCell(t, at))
	m.showTwin(t)
	if changed {
		return kit.Info("The form holds this request now; U undoes this.")
	}
	return nil
}

// draftOfCell is the form for the request of a comparison by one of its cells. The key of
// another profile is left out, as in draftOfShown.
func (m *Model) draftOfCell(t model.Twin, i int) draft {
	r := t.Request
	r.Zone, r.Via = t.Cells[i].Zone, t.Cells[i].Via
	d := draftOf(r)
	if m.foreign(t.Profile) {
		d.Key, d.Profile = m.session.Key.Name, t.Profile
	}
	return d
}

// whyNotAgain returns the reason why the comparison on screen cannot be sent again, or "".
func (m *Model) whyNotAgain() string {
	p := &m.twin
	switch {
	case p.running() > 0:
		return "cells are still running; c cancels one"
	case m.foreign(p.twin.Profile):
		return "it was made with profile " + p.twin.Profile
	}
	for name, values := range p.twin.Request.Header {
		if slices.Contains(values, masked) {
			return "the journal does not keep the value of " + name + ": type it in the form, and compare that"
		}
	}
	if u, err := model.ParseTarget(p.twin.Request.URL); err != nil || u.User != nil {
		return "the journal does not keep the login in the address"
	}
	return ""
}

// adopt fills the form with the request of the comparison, by the winner's zone and method.
func (m *Model) adopt() tea.Cmd {
	p := &m.twin
	if p.winner < 0 {
		return nil
	}
	c := p.twin.Cells[p.winner]
	d := m.draftOfCell(p.twin, p.winner)
	m.setForm(d)
	return kit.Info(fmt.Sprintf("The form has %s by %s now: %s. ctrl+j sends.", c.Zone.Name, c.Via, p.reason))
}

// openCell shows the newest run of the cell under the cursor. Nothing is sent.
func (m *Model) openCell() tea.Cmd {
	p := &m.twin
	i, ok := p.cell()
	if !ok || len(p.twin.Cells[i].Runs) == 0 {
		return nil
	}
	runs := p.twin.Cells[i].Runs
	return m.reopen(runs[len(runs)-1].Fetch, p.twin.Profile)
}

// mark marks the cell under the cursor, or takes the mark away. The older of two marks
// gives way to a third.
func (p *twinPage) mark() {
	i, ok := p.cell()
	if !ok {
		return
	}
	if at := slices.Index(p.marks, i); at >= 0 {
		p.marks = slices.Delete(p.marks, at, at+1)
		return
	}
	p.marks = append(p.marks, i)
	if len(p.marks) > 2 {
		p.marks = p.marks[1:]
	}
}

// chooseZones asks for zones, methods and runs.
func (m *Model) chooseZones() tea.Cmd {
	p := &m.twin
	both := "both"
	way := both
	if len(p.ways) == 1 {
		way = string(p.ways[0])
	}
	fields := []widget.Field{
		{Name: "runs", Label: "Runs", Value: strconv.Itoa(max(p.twin.Repeat, 1)), Help: "How often each zone is tried by each method, one run after the other.", Check: checkRuns},
		{Name: "ways", Label: "Methods", Kind: widget.FieldChoice, Value: way, Options: []widget.Option{
			{Value: both, Label: "API and Native"}, {Value: string(model.ViaAPI), Label: "API"}, {Value: string(model.ViaNative), Label: "Native"},
		}},
	}
	zones := m.session.Zones
	for _, z := range zones {
		on := ""
		if slices.ContainsFunc(p.zones, func(o model.Zone) bool { return o.Name == z.Name }) {
			on = "true"
		}
		fields = append(fields, widget.Field{Name: "zone " + string(z.Name), Label: string(z.Name), Kind: widget.FieldToggle, Value: on, Help: z.Product.Label()})
	}
	d := widget.NewFormDialog(m.deps.Theme, "What to compare", widget.NewForm(m.deps.Theme, fields...))
	d.Submit = "send"
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		c := compareZones{request: p.twin.Request, ways: defaultWays()}
		c.runs, _ = strconv.Atoi(strings.TrimSpace(f.Value("runs"))) // Check has read it
		if way := f.Value("ways"); way != both {
			c.ways = []model.Via{model.Via(way)}
		}
		for _, z := range zones {
			if f.On("zone " + string(z.Name)) {
				c.zones = append(c.zones, z)
			}
		}
		if len(c.zones) == 0 {
			d.Problem = "choose at least one zone"
			return nil
		}
		return tea.Sequence(kit.CloseOverlay(d), kit.SendTo(kit.Sandbox, c))
	}
	return kit.OpenOverlay(d)
}

func checkRuns(s string) error {
	if n, err := strconv.Atoi(strings.TrimSpace(s)); err != nil || n < 1 || n > model.MaxTwinRuns {
		return fmt.Errorf("write a number from 1 to %d", model.MaxTwinRuns)
	}
	return nil
}
