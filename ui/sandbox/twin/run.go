package twin

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

// Messages of a comparison.
type (
	// planned is what compareZones asked for.
	planned struct {
		compareZones
		grid model.Grid
	}
	// cellChanged is a cell as it is now.
	cellChanged struct {
		i    int
		cell model.Cell
	}
)

// Show opens the page.
func (p *Page) Show() { p.open = true }

// ShowFor opens the comparison of a request at the request's own zone, if there is one with that
// zone on screen already; running says that it is another one, which has not ended.
func (p *Page) ShowFor(r model.FetchRequest) (shown, running bool) {
	same := p.twin.Profile == p.session.ProfileName && sameTarget(p.twin.Base, r) && p.moveTo(r.Zone.Name, r.Via)
	if len(p.twin.Cells) == 0 || !same && p.running() == 0 {
		return false, false
	}
	p.open = true
	return true, !same
}

// moveTo brings the cursor to a zone's cell by a method, or reports that the zone is not among
// those that are compared.
func (p *grid) moveTo(zone model.ZoneName, via model.Via) bool {
	row := slices.IndexFunc(p.zones, func(z model.Zone) bool { return z.Name == zone })
	if row < 0 {
		return false
	}
	p.table.SetCursor(row)
	p.col = max(slices.Index(p.ways, via), 0)
	return true
}

// Compare sends a request once by every zone of the profile that fetches pages, and by its
// own, or asks first. from is the profile that it was sent with, if that is another one.
func (p *Page) Compare(r model.FetchRequest, from string) tea.Cmd {
	return p.try(compareZones{request: r, from: from, preset: model.Preset{Repeat: 1}})
}

// sameTarget reports whether two requests differ in no more than zone, access method and
// retries.
func sameTarget(a, b model.FetchRequest) bool {
	a.Zone, a.Via, a.Retries = b.Zone, b.Via, b.Retries
	a.Format, b.Format = cmp.Or(a.Format, model.FormatRaw), cmp.Or(b.Format, model.FormatRaw)
	return reflect.DeepEqual(a, b)
}

// try plans a comparison, or says why not.
func (p *Page) try(c compareZones) tea.Cmd {
	if !p.session.Ready {
		return kit.Warn(p.deps.NotReady())
	}
	plan := p.deps.Twins.Plan
	return kit.Load(kit.Sandbox, &p.load, p.deps.Ctx, func(ctx context.Context) (model.Grid, error) {
		return plan(ctx, c.preset, c.request)
	}, func(g model.Grid, err error) tea.Cmd { return p.planned(planned{c, g}, err) })
}

// planned starts a comparison, asks first, or says why not.
func (p *Page) planned(msg planned, err error) tea.Cmd {
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return kit.Fail("The comparison could not be made: " + oneLine(err))
	case len(msg.grid.Cells) == 0:
		return kit.Warn("There is no zone to compare: the profile names none.")
	}
	if body := p.doubts(msg); body != "" {
		zones := slices.DeleteFunc(zonesOf(msg.grid), func(z model.Zone) bool { return z.Name == "" })
		return widget.Confirm(p.deps.Theme, widget.ConfirmSpec{
			Title: "Compare " + text.Counted(len(zones), "zone") + "?", Body: body, Yes: "send them", View: kit.Sandbox, Intent: sendPlanned{msg},
		})
	}
	return p.start(msg)
}

// doubts is what the operator is asked before a comparison is sent, or "": what it
// costs on a real account, and whether a request of another profile is meant.
func (p *Page) doubts(msg planned) string {
	var body []string
	if msg.from != "" {
		body = append(body, fmt.Sprintf("This request was sent with profile %s. The zones and the key are those of profile %s.", msg.from, p.session.ProfileName))
	}
	g := msg.grid
	by := func(via model.Via) bool {
		return slices.ContainsFunc(g.Cells, func(c model.Cell) bool { return c.Via == via })
	}
	if doubt := p.deps.Doubt(msg.request.Key); doubt != "" && by(model.ViaAPI) {
		body = append(body, doubt)
	}
	n := 0
	for _, c := range g.Cells {
		if c.Problem == "" {
			n += g.Repeat
		}
	}
	if n > 0 && !p.session.Local {
		zones := strings.Join(slices.DeleteFunc(model.ZoneNames(zonesOf(g)), func(name string) bool { return name == "" }), ", ")
		if by(model.ViaAgent) {
			zones += ", and by agent access"
		}
		body = append(body, fmt.Sprintf("%s to profile %s at once, each billed like any other, by these zones: %s.", text.Counted(n, "request"), p.session.ProfileName, zones))
	}
	return strings.Join(body, "\n\n")
}

// start sends a comparison in place of the one before, or one more run of that.
func (p *Page) start(msg planned) tea.Cmd {
	if msg.addRun {
		p.twin.Repeat++
		return p.send()
	}
	msg.grid.Base.Retries = 0
	p.show(msg.grid)
	p.moveTo(msg.request.Zone.Name, msg.request.Via)
	return tea.Batch(kit.SendTo(kit.Sandbox, Sent{}), p.send())
}

