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

// Splitter plans and sends the fetches; service.Client is one.
type Splitter interface {
	PlanSplit(ctx context.Context, subject model.FetchResult, c model.SplitChoice) (model.Split, error)
	Split(ctx context.Context, s model.Split, on func(i int, p model.SplitProbe, sending bool)) (model.Split, error)
}

// Deps are the parts that the overlay works with.
type Deps struct {
	Ctx      context.Context //nolint:containedctx // it lives as long as the program
	Theme    *kit.Theme
	Splitter Splitter
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
	choice  model.SplitChoice
	plan    model.Split
	stage   stage
	at      int // the probe that is being sent, -1 for none
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

// Results of the commands.
type (
	planned struct {
		plan model.Split
		err  error
	}
	probed struct {
		i       int
		probe   model.SplitProbe
		sending bool
	}
	ended struct {
		plan model.Split
		err  error
	}
)

func newOverlay(d Deps, subject model.FetchResult) *overlay {
	o := &overlay{deps: d, at: -1, plan: model.Split{Subject: subject}, choice: model.SplitChoice{Keys: d.Keys(), Zones: d.Zones()}}
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
	plan, subject, choice := o.deps.Splitter.PlanSplit, o.plan.Subject, o.choice
	return kit.Do("", &o.work, o.deps.Ctx, func(ctx context.Context) tea.Msg {
		s, err := plan(ctx, subject, choice)
		return kit.ForOverlay{Overlay: o, Msg: planned{s, err}}
	})
}

// send sends the probes.
func (o *overlay) send() tea.Cmd {
	o.stage, o.at = sending, -1
	split, plan := o.deps.Splitter.Split, o.plan
	return kit.Stream("", &o.work, o.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		result, err := split(ctx, plan, func(i int, p model.SplitProbe, sending bool) {
			emit(kit.ForOverlay{Overlay: o, Msg: probed{i, p, sending}})
		})
		return kit.ForOverlay{Overlay: o, Msg: ended{result, err}}
	})
}

// Bindings are the keys of the stage.
func (o *overlay) Bindings() []kit.Binding {
	const group = "What refuses"
	var out []kit.Binding
	if o.stage == asking {
		send := kit.Binding{Keys: []string{"y"}, Label: "send them", Help: "Send them, one after the other, as far as they are needed.", Group: group, Intent: sendProbes{}}
		if !slices.ContainsFunc(o.plan.Probes, func(p model.SplitProbe) bool { return p.Problem == "" }) {
			send.Disabled = "there is nothing to compare with"
		}
		zone := kit.Binding{Keys: []string{"o"}, Label: "other zone", Help: "Compare with the next zone.", Group: group, Intent: otherZone{}}
		if len(o.choice.OtherZones(o.plan.Subject.Request)) < 2 {
			zone.Disabled = "there is no further zone"
		}
		key := kit.Binding{Keys: []string{"a"}, Label: "another key", Help: "Compare with the next key of the inventory.", Group: group, Intent: otherKey{}}
		if len(o.choice.OtherKeys(o.plan.Subject.KeyName)) < 2 || o.plan.Subject.Request.Via == model.ViaNative {
			key.Disabled = "there is no further key"
		}
		out = append(out, send, zone, key)
	}
	if o.stage == done {
		open := kit.Binding{Keys: []string{"enter"}, Label: "open", Help: "Show this fetch in the Sandbox. Nothing is sent.", Group: group, Intent: openRow{}}
		if r := o.result(); r == nil || r.ID == "" {
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

// result is the fetch of the selected row, or nil.
func (o *overlay) result() *model.FetchResult {
	switch i := o.table.Cursor(); {
	case i == 0:
		return &o.plan.Subject
	case i <= len(o.plan.Probes):
		return o.plan.Probes[i-1].Result
	default:
		return nil
	}
}

// Update handles intents, results, and motions.
func (o *overlay) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case planned:
		return o.planned(msg)
	case probed:
		o.plan.Probes[msg.i] = msg.probe
		if o.at = -1; msg.sending {
			o.at = msg.i
		}
		o.rows()
		return nil
	case ended:
		o.stage, o.at, o.plan = done, -1, msg.plan
		if msg.err != nil && !errors.Is(msg.err, context.Canceled) {
			o.trouble = msg.err.Error()
		}
		o.rows()
		grew := kit.SendTo(kit.Sandbox, kit.HistoryGrew{})
		if o.leaving {
			return tea.Batch(grew, kit.CloseOverlay(o))
		}
		return grew
	case sendProbes:
		return o.send()
	case otherZone:
		o.choice.Zone = following(model.ZoneNames(o.choice.OtherZones(o.plan.Subject.Request)), o.different(model.SplitOtherZone))
		return o.replan()
	case otherKey:
		o.choice.Key = following(o.choice.OtherKeys(o.plan.Subject.KeyName), o.different(model.SplitOtherKey))
		return o.replan()
	case openRow:
		if r := o.result(); r != nil {
			return tea.Sequence(o.leave(), kit.GotoTab(kit.Sandbox, kit.OpenFetch{ID: r.ID, Profile: o.plan.Profile}))
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

func (o *overlay) planned(msg planned) tea.Cmd {
	if msg.err != nil {
		o.stage, o.trouble = done, msg.err.Error()
		o.rows()
		return nil
	}
	o.stage, o.plan = asking, msg.plan
	o.rows()
	if o.deps.Local {
		return o.send()
	}
	return nil
}

// different is what a probe of the plan differs in.
func (o *overlay) different(k model.SplitKind) string {
	for _, p := range o.plan.Probes {
		if p.Kind == k {
			return p.Different()
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
