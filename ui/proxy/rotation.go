package proxy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// rotation is the measurement under way, or the last one.
type rotation struct {
	slot   kit.Slot
	result model.Grid // of one cell
	have   bool
}

// usualCalls is how many calls are offered.
const usualCalls = 20

// beginRotation makes the calls.
type beginRotation struct{ calls int }

// askRotation asks for how many calls, and says what they cost.
func (m *Model) askRotation() tea.Cmd {
	form := widget.NewForm(m.deps.Theme, widget.Field{
		Name: "calls", Label: "Calls", Value: strconv.Itoa(usualCalls), Help: fmt.Sprintf("One after the other, at most %d.", model.MaxExitCalls),
		Check: func(s string) error { _, err := callsOf(s, model.MaxExitCalls); return err },
	})
	d := widget.NewFormDialog(m.deps.Theme, "Measure the rotation", form)
	intro := func() {
		n, _ := callsOf(form.Value("calls"), model.MaxExitCalls)
		d.Intro = m.rotationWords(n)
	}
	intro()
	d.Submit = "measure"
	d.OnChange = func(*widget.Form) { intro() }
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		n, _ := callsOf(f.Value("calls"), model.MaxExitCalls)
		return tea.Sequence(kit.CloseOverlay(d), kit.SendTo(kit.Proxy, beginRotation{n}))
	}
	return kit.OpenOverlay(d)
}

// callsOf reads a number of calls.
func callsOf(s string, most int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("write a number from 1 to %d", most)
	}
	return n, nil
}

// rotationWords say what is about to be done, and its price.
func (m *Model) rotationWords(n int) string {
	how := "without a session, each on its own connection"
	if s := strings.TrimSpace(m.form.Value("session")); s != "" {
		how = "all in session " + s
	}
	return fmt.Sprintf("Zone %s: %s %s. %s", text.Clean(string(m.zone().Name)), text.Counted(n, "call"), how, m.priceWords(n, m.zone()))
}

// priceWords say what n calls to zones cost, as far as the profile says it: a real account pays
// for each.
func (m *Model) priceWords(n int, zones ...model.Zone) string {
	if m.session.Local {
		return "The emulator charges nothing."
	}
	var dollars float64
	unpriced, perGB := 0, false
	for _, z := range zones {
		if !z.Rate.Priced() {
			unpriced++
		}
		perGB = perGB || z.Rate.PerGB > 0
		cost, _ := z.Rate.Cost(float64(n), float64(n)*float64(m.pageBytes()))
		dollars += cost
	}
	var parts []string
	if unpriced < len(zones) {
		words := "About " + model.SmallDollars(dollars)
		if perGB {
			words += " with " + text.Bytes(m.pageBytes()) + " a call"
		}
		parts = append(parts, words+" on this account.")
	}
	if unpriced > 0 {
		who := "The zone has"
		if len(zones) > 1 {
			who = fmt.Sprintf("%d of the zones have", unpriced)
		}
		parts = append(parts, who+" no rate in the profile: what it costs is not known.")
	}
	return strings.Join(parts, " ")
}

// pageBytes is the size of the test page as it was last seen, or what such a page has.
func (m *Model) pageBytes() int64 {
	const usual = 1024
	for _, r := range m.rotation.cell().Runs {
		if r.Bytes > 0 {
			return r.Bytes
		}
	}
	return usual
}

// startRotation makes the calls.
func (m *Model) startRotation(n int) tea.Cmd {
	if why := m.whyNotTest(); why != "" {
		return kit.Warn("measure: " + why)
	}
	m.form.FocusOn(m.form.Focused(), false)
	p := model.Preset{Kind: model.CompareExits, Params: m.cred.Params, Session: strings.TrimSpace(m.form.Value("session")), Repeat: n}
	base := model.FetchRequest{Zone: m.zone(), URL: strings.TrimSpace(m.form.Value(fieldTarget))}
	m.rotation.result = model.Grid{
		Kind: model.CompareExits, Started: m.deps.Now(), Repeat: n, Cells: []model.Cell{{Vary: model.Vary{Zone: base.Zone, Session: p.Session}}},
	}
	m.rotation.have = true
	prober := m.deps.Prober
	return kit.Follow(kit.Proxy, &m.rotation.slot, m.deps.Ctx, func(ctx context.Context, emit func(model.Cell)) (model.Grid, error) {
		g, err := prober.Plan(ctx, p, base)
		if err != nil {
			return g, err
		}
		return prober.Compare(ctx, g, func(_ int, c model.Cell) { emit(c) })
	}, func(c model.Cell) tea.Cmd {
		m.rotation.result.Cells[0] = c
		return nil
	}, m.rotated)
}

// cell is what is known of the exits.
func (r *rotation) cell() model.Cell {
	if len(r.result.Cells) == 0 {
		return model.Cell{}
	}
	return r.result.Cells[0]
}

func (m *Model) rotated(g model.Grid, err error) tea.Cmd {
	if len(g.Cells) > 0 {
		m.rotation.result = g
	}
	switch {
	case errors.Is(err, context.Canceled):
		m.rotation.result.Cells[0].Ended = "stopped"
		return kit.Info("the measurement was stopped; what it has stays")
	case err != nil:
		m.rotation.result.Cells[0].Ended = err.Error()
		return kit.Fail("rotation: " + err.Error())
	}
	return nil
}

// rotationLines are the measurement as far as it is.
func (m *Model) rotationLines(w int) []string {
	if !m.rotation.have {
		return nil
	}
	t, g, r := m.deps.Theme, m.rotation.result, m.rotation.cell()
	var out []string
	if m.rotation.slot.Running() {
		out = append(out, t.Accent.Render("● ")+text.Cut(fmt.Sprintf("rotation: call %d of %d", min(len(r.Runs)+1, g.Repeat), g.Repeat), w-2),
			t.Muted.Render(text.Cut(text.Duration(m.deps.Now().Sub(g.Started))+" · esc stops it", w)))
	} else {
		out = append(out, widget.Wrapped(t.Strong, fmt.Sprintf("rotation of %s · %d of %s", text.Clean(string(r.Zone.Name)), len(r.Runs), text.Counted(g.Repeat, "call")), w)...)
	}
	if len(r.Runs) == 0 {
		if r.Ended != "" {
			out = append(out, widget.Wrapped(t.Warn, "! "+r.Ended, w)...)
		}
		return out
	}
	out = append(out, widget.Wrapped(t.Text, g.Verdict().Text, w)...)
	facts := []string{fmt.Sprintf("%d ok", r.OK())}
	if median := r.MedianOK(); median >= 0 {
		facts = append(facts, "median "+text.Duration(median))
	}
	if c := r.Countries(); len(c) > 0 {
		facts = append(facts, "in "+strings.Join(c, " "))
	}
	if r.Spend() != (model.Spend{}) {
		facts = append(facts, r.Spend().String())
	}
	for _, l := range flowed(facts, w) {
		out = append(out, t.Muted.Render(l))
	}
	if r.Ended != "" {
		out = append(out, widget.Wrapped(t.Warn, "! ended early: "+r.Ended, w)...)
	}
	var list []string
	for _, e := range r.Exits() {
		list = append(list, fmt.Sprintf("%s ×%d", text.Clean(e.Address), e.Calls))
	}
	const most = 12
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return append(out, widget.Wrapped(t.Muted, strings.Join(list, "  "), w)...)
}

// elapsed is how long something has been running.
func (m *Model) elapsed(since time.Time) string { return text.Duration(m.deps.Now().Sub(since)) }
