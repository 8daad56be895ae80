package drift

import (
	"cmp"
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Intents of the page's keys.
type (
	closePage struct{}
	openIt    struct{}
	acceptIt  struct{}
	takeBack  struct{}
	contract  struct{}
	reread    struct{}
	openRun   struct{}
)

// Bindings are the keys of the page on screen.
func (p *Page) Bindings() []kit.Binding {
	const group = "Drift"
	s, some := p.selected()
	none := ""
	if !some {
		none = "no collector is selected"
	}
	stored := none
	if stored == "" && s.Run.Seq == 0 {
		stored = "no run of it is stored: its jobs left no result"
	}
	busy := stored
	if p.work.Running() {
		busy = cmp.Or(busy, "something is being written")
	}
	accept := busy
	if err := s.Acceptable(); accept == "" && err != nil && !errors.Is(err, jobs.ErrContractRefused) { // what it refuses is shown
		accept = err.Error()
	}
	undo := busy
	if undo == "" && s.Accepted.Seq == 0 {
		undo = "nothing was accepted"
	}
	enter := kit.Binding{Keys: []string{"enter"}, Label: "fields", Help: "Show the fields of the collector over its runs.", Group: group, Intent: openIt{}, Disabled: stored, Hidden: p.detail.open}
	job := none
	if job == "" && s.Run.Ref == "" {
		job = "it has no run"
	}
	out := []kit.Binding{
		enter,
		{Keys: []string{"a"}, Label: "accept", Help: "Accept what the collector gives now as the new normal; u takes it back. Where its contract refuses that, say so.", Group: group, Intent: acceptIt{}, Disabled: accept},
		{Keys: []string{"u"}, Label: "take back", Help: "Take the newest acceptance back.", Group: group, Intent: takeBack{}, Disabled: undo, Hidden: undo != ""},
		{Keys: []string{"e"}, Label: "contract", Help: "Edit the contract in $EDITOR, or begin one.", Group: group, Intent: contract{}, Disabled: busy},
		{Keys: []string{"o"}, Label: "open run", Help: "Open the newest run: the job, or the fetch in the Sandbox. Nothing is sent.", Group: group, Intent: openRun{}, Disabled: job},
		{Keys: []string{"r"}, Label: "reload", Help: "Read what is stored again.", Group: group, Intent: reread{}, Hidden: true},
		{Keys: []string{"esc", "D"}, Label: "back", Help: "Go back to the collectors, and from there to the jobs.", Group: group, Intent: closePage{}},
	}
	return append(out, widget.MotionBindings()...)
}

// act carries out the intent of a key.
func (p *Page) act(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	s, some := p.selected()
	m, kind, name := p.deps.Monitor, s.Run.Kind, s.Run.Name
	switch msg := msg.(type) {
	case closePage:
		if p.detail.open {
			p.detail.open = false
			p.detail.slot.Drop()
			return nil, true
		}
		p.Close()
		return nil, true
	case reread:
		return p.reload(), true
	case acceptRuns:
		return p.acceptRuns(msg.standing), true
	case openIt, acceptIt, takeBack, contract, openRun:
	default:
		return nil, false
	}
	if !some {
		return nil, true
	}
	switch msg.(type) {
	case openIt:
		if p.detail.open {
			return nil, true
		}
		return p.show(s.Run.Subject), true
	case acceptIt:
		return p.accept(s), true
	case takeBack:
		return kit.Load(kit.Jobs, &p.work, p.deps.Ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, m.TakeBack(ctx, kind, name)
		}, func(_ struct{}, err error) tea.Cmd {
			return p.ended(err, "take back", "the newest acceptance of "+name+" is taken back")
		}), true
	case contract:
		return kit.Load(kit.Jobs, &p.work, p.deps.Ctx, func(context.Context) (string, error) {
			return m.ToEdit(kind, name)
		}, p.located), true
	case openRun:
		if kind == jobs.DriftTarget {
			return kit.GotoTab(kit.Sandbox, kit.OpenFetch{ID: s.Run.Ref, Profile: s.Run.Profile}), true
		}
		p.Close() // the tab shows the job
		return kit.GotoTab(kit.Jobs, kit.OpenJob{ID: s.Run.Ref}), true
	}
	return nil, true
}
