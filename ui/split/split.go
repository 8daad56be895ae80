package split

import (
	"context"
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Comparer plans and sends the fetches; *fetch.Fetcher is one.
type Comparer interface {
	Plan(ctx context.Context, p model.Preset, base model.FetchRequest) (model.Grid, error)
	Compare(ctx context.Context, g model.Grid, on func(i int, c model.Cell)) (model.Grid, error)
}

// Deps are the parts that the overlay works with.
type Deps struct {
	Ctx      context.Context //nolint:containedctx // it lives as long as the program
	Theme    *kit.Theme
	Comparer Comparer
	// Zones and Keys are those that can be named; they do no I/O.
	Zones func() []model.Zone
	Keys  func() []model.Key
	// Local says that the fetches cost nothing, because the emulator answers them.
	Local bool
}

// Open opens the overlay for a fetch that was refused.
func Open(d Deps, subject model.FetchResult) tea.Cmd {
	return func() tea.Msg { return kit.Open{Overlay: newOverlay(d, subject)} }
}

// stage is how far an overlay is.
type stage int

const (
	planning stage = iota
	asking
	sending
	done
)

// overlay is the question, and then the answer.
type overlay struct {
	deps    Deps
	preset  model.Preset
	plan    model.Grid
	stage   stage
	trouble string
	table   widget.Table
	above   int      // lines drawn above the table
	work    kit.Slot // the plan, then the fetches
	leaving bool     // the fetches were cancelled: the overlay closes when they have ended
}

// Intents of the keys.
type (
	sendProbes struct{}
	otherZone  struct{}
	otherKey   struct{}
	openRow    struct{}
	leave      struct{}
)

// change is a cell that has changed.
type change struct {
	i    int
	cell model.Cell
}

func newOverlay(d Deps, subject model.FetchResult) *overlay {
	preset := model.Preset{Kind: model.CompareRefusal, Subject: subject, Keys: d.Keys(), Zones: d.Zones()}
	o := &overlay{deps: d, preset: preset, plan: model.NewRefusal(preset)}
	o.plan.Cells = o.plan.Cells[:1] // the others are not chosen yet
	o.table.Columns = []widget.Column{
		{Title: "FETCH", Width: 23},
		{Title: "DIFFERENT", Width: 16, Flex: true},
		{Title: "CLASS", Width: 19},
		{Title: "STATUS", Width: 6, Right: true, Priority: 2},
		{Title: "COST", Width: 8, Right: true, Priority: 1},
	}
	return o
}

// Init begins to plan.
func (o *overlay) Init() tea.Cmd { return o.replan() }

// Title is the heading.
func (o *overlay) Title() string { return "What refuses: the key, the zone or the site?" }

// Size is what the table, its foot and the sentence need.
func (o *overlay) Size(w, h int) (int, int) { return min(112, w-4), min(13, h-4) }

// replan plans with the choices made so far.
func (o *overlay) replan() tea.Cmd {
	o.stage, o.trouble = planning, ""
	plan, preset := o.deps.Comparer.Plan, o.preset
	return kit.Load(kit.InOverlay(o), &o.work, o.deps.Ctx, func(ctx context.Context) (model.Grid, error) {
		return plan(ctx, preset, model.FetchRequest{})
	}, o.planned)
}

// send sends the probes.
func (o *overlay) send() tea.Cmd {
	o.stage = sending
	compare, plan := o.deps.Comparer.Compare, o.plan
	plan.Cells = slices.Clone(plan.Cells)
	return kit.Follow(kit.InOverlay(o), &o.work, o.deps.Ctx, func(ctx context.Context, emit func(change)) (model.Grid, error) {
		return compare(ctx, plan, func(i int, c model.Cell) { emit(change{i, c}) })
	}, func(c change) tea.Cmd {
		o.plan.Cells[c.i] = c.cell
		o.rows()
		return nil
	}, o.ended)
}

func (o *overlay) ended(result model.Grid, err error) tea.Cmd {
	o.stage, o.plan = done, result
	if err != nil && !errors.Is(err, context.Canceled) {
		o.trouble = err.Error()
	}
	o.rows()
	grew := kit.SendTo(kit.Sandbox, kit.HistoryGrew{})
	if o.leaving {
		return tea.Batch(grew, kit.CloseOverlay(o))
	}
	return grew
}

// Bindings are the keys of the stage.
func (o *overlay) Bindings() []kit.Binding {
	const group = "What refuses"
	var out []kit.Binding
	if o.stage == asking {
		send := kit.Binding{Keys: []string{"y"}, Label: "send them", Help: "Send them, one after the other, as far as they are needed.", Group: group, Intent: sendProbes{}}
		if !slices.ContainsFunc(o.plan.Cells[1:], func(c model.Cell) bool { return c.Problem == "" }) {
			send.Disabled = "there is nothing to compare with"
		}
		zone := kit.Binding{Keys: []string{"o"}, Label: "other zone", Help: "Compare with the next zone.", Group: group, Intent: otherZone{}}
		if len(o.preset.OtherZones(o.preset.Subject.Request)) < 2 {
			zone.Disabled = "there is no further zone"
		}
		key := kit.Binding{Keys: []string{"a"}, Label: "another key", Help: "Compare with the next key of the inventory.", Group: group, Intent: otherKey{}}
		if len(o.preset.OtherKeys(o.preset.Subject.KeyName)) < 2 || o.preset.Subject.Request.Via == model.ViaNative {
			key.Disabled = "there is no further key"
		}
		out = append(out, send, zone, key)
	}
	if o.stage == done {
		open := kit.Binding{Keys: []string{"enter"}, Label: "open", Help: "Show this fetch in the Sandbox. Nothing is sent.", Group: group, Intent: openRow{}}
		if r, ok := o.result(); !ok || r.FetchID == "" {
			open.Disabled = "it was not sent"
		}
		out = append(out, open)
	}
	end := kit.Binding{Keys: []string{"esc", "q"}, Label: "close", Help: "Close; what was sent stays in the history.", Intent: leave{}}
	if o.stage == sending {
		end.Label, end.Help = "cancel", "Cancel what is under way, and close. The service may still count it."
	}
	return append(append(out, end), widget.MotionBindings()...)
}

// result is the fetch of the selected row; false where it was not sent.
func (o *overlay) result() (model.Run, bool) {
	i := o.table.Cursor()
	if i >= len(o.plan.Cells) || len(o.plan.Cells[i].Runs) == 0 {
		return model.Run{}, false
	}
	return o.plan.Cells[i].Runs[0], true
}

// Update handles intents and motions.
func (o *overlay) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case sendProbes:
		return o.send()
	case otherZone:
		o.preset.OtherZone = following(model.ZoneNames(o.preset.OtherZones(o.preset.Subject.Request)), o.different(model.LabelOtherZone))
		return o.replan()
	case otherKey:
		o.preset.OtherKey = following(o.preset.OtherKeys(o.preset.Subject.KeyName), o.different(model.LabelOtherKey))
		return o.replan()
	case openRow:
		if r, ok := o.result(); ok {
			return tea.Sequence(o.leave(), kit.GotoTab(kit.Sandbox, kit.OpenFetch{ID: r.FetchID, Profile: o.plan.Profile}))
		}
		return nil
	case leave:
		return o.leave()
	case tea.MouseClickMsg:
		o.table.Click(msg.Y - o.above)
		return nil
	default:
		o.table.Update(msg)
		return nil
	}
}

// leave closes the overlay. What is being sent is cancelled, and waited for until it is in
// the history, or until one leaves once more.
func (o *overlay) leave() tea.Cmd {
	if o.stage != sending {
		o.work.Drop()
		return kit.CloseOverlay(o)
	}
	if o.leaving {
		o.work.Drop()
		return tea.Batch(kit.SendTo(kit.Sandbox, kit.HistoryGrew{}), kit.CloseOverlay(o))
	}
	o.leaving = true
	o.work.Cancel()
	return nil
}

func (o *overlay) planned(plan model.Grid, err error) tea.Cmd {
	if err != nil {
		o.stage, o.trouble = done, err.Error()
		o.rows()
		return nil
	}
	o.stage, o.plan = asking, plan
	o.rows()
	if o.deps.Local {
		return o.send()
	}
	return nil
}

// different is what a cell of the plan differs in.
func (o *overlay) different(l model.Label) string {
	for _, c := range o.plan.Cells {
		if c.Label == l {
			return c.Different()
		}
	}
	return ""
}

// following is the name after one, the first after the last.
func following(all []string, one string) string {
	if len(all) == 0 {
		return ""
	}
	return all[(slices.Index(all, one)+1)%len(all)]
}
