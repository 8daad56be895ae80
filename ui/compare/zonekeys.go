package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Intents of a comparison of zones.
type (
	closePage   struct{}
	openCell    struct{}
	adoptWinner struct{}
	adoptCell   struct{}
	markCell    struct{}
	diffCells   struct{}
	sendAgain   struct{ addRun bool } // everything anew, or one more run of each
	cancelCell  struct{}
	chooseZones struct{}
	// sendPlanned sends what was asked about.
	sendPlanned struct {
		request
		grid model.Grid
	}
)

func (p zones) bindings() []kit.Binding {
	const group = "Comparison"
	none, idle := "no run of this cell has ended", "this cell is not running"
	if i, ok := p.cell(); ok {
		if len(p.grid.Cells[i].Runs) > 0 {
			none = ""
		}
		if p.grid.Cells[i].Active {
			idle = ""
		}
	}
	busy, again := kit.Reason(p.Running() > 0, "cells are still running; "+p.deps.Theme.Key("compare.cancel")+" cancels one"), p.whyNotAgain()
	winner := cmp.Or(busy, kit.Reason(p.verdict.Winner < 0, p.verdict.Reason))
	more := cmp.Or(again, kit.Reason(p.grid.Repeat >= model.MaxRuns, fmt.Sprintf("%d runs are the most", model.MaxRuns)))
	return []kit.Binding{
		{Name: "compare.open", Keys: []string{"enter"}, Label: "open", Help: "Show the newest fetch of the cell in the Sandbox. Nothing is sent.", Group: group, Intent: openCell{}, Disabled: none},
		{Name: "compare.adopt", Keys: []string{"a"}, Label: "adopt winner", Help: "Fill the form with the winner's zone and method.", Group: group, Intent: adoptWinner{}, Disabled: winner},
		{Name: "compare.form", Keys: []string{"o"}, Label: "to form", Help: "Fill the form with the zone and the method of the cell. Other cells keep running.", Group: group, Intent: adoptCell{}, Disabled: none},
		{Name: "compare.again", Keys: []string{"f5", "ctrl+j"}, Label: "again", Help: "Send everything again.", Group: group, Intent: sendAgain{}, Disabled: again, Dangerous: true},
		{Name: "compare.mark", Keys: []string{"space"}, Label: "mark", Help: "Mark or unmark the cell; " + p.deps.Theme.Key("compare.difference") + " shows how two marked cells differ.", Group: group, Intent: markCell{}, Disabled: none},
		{Name: "compare.difference", Keys: []string{"d"}, Label: "difference", Help: "Show how the answers of the two marked cells differ: headers, structure of JSON, text.", Group: group, Intent: diffCells{}, Disabled: p.whyNotDiff()},
		{Name: "compare.repeat", Keys: []string{"t"}, Label: "one more run", Help: "Send one more run of every cell.", Group: group, Intent: sendAgain{addRun: true}, Disabled: more, Dangerous: true},
		{Name: "compare.zones", Keys: []string{"e"}, Label: "zones", Help: "Choose zones, methods and the number of runs, and send.", Group: group, Intent: chooseZones{}, Disabled: again},
		{Name: "compare.cancel", Keys: []string{"c"}, Label: "cancel", Help: "Cancel the cell that is running.", Group: group, Intent: cancelCell{}, Disabled: idle, Hidden: idle != ""},
		{Name: "compare.code", Keys: []string{"x"}, Label: "report, code", Help: "Show the comparison as Markdown and JSON, and the cell's fetch as code for other programs.", Group: group, Intent: p.code(), Disabled: busy},
		{Name: "compare.back", Keys: []string{"esc", "ctrl+w"}, Label: "back", Help: "Go back to the form. Running cells continue; " + p.deps.Theme.Key("sandbox.compare") + " shows them again.", Group: group, Intent: closePage{}},
	}
}

// code is the comparison as a report, and the fetch of the cell under the cursor as code for
// other programs.
func (p zones) code() kit.ShowCode {
	g := p.grid
	c := kit.ShowCode{Request: g.Base, Comparison: &g}
	if i, ok := p.cell(); ok {
		c.Request.Zone, c.Request.Via = g.Cells[i].Zone, g.Cells[i].Via
	}
	return c
}

func (closePage) do(p *Page) tea.Cmd { //nolint:unparam // an intent
	p.Close()
	return nil
}

// do shows the newest run of the cell under the cursor. Nothing is sent.
func (openCell) do(p *Page) tea.Cmd {
	run, ok := p.newest()
	if !ok {
		return nil
	}
	return kit.SendTo(p.deps.View, kit.OpenFetch{ID: run.FetchID, Profile: p.grid.Profile})
}