// send makes the runs that the cells lack.
func (p *Page) send() tea.Cmd {
	g := p.twin
	g.Cells = slices.Clone(g.Cells)
	for i := range p.twin.Cells { // until they have begun
		c := &p.twin.Cells[i]
		c.Problem, c.Active = "", true
	}
	compare := p.deps.Twins.Compare
	return kit.Follow(kit.Sandbox, &p.work, p.deps.Ctx, func(ctx context.Context, emit func(cellChanged)) (model.Grid, error) {
		return compare(ctx, g, func(i int, c model.Cell) { emit(cellChanged{i: i, cell: c}) })
	}, func(c cellChanged) tea.Cmd {
		p.twin.Cells[c.i] = c.cell
		p.judge()
		return nil
	}, p.ended)
}

// zonesOf are the zones of a comparison, each once.
func zonesOf(g model.Grid) []model.Zone {
	var out []model.Zone
	for _, c := range g.Cells {
		if !slices.ContainsFunc(out, func(z model.Zone) bool { return z.Name == c.Zone.Name }) {
			out = append(out, c.Zone)
		}
	}
	return out
}

// show puts a comparison on screen.
func (p *Page) show(t model.Grid) {
	p.work.Drop()
	p.open, p.grid = true, grid{twin: t, zones: zonesOf(t)}
	for _, c := range t.Cells {
		if !slices.Contains(p.ways, c.Via) && c.Via != model.ViaAgent {
			p.ways = append(p.ways, c.Via)
		}
	}
	if p.ways == nil {
		p.ways = []model.Via{model.ViaAgent}
	}
	p.table.SetRows(len(p.zones), p.row)
	p.judge()
}

// judge names the winner anew.
func (p *grid) judge() { v := p.twin.Verdict(); p.winner, p.reason = v.Winner, v.Reason }

// chosen are the zones and methods of the comparison, with so many runs of each.
func (p *grid) chosen(runs int) model.Preset {
	out := model.Preset{Zones: p.zones, Ways: p.ways, Repeat: runs}
	if p.byAgent() && len(p.zones) > 1 {
		out.Zones, out.Ways = p.zones[:len(p.zones)-1], append(slices.Clip(p.ways), model.ViaAgent)
	}
	return out
}

// byAgent reports whether one of the cells is agent access, the last.
func (p *grid) byAgent() bool {
	n := len(p.twin.Cells)
	return n > 0 && p.twin.Cells[n-1].Via == model.ViaAgent
}

// complete reports whether cells are every zone by every method, zone by zone, and agent access
// the last, if it is there.
func complete(cells []model.Cell) bool {
	if n := len(cells); n > 0 && cells[n-1].Via == model.ViaAgent {
		if cells = cells[:n-1]; n == 1 {
			return true
		}
	}
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

// Running counts the cells with a run in flight.
func (p *Page) Running() int { return p.running() }

// running counts the cells with a run in flight.
func (p *grid) running() int {
	n := 0
	for _, c := range p.twin.Cells {
		if c.Active {
			n++
		}
	}
	return n
}

// cell is the number of the cell under the cursor; false without cells.
func (p *grid) cell() (int, bool) {
	i := p.at(p.table.Cursor(), p.col)
	return i, i < len(p.twin.Cells)
}

// at is the number of a cell.
func (p *grid) at(row, col int) int {
	if p.byAgent() && row == len(p.zones)-1 {
		return len(p.twin.Cells) - 1
	}
	return row*len(p.ways) + col
}

// ended takes the comparison when its last cell has ended.
func (p *Page) ended(g model.Grid, err error) tea.Cmd {
	p.twin = g
	p.judge()
	var fault tea.Cmd
	if err != nil && !errors.Is(err, context.Canceled) {
		fault = kit.Fail("The comparison was not sent: " + oneLine(err))
	}
	return tea.Batch(fault, kit.SendTo(kit.Sandbox, Ended{}))
}

// Load reads a comparison from the history; then takes it. Nothing is sent.
func (p *Page) Load(id, profile string, then func(model.Grid) tea.Cmd) tea.Cmd {
	load := p.deps.Twins.LoadComparison
	return kit.Load(kit.Sandbox, &p.load, p.deps.Ctx, func(ctx context.Context) (model.Grid, error) {
		return load(ctx, id)
	}, func(g model.Grid, err error) tea.Cmd {
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return kit.Fail("Comparison " + id + " could not be opened: " + err.Error())
		case p.running() > 0:
			return kit.Warn("Another comparison is still running: open this one when it has ended.")
		case !complete(g.Cells):
			return kit.Fail("Comparison " + id + " could not be opened: its cells are not every zone by every method")
		}
		g.Profile = profile
		return then(g)
	})
}

// Loaded shows a comparison of the history, and returns its request by the winner, or without one by zone if it has
// that.
func (p *Page) Loaded(g model.Grid, zone model.ZoneName) Fill {
	p.show(g)
	p.loaded = true
	at := p.winner
	if at < 0 {
		at = max(0, slices.IndexFunc(g.Cells, func(c model.Cell) bool { return c.Zone.Name == zone }))
	}
	return p.fill(at)
}

