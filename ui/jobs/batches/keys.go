package batches

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Intent is the meaning of a key of the page; s is the selected batch.
type Intent interface {
	do(p *Page, s batch.State) tea.Cmd
}

// Intents of the page's keys.
type (
	closePage struct{}
	openIt    struct{}
	begin     struct{}
	goOn      struct{}
	pause     struct{}
	change    struct{}
	decide    struct{}
	settle    struct{ again bool }
	swap      struct{}
	failures  struct{}
	openItem  struct{}
	copyIt    struct{}
	reread    struct{}
)

// Bindings are the keys of the page on screen.
func (p *Page) Bindings() []kit.Binding {
	const group = "Batches"
	s, some := p.selected()
	none := kit.Reason(!some, "no batch is selected")
	busy := none
	if p.work.Running() {
		busy = cmp.Or(busy, "something is being written")
	}
	resume, stop, lost := cmp.Or(busy, p.whyNotGoOn(s)), busy, busy
	if stop == "" && s.Over() {
		stop = "it is " + string(s.State)
	}
	if lost == "" && s.Tally.Unanswered == 0 {
		lost = "no item waits for a decision"
	}
	_, ok := p.item()
	item := kit.Reason(!ok, "no item is selected")
	out := []kit.Binding{
		{Name: "batches.open", Keys: []string{"enter"}, Label: "open", Help: "Show the batch's progress.", Group: group, Intent: openIt{}, Disabled: none, Hidden: p.one.open},
		{Name: "batches.new", Keys: []string{"n"}, Label: "new", Command: "new batch", Help: "Fetch a page for each row of a file, by the Sandbox's request. Its rows are checked before anything is sent.", Group: group, Intent: begin{}, Disabled: p.session.Refused("fetch")},
		{Name: "batches.pause", Keys: []string{"p"}, Label: "pause", Help: "Pause it: what is in flight finishes, and nothing more is sent.", Group: group, Intent: pause{}, Disabled: stop, Hidden: stop != ""},
		{Name: "batches.resume", Keys: []string{"t"}, Label: "resume", Help: "Resume it in the background, until it is done or the console ends.", Group: group, Intent: goOn{}, Disabled: resume, Hidden: resume != "", Dangerous: true},
		{Name: "batches.limits", Keys: []string{"e"}, Label: "limits", Help: "Change how many fetches go at once, how many items begin in a second, and the cap.", Group: group, Intent: change{}, Disabled: busy},
		{Name: "batches.lost", Keys: []string{"d"}, Label: "lost", Help: "Decide about items that may have been sent without an answer: send them again, or drop them.", Group: group, Intent: decide{}, Disabled: lost, Hidden: lost != ""},
	}
	if p.one.open {
		out[0] = kit.Binding{Name: "batches.open-item", Keys: []string{"enter"}, Label: "to Sandbox", Help: "Fill the Sandbox's form with the request of the item. Nothing is sent.", Group: group, Intent: openItem{}, Disabled: item, Hidden: item != ""}
		out = append(out,
			kit.Binding{Name: "batches.items", Keys: []string{"tab"}, Label: p.one.swapLabel(), Help: "Show the newest items in place of the worst hosts, or back.", Group: group, Intent: swap{}},
			kit.Binding{Name: "batches.failures", Keys: []string{"f"}, Label: "failures", Help: "Show only the items that are not ok, or all.", Group: group, Intent: failures{}, Hidden: !p.one.byItem})
	}
	out = append(out,
		kit.Binding{Name: "batches.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy the folder of results and bodies, the identifier, or a command.", Group: group, Intent: copyIt{}, Disabled: none},
		kit.Binding{Name: "batches.reload", Keys: []string{"r"}, Label: "reload", Help: "Read the batches again.", Group: group, Intent: reread{}, Hidden: true},
		kit.Binding{Name: "batches.back", Keys: []string{"esc", "b"}, Label: "back", Help: "Go back to the batches, and from there to the jobs.", Group: group, Intent: closePage{}},
	)
	return append(out, widget.MotionBindings()...)
}

func (o *one) swapLabel() string {
	if o.byItem {
		return "hosts"
	}
	return "items"
}

// whyNotGoOn says why a batch cannot be gone on with here, or "".
func (p *Page) whyNotGoOn(s batch.State) string {
	switch {
	case s.ID == "":
		return ""
	case s.State == batch.Done || s.State == batch.Held:
		return "nothing is left to send"
	case s.Live:
		return "a process is working on it"
	case s.Profile != p.session.ProfileName:
		return "it belongs to profile " + text.Clean(s.Profile) + " (" + p.deps.Theme.Key("console.profile") + " switches to it)"
	case !p.session.Ready:
		return p.session.NotReady()
	}
	return p.session.Refused("fetch")
}

// Act carries out the intent of a key.
func (p *Page) Act(i Intent) tea.Cmd {
	s, _ := p.selected()
	return i.do(p, s)
}

func (closePage) do(p *Page, _ batch.State) tea.Cmd {
	if !p.one.open {
		p.Close()
		return nil
	}
	p.one.open = false
	p.one.watch.Drop()
	b, id := &p.board, p.one.ID
	return kit.Load(kit.Jobs, &b.slot, p.deps.Ctx, p.deps.Batches.List, func(all []batch.State, err error) tea.Cmd {
		cmd := p.listed(all, err)
		b.table.SetCursor(slices.IndexFunc(b.states, func(s batch.State) bool { return s.ID == id }))
		return cmd
	})
}