// do fills the form with the request of the comparison, by the winner's zone and method.
func (adoptWinner) do(p *Page) tea.Cmd {
	at := p.verdict.Winner
	if at < 0 {
		return nil
	}
	fill := p.fillOf(at)
	fill.Notice = fmt.Sprintf("The form now has %s: %s. %s sends.", p.grid.Cells[at].Place(), p.verdict.Reason, p.deps.Theme.Key("sandbox.send"))
	return kit.SendTo(p.deps.View, fill)
}

func (adoptCell) do(p *Page) tea.Cmd {
	i, _ := p.cell()
	fill := p.fillOf(i)
	fill.Notice = fmt.Sprintf("The form now has %s. %s sends, %s shows the comparison again.", p.grid.Cells[i].Place(), p.deps.Theme.Key("sandbox.send"), p.deps.Theme.Key("sandbox.compare"))
	return kit.SendTo(p.deps.View, fill)
}

// do marks the cell under the cursor, or takes the mark away. The older of two marks gives way
// to a third.
func (markCell) do(p *Page) tea.Cmd { //nolint:unparam // an intent
	i, ok := p.cell()
	if !ok {
		return nil
	}
	if at := slices.Index(p.marks, i); at >= 0 {
		p.marks = slices.Delete(p.marks, at, at+1)
		return nil
	}
	p.marks = append(p.marks, i)
	p.marks = p.marks[max(len(p.marks)-2, 0):]
	return nil
}

func (i sendAgain) do(p *Page) tea.Cmd {
	r := request{base: p.grid.Base, addRun: i.addRun}
	if r.preset = chosen(p.grid, p.grid.Repeat); i.addRun {
		r.preset.Repeat = 1
	}
	return p.try(r)
}

func (i sendPlanned) do(p *Page) tea.Cmd {
	if i.grid.Kind == model.CompareZones {
		p.deps.Keys.Confirm(i.base.Key)
	}
	return p.start(i.request, i.grid)
}

func (cancelCell) do(p *Page) tea.Cmd { //nolint:unparam // an intent
	if i, ok := p.cell(); ok {
		p.deps.Comparer.StopCell(p.grid.ID, i)
	}
	return nil
}

func (chooseZones) do(p *Page) tea.Cmd {
	return p.askZones(request{base: p.grid.Base}, chosen(p.grid, max(p.grid.Repeat, 1)))
}

// fitting begins the names of the toggles of zones that can return the page.
const fitting = "zone that fits "

// askZones asks for zones, methods and runs; those of first are chosen at first. Nothing is sent before.
func (p *Page) askZones(r request, first model.Preset) tea.Cmd {
	as, all := zones{p}, r
	all.preset = model.Preset{Zones: p.session.Zones, Ways: []model.Via{model.ViaAPI, model.ViaNative}, Repeat: 1}
	if p.session.Profile.AgentURL != "" {
		all.preset.Ways = append(all.preset.Ways, model.ViaAgent)
	}
	return p.plan(all, func(g model.Grid, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("The comparison could not be made: " + oneLine(err))
		}
		toggle := func(name, label, help string, on bool) widget.Field {
			f := widget.Field{Name: name, Label: label, Kind: widget.FieldToggle, Help: help}
			if on {
				f.Value = "true"
			}
			return f
		}
		zoneField := func(z model.Zone) string {
			return cmp.Or(kit.Reason(r.base.ComparedBy(z), fitting), "zone ") + string(z.Name)
		}
		var fields []widget.Field
		for _, via := range all.preset.Ways {
			label := "by " + via.String() + kit.Reason(via == model.ViaAgent, ", no zone")
			fields = append(fields, toggle("by "+string(via), label, "", slices.Contains(first.Ways, via)))
		}
		fields = append(fields, widget.Field{Name: "runs", Label: "Runs", Value: strconv.Itoa(first.Repeat), Help: "How often each zone is tried by each method, one run at a time.", Check: checkCalls(model.MaxRuns)})
		for _, z := range zonesOf(g) {
			on := slices.ContainsFunc(first.Zones, func(o model.Zone) bool { return o.Name == z.Name })
			fields = append(fields, toggle(zoneField(z), string(z.Name), z.Product.Label()+", "+z.Rate.String(), on))
		}
		d := widget.NewFormDialog(p.deps.Theme, "What to compare", widget.NewForm(p.deps.Theme, fields...))
		d.Submit, d.Deliberate, d.Guard, d.Many, d.Intro = "send them", !p.session.Local, true, fitting, strings.Join(as.doubts(r, g), "\n\n")
		picked := func(f *widget.Form) model.Grid {
			out := g
			out.Repeat, _ = callsOf(f.Value("runs"), model.MaxRuns) // Check says what is wrong
			out.Cells = slices.DeleteFunc(slices.Clone(g.Cells), func(c model.Cell) bool {
				return !f.On("by "+string(c.Via)) || c.Via != model.ViaAgent && !f.On(zoneField(c.Zone))
			})
			return out
		}
		d.OnChange = func(f *widget.Form) {
			g := picked(f)
			if d.Foot = as.bill(g); d.Foot == "" || len(zonesOf(g)) == 0 {
				d.Foot = fmt.Sprintf("Tick a zone and a method: %s ticks one, %s the zones that fit the request. %s", p.deps.Theme.Key("form.change"), p.deps.Theme.Key("dialog.many"), d.Foot)
			}
		}
		d.OnChange(d.Form)
		d.OnSubmit = func(f *widget.Form) tea.Cmd {
			g := picked(f)
			if as.bill(g) == "" {
				d.Problem = "tick at least one zone and method"
				return nil
			}
			return tea.Sequence(kit.CloseOverlay(d), kit.Send(kit.Call(p.at, func() tea.Cmd { return sendPlanned{r, g}.do(p) })))
		}
		return kit.OpenOverlay(d)
	})
}