// fill is the request of the comparison by one of its cells.
func (p *Page) fill(i int) Fill {
	r := p.twin.Base
	r.Zone, r.Via = p.twin.Cells[i].Zone, p.twin.Cells[i].Via
	return Fill{Request: r, Profile: p.twin.Profile}
}

// foreign reports whether the comparison was made with another profile.
func (p *Page) foreign() bool {
	return p.twin.Profile != "" && p.session.ProfileName != "" && p.twin.Profile != p.session.ProfileName
}

// whyNotAgain returns the reason why the comparison on screen cannot be sent again, or "".
func (p *Page) whyNotAgain() string {
	switch {
	case p.running() > 0:
		return "cells are still running; c cancels one"
	case p.foreign():
		return "it was made with profile " + p.twin.Profile
	}
	for name, values := range p.twin.Base.Header {
		if slices.Contains(values, model.Masked) {
			return "the journal does not keep the value of " + name + ": type it in the form, and compare that"
		}
	}
	if u, err := model.ParseTarget(p.twin.Base.URL); err != nil || u.User != nil {
		return "the journal does not keep the login in the address"
	}
	return ""
}

// adopt fills the form with the request of the comparison, by the winner's zone and method.
func (p *Page) adopt() tea.Cmd {
	if p.winner < 0 {
		return nil
	}
	c := p.twin.Cells[p.winner]
	fill := p.fill(p.winner)
	fill.Notice = fmt.Sprintf("The form has %s now: %s. ctrl+j sends.", c.Place(), p.reason)
	return kit.SendTo(kit.Sandbox, fill)
}

// openCell shows the newest run of the cell under the cursor. Nothing is sent.
func (p *Page) openCell() tea.Cmd {
	i, ok := p.cell()
	if !ok || len(p.twin.Cells[i].Runs) == 0 {
		return nil
	}
	runs := p.twin.Cells[i].Runs
	return kit.SendTo(kit.Sandbox, kit.OpenFetch{ID: runs[len(runs)-1].FetchID, Profile: p.twin.Profile})
}

// mark marks the cell under the cursor, or takes the mark away. The older of two marks
// gives way to a third.
func (p *grid) mark() {
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
func (p *Page) chooseZones() tea.Cmd {
	both := "both"
	way := both
	switch {
	case p.byAgent():
		way = string(model.ViaAgent)
	case len(p.ways) == 1:
		way = string(p.ways[0])
	}
	ways := []widget.Option{{Value: both, Label: "Both"}, {Value: string(model.ViaAPI), Label: "API"}, {Value: string(model.ViaNative), Label: "Native"}}
	help := "Both: API and Native."
	if p.session.Profile.AgentURL != "" {
		help += " Agent too: both, and agent access."
		ways = append(ways, widget.Option{Value: string(model.ViaAgent), Label: "Agent too"})
	}
	fields := []widget.Field{
		{Name: "runs", Label: "Runs", Value: strconv.Itoa(max(p.twin.Repeat, 1)), Help: "How often each zone is tried by each method, one run after the other.", Check: checkRuns},
		{Name: "ways", Label: "Methods", Kind: widget.FieldChoice, Value: way, Options: ways, Help: help},
	}
	zones := p.session.Zones
	for _, z := range zones {
		on := ""
		if slices.ContainsFunc(p.zones, func(o model.Zone) bool { return o.Name == z.Name }) {
			on = "true"
		}
		fields = append(fields, widget.Field{Name: "zone " + string(z.Name), Label: string(z.Name), Kind: widget.FieldToggle, Value: on, Help: z.Product.Label()})
	}
	d := widget.NewFormDialog(p.deps.Theme, "What to compare", widget.NewForm(p.deps.Theme, fields...))
	d.Submit = "send"
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		c := compareZones{request: p.twin.Base}
		c.preset.Ways = []model.Via{model.ViaAPI, model.ViaNative}
		c.preset.Repeat, _ = strconv.Atoi(strings.TrimSpace(f.Value("runs"))) // Check has read it
		switch way := f.Value("ways"); way {
		case both:
		case string(model.ViaAgent):
			c.preset.Ways = append(c.preset.Ways, model.ViaAgent)
		default:
			c.preset.Ways = []model.Via{model.Via(way)}
		}
		for _, z := range zones {
			if f.On("zone " + string(z.Name)) {
				c.preset.Zones = append(c.preset.Zones, z)
			}
		}
		if len(c.preset.Zones) == 0 {
			d.Problem = "choose at least one zone"
			return nil
		}
		return tea.Sequence(kit.CloseOverlay(d), kit.SendTo(kit.Sandbox, c))
	}
	return kit.OpenOverlay(d)
}

func checkRuns(s string) error {
	if n, err := strconv.Atoi(strings.TrimSpace(s)); err != nil || n < 1 || n > model.MaxRuns {
		return fmt.Errorf("write a number from 1 to %d", model.MaxRuns)
	}
	return nil
}