func (openIt) do(p *Page, s batch.State) tea.Cmd { return p.show(s) }

// begin asks the Sandbox for its request, with which the form opens.
func (begin) do(*Page, batch.State) tea.Cmd { return kit.SendTo(kit.Sandbox, kit.BatchTemplate{}) }

func (reread) do(p *Page, s batch.State) tea.Cmd {
	if !p.one.open {
		return p.load()
	}
	return tea.Batch(p.show(s), p.loadItems())
}

func (goOn) do(p *Page, s batch.State) tea.Cmd {
	if p.session.Local { // it charges nothing
		return p.resume(s)
	}
	cost := "The zone has no rate, so the cost is unknown."
	if s.Tally.Answered > 0 && s.Plan.Price > 0 {
		cost = "Cost: " + s.CostWords() + "."
	} else if s.Plan.Price > 0 {
		cost = fmt.Sprintf("One fetch costs at most %s.", model.SmallDollars(batch.Dollars(s.Plan.Price)))
	}
	return widget.Confirm(p.deps.Theme, widget.ConfirmSpec{
		Title: "Resume the batch?", Yes: "resume it",
		Body:   fmt.Sprintf("%s: %s left, through zone %s. %s", name(s), text.Counted(int(s.Remaining()), "item"), text.Clean(string(s.Plan.Request.Zone.Name)), cost),
		Intent: kit.Call(kit.Jobs, func() tea.Cmd { return p.resume(s) }),
	})
}

func (p *Page) resume(s batch.State) tea.Cmd {
	b, ctx := p.deps.Batches, p.deps.Ctx
	return kit.Load(kit.Jobs, &p.work, ctx, func(context.Context) (batch.State, error) { return s, b.Begin(ctx, s.ID) }, func(_ batch.State, err error) tea.Cmd {
		if err != nil {
			return p.ended(s, err, "")
		}
		return p.show(s)
	})
}

func (pause) do(p *Page, s batch.State) tea.Cmd {
	b := p.deps.Batches
	return kit.Load(kit.Jobs, &p.work, p.deps.Ctx, func(ctx context.Context) (batch.State, error) {
		return b.Pause(ctx, s.ID)
	}, func(now batch.State, err error) tea.Cmd {
		return p.ended(now, err, name(s)+" is paused: what is in flight finishes · "+p.deps.Theme.Key("batches.resume")+" resumes it")
	})
}

func (decide) do(p *Page, s batch.State) tea.Cmd {
	return widget.OpenMenu(p.deps.Theme, "Lost: "+text.Counted(int(s.Tally.Unanswered), "item"), kit.Jobs, []widget.MenuItem{
		{Key: "a", Label: "send again", Note: "each may be billed twice; " + p.deps.Theme.Key("batches.resume") + " then resumes the batch", Intent: settle{again: true}},
		{Key: "d", Label: "drop", Note: "they stay without a result", Intent: settle{}},
	})
}

func (i settle) do(p *Page, s batch.State) tea.Cmd {
	done := "the items are dropped"
	if i.again {
		done = "the items are sent again once the batch resumes · " + p.deps.Theme.Key("batches.resume") + " resumes it"
	}
	b := p.deps.Batches
	return kit.Load(kit.Jobs, &p.work, p.deps.Ctx, func(ctx context.Context) (batch.State, error) {
		return b.Decide(ctx, s.ID, i.again)
	}, func(now batch.State, err error) tea.Cmd { return p.ended(now, err, done) })
}

func (swap) do(p *Page, _ batch.State) tea.Cmd {
	if p.one.byItem = !p.one.byItem; p.one.byItem {
		return p.loadItems()
	}
	return nil
}

func (failures) do(p *Page, _ batch.State) tea.Cmd {
	if !p.one.byItem {
		return nil
	}
	p.one.items.failed = !p.one.items.failed
	return p.loadItems()
}

// openItem fills the Sandbox's form with what is sent for an item.
func (openItem) do(p *Page, s batch.State) tea.Cmd {
	it, ok := p.item()
	if !ok {
		return nil
	}
	b := p.deps.Batches
	return kit.Load(kit.Jobs, &p.one.items.opened, p.deps.Ctx, func(ctx context.Context) (model.FetchRequest, error) {
		return b.Request(ctx, s.ID, it.N)
	}, func(r model.FetchRequest, err error) tea.Cmd {
		if err != nil {
			return p.ended(s, err, "")
		}
		return kit.GotoTab(kit.Sandbox, kit.OpenRequest{Request: r, Profile: s.Profile})
	})
}

func (copyIt) do(p *Page, s batch.State) tea.Cmd {
	return widget.OpenMenu(p.deps.Theme, "Copy", kit.Jobs, []widget.MenuItem{
		widget.CopyItem("f", "folder of results and bodies", p.deps.Batches.Folder(s.ID)),
		widget.CopyItem("i", "identifier", s.ID),
		widget.CopyItem("w", "command that resumes it", s.Command("resume")),
		widget.CopyItem("n", "command that prints its results", s.Command("results")),
		widget.CopyItem("o", "command that writes its bodies", s.Command("bodies")+" -o bodies"),
	})
}