// callsOf reads a number of calls.
func callsOf(s string, most int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("write a number from 1 to %d", most)
	}
	return n, nil
}

func checkCalls(most int) func(string) error {
	return func(s string) error {
		_, err := callsOf(s, most)
		return err
	}
}

// whyNotDiff returns the reason why the marked cells cannot be compared, or "".
func (p *Page) whyNotDiff() string {
	if len(p.marks) < 2 {
		return "mark two cells with space first"
	}
	for _, at := range p.marks {
		if c := p.grid.Cells[at]; len(c.Runs) == 0 {
			return "no run of " + c.Place() + " has ended"
		}
	}
	return ""
}

// do compares the newest fetches of the two marked cells. Nothing is sent.
func (diffCells) do(p *Page) tea.Cmd {
	var names, ids [2]string
	for i, at := range p.marks {
		c := p.grid.Cells[at]
		names[i], ids[i] = c.Place(), c.Runs[len(c.Runs)-1].FetchID
	}
	from := p.deps.History
	return kit.Load(p.at, &p.load, p.deps.Ctx, func(ctx context.Context) (history.Difference, error) {
		return from.Difference(ctx, names, ids)
	}, func(diff history.Difference, err error) tea.Cmd {
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return kit.Fail("The two cells could not be compared: " + oneLine(err))
		}
		th := p.deps.Theme
		var lines []string // as drawn last: a difference may be long
		width, version := 0, 0
		return kit.OpenOverlay(&widget.Page{
			Heading: "Difference: " + names[0] + " / " + names[1], Width: 160,
			Lines: func(w int) []string {
				if w != width || th.Version != version {
					lines, width, version = diffLines(th, names, diff, w), w, th.Version
				}
				return lines
			},
			Closing: kit.Binding{Name: "page.close", Keys: []string{"esc", "q", "d"}, Label: "close", Help: "Go back to the comparison.", Intent: kit.Close{}},
		})
	})
}

// diffLines draws a difference in lines of w cells.
func diffLines(th *kit.Theme, names [2]string, d history.Difference, w int) []string {
	if d.IsEmpty() {
		return []string{" " + th.Good.Render("✓") + " both answers are the same: class, status, headers and body"}
	}
	var out []string
	section := func(title string, changes []history.Change) {
		if len(changes) == 0 {
			return
		}
		out = append(out, " "+th.Strong.Render(title))
		for _, c := range changes {
			out = append(out, widget.Hung("   ", th.Muted, c.Name, w)...)
			out = append(out, widget.Hung("     "+th.Bad.Render("- "), th.Bad, cmp.Or(c.A, "not there"), w)...)
			out = append(out, widget.Hung("     "+th.Good.Render("+ "), th.Good, cmp.Or(c.B, "not there"), w)...)
		}
		out = append(out, "")
	}
	out = append(out, " "+th.Bad.Render("- "+names[0])+"   "+th.Good.Render("+ "+names[1]), "")
	section("Verdict", d.Verdict)
	section("Headers", d.Headers)
	section("Structure of the JSON", d.Structure)
	if d.Note != "" {
		out = append(out, widget.Hung(" ", th.Warn, "! "+d.Note, w)...)
	}
	if d.Text != "" {
		out = append(out, " "+th.Strong.Render("Body"))
		for line := range strings.Lines(d.Text) {
			out = append(out, "   "+diffInk(th, line).Render(text.Cut(text.Clean(strings.TrimSuffix(line, "\n")), w-3)))
		}
	}
	return out
}

func diffInk(th *kit.Theme, line string) kit.Ink {
	switch line[0] {
	case '-':
		return th.Bad
	case '+':
		return th.Good
	case '@':
		return th.Accent
	default:
		return th.Text
	}
}
