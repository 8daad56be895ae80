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

// Intent is the meaning of a key of the page; s is the selected collector.
type Intent interface {
	do(p *Page, s jobs.DriftStanding) tea.Cmd
}

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
	none := kit.Reason(!some, "no collector is selected")
	stored := none
	if stored == "" && s.Run.Seq == 0 {
		stored = "no run of it is stored: its jobs left no result"
	}
	busy := stored
	if p.work.Running() {
		busy = cmp.Or(busy, "something is being written")
	}
	accept := busy
	if err := s.Acceptable(); accept == "" && err != nil && !errors.Is(err, jobs.ErrContractRefused) { // the terms page shows why
		accept = err.Error()
	}
	undo := busy
	if undo == "" && s.Accepted.Seq == 0 {
		undo = "nothing was accepted"
	}
	enter := kit.Binding{Name: "drift.fields", Keys: []string{"enter"}, Label: "fields", Help: "Show the fields of the collector over its runs.", Group: group, Intent: openIt{}, Disabled: stored, Hidden: p.detail.open}
	job := none
	if job == "" && s.Run.Ref == "" {
		job = "it has no run"
	}
	out := []kit.Binding{
		enter,
		{Name: "drift.accept", Keys: []string{"a"}, Label: "accept", Help: "Accept what the collector gives now as the new normal; " + p.deps.Theme.Key("drift.take-back") + " undoes it. If its contract refuses that, the page says so.", Group: group, Intent: acceptIt{}, Disabled: accept},
		{Name: "drift.take-back", Keys: []string{"u"}, Label: "undo", Help: "Undo the newest acceptance.", Group: group, Intent: takeBack{}, Disabled: undo, Hidden: undo != ""},
		{Name: "drift.contract", Keys: []string{"e"}, Label: "contract", Help: "Edit the contract in $EDITOR, or begin one.", Group: group, Intent: contract{}, Disabled: busy},
		{Name: "drift.open-run", Keys: []string{"o"}, Label: "open run", Help: "Open the newest run: the job, or the fetch in the Sandbox. Nothing is sent.", Group: group, Intent: openRun{}, Disabled: job},
		{Name: "drift.reload", Keys: []string{"r"}, Label: "reload", Help: "Read the stored runs again.", Group: group, Intent: reread{}, Hidden: true},
		{Name: "drift.back", Keys: []string{"esc", "D"}, Label: "back", Help: "Go back to the collectors, and from there to the jobs.", Group: group, Intent: closePage{}},
	}
	return append(out, widget.MotionBindings()...)
}

// Act carries out the intent of a key.
func (p *Page) Act(i Intent) tea.Cmd {
	s, some := p.selected()
	if _, pages := i.(pageIntent); !pages && !some {
		return nil
	}
	return i.do(p, s)
}

// pageIntent needs no collector.
type pageIntent interface{ ofPage() }

func (closePage) ofPage()  {}
func (reread) ofPage()     {}
func (acceptRuns) ofPage() {}

func (closePage) do(p *Page, _ jobs.DriftStanding) tea.Cmd { //nolint:unparam // an intent of the page
	if p.detail.open {
		p.detail.open = false
		p.detail.slot.Drop()
		return nil
	}
	p.Close()
	return nil
}

func (reread) do(p *Page, _ jobs.DriftStanding) tea.Cmd       { return p.reload() }
func (i acceptRuns) do(p *Page, _ jobs.DriftStanding) tea.Cmd { return p.acceptRuns(i.standing) }
func (acceptIt) do(p *Page, s jobs.DriftStanding) tea.Cmd     { return p.accept(s) }

func (openIt) do(p *Page, s jobs.DriftStanding) tea.Cmd {
	if p.detail.open {
		return nil
	}
	return p.show(s.Run.Subject, "")
}

func (takeBack) do(p *Page, s jobs.DriftStanding) tea.Cmd {
	m, kind, name := p.deps.Monitor, s.Run.Kind, s.Run.Name
	return kit.Load(kit.Jobs, &p.work, p.deps.Ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, m.TakeBack(ctx, kind, name)
	}, func(_ struct{}, err error) tea.Cmd {
		return p.ended(err, "undo", "undid the newest acceptance of "+name)
	})
}

func (contract) do(p *Page, s jobs.DriftStanding) tea.Cmd {
	m := p.deps.Monitor
	return kit.Load(kit.Jobs, &p.work, p.deps.Ctx, func(context.Context) (string, error) {
		return m.ToEdit(s.Run.Kind, s.Run.Name)
	}, p.located)
}

func (openRun) do(p *Page, s jobs.DriftStanding) tea.Cmd {
	if s.Run.Kind == jobs.DriftTarget {
		return kit.GotoTab(kit.Sandbox, kit.OpenFetch{ID: s.Run.Ref, Profile: s.Run.Profile})
	}
	p.Close() // the tab shows the job
	return kit.GotoTab(kit.Jobs, kit.OpenJob{ID: s.Run.Ref})
}
