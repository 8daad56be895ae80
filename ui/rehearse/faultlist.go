package rehearse

import (
	"context"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/local"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// refreshEvery is how often an open list reloads.
const refreshEvery = time.Second

// faultList is the overlay that lists the faults.
type faultList struct {
	deps    Deps
	table   widget.Table
	faults  []local.Fault
	loaded  bool
	problem string
	reading kit.Slot
	changes kit.Slot // a call that changes the list; the next one waits for it
}

// Intents.
type (
	listAdd    struct{}
	listTurn   struct{}
	listRemove struct{}
	removeNow  struct{ id string }
	listBeat   struct{}
)

func newFaultList(d Deps) *faultList {
	l := &faultList{deps: d}
	l.table.Columns = []widget.Column{
		{Title: "FAULT", Width: 10},
		{Title: "", Width: 5},
		{Title: "AT", Width: 7},
		{Title: "HITS", Width: 11, Right: true},
		{Title: "WHAT", Width: 24, Flex: true},
		{Title: "WHICH CALLS", Width: 18, Flex: true, Priority: 1},
	}
	return l
}

// Init loads the list, and reloads it while it is open.
func (l *faultList) Init() tea.Cmd { return tea.Batch(l.load(), l.beat()) }

// Title is the list's heading.
func (l *faultList) Title() string              { return "Faults of the emulator" }
func (l *faultList) Hidden() (above, below int) { return l.table.Hidden() }

// Size is the size of the list and two lines for the selected row.
func (l *faultList) Size(w, h int) (int, int) {
	return min(104, w-6), min(max(len(l.faults)+4, 8), h-4)
}

// beat schedules the next reload; it is dropped if the list has been closed.
func (l *faultList) beat() tea.Cmd {
	return kit.After(l.deps.Ctx, refreshEvery, kit.ForOverlay{Overlay: l, Msg: listBeat{}})
}

func (l *faultList) load() tea.Cmd {
	return kit.Load(kit.InOverlay(l), &l.reading, l.deps.Ctx, l.deps.Emulator.Faults, l.setFaults)
}

// change runs a call that changes the list.
func (l *faultList) change(call func(context.Context) error) tea.Cmd {
	return kit.Load(kit.InOverlay(l), &l.changes, l.deps.Ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, call(ctx)
	}, func(_ struct{}, err error) tea.Cmd {
		if err != nil {
			return tea.Batch(l.load(), kit.Fail(err.Error()))
		}
		return l.load()
	})
}

func (l *faultList) current() (local.Fault, bool) {
	if i := l.table.Cursor(); i < len(l.faults) {
		return l.faults[i], true
	}
	return local.Fault{}, false
}

// Bindings are the list's keys.
func (l *faultList) Bindings() []kit.Binding {
	none := ""
	f, ok := l.current()
	switch {
	case !ok:
		none = "no fault is selected"
	case l.changes.Running():
		none = "a change is in progress"
	}
	turn := kit.Binding{Name: "faults.switch", Keys: []string{"space"}, Label: "off", Help: "Switch the fault off, or on again; its counters stay.", Group: "Faults", Intent: listTurn{}, Disabled: none}
	if f.Off {
		turn.Label = "on"
	}
	return widget.WithMotion([]kit.Binding{
		{Name: "faults.add", Keys: []string{"a"}, Label: "add", Help: "Add a fault.", Group: "Faults", Intent: listAdd{}},
		turn,
		{Name: "faults.remove", Keys: []string{"X"}, Label: "remove", Help: "Remove the fault from the emulator.", Group: "Faults", Intent: listRemove{}, Disabled: none, Dangerous: true},
		{Name: "faults.close", Keys: []string{"esc", "q"}, Label: "close", Help: "Close the list; the faults stay.", Intent: kit.Close{}},
	})
}

// Update handles intents and motions.
func (l *faultList) Update(msg tea.Msg) tea.Cmd {
	d := l.deps
	switch msg := msg.(type) {
	case listBeat:
		if l.changes.Running() {
			return l.beat()
		}
		return tea.Batch(l.load(), l.beat())
	case listAdd:
		return kit.OpenOverlay(newFaultForm(d))
	case listTurn:
		f, ok := l.current()
		if !ok {
			return nil
		}
		return l.change(func(ctx context.Context) error { return d.Emulator.TurnFault(ctx, f.ID, f.Off) })
	case listRemove:
		f, ok := l.current()
		if !ok {
			return nil
		}
		return widget.Confirm(d.Theme, widget.ConfirmSpec{
			Title: "Remove the fault?", Yes: "remove it", Intent: kit.ForOverlay{Overlay: l, Msg: removeNow{f.ID}},
			Body: f.ID + " at the " + f.Point + " (" + f.Effect() + ", " + f.Scope() + ") hit " + text.Count(int(f.Hits)) + " of " + text.Count(int(f.Calls)) + " calls. Its counters are removed with it; space switches it off and keeps it.",
		})
	case removeNow:
		return l.change(func(ctx context.Context) error { return d.Emulator.RemoveFault(ctx, msg.id) })
	default:
		l.table.Update(msg)
	}
	return nil
}

func (l *faultList) setFaults(faults []local.Fault, err error) tea.Cmd {
	if err != nil {
		l.problem = err.Error()
		return nil
	}
	l.faults, l.loaded, l.problem = faults, true, ""
	l.table.SetRowsKeyed(len(faults), func(i int) string { return faults[i].ID }, l.row)
	return nil
}

func (l *faultList) row(i int) []widget.Cell {
	th, f := l.deps.Theme, l.faults[i]
	state := widget.Cell{Text: "● on", Ink: th.Warn}
	if f.Off {
		state = widget.Cell{Text: "○ off", Ink: th.Muted}
	}
	return []widget.Cell{
		widget.C(f.ID), state, widget.C(f.Point),
		widget.C(strconv.FormatInt(f.Hits, 10) + " of " + strconv.FormatInt(f.Calls, 10)), widget.C(f.Effect()), widget.C(f.Scope()),
	}
}

// Render draws the list and the details of the selected row.
func (l *faultList) Render(w, h int) string {
	th := l.deps.Theme
	switch {
	case l.problem != "":
		return widget.Block("\n "+th.Bad.Render("✗ ")+text.Cut(text.Clean(l.problem), w-4), w, h)
	case !l.loaded:
		return widget.Block("\n "+th.Muted.Render("asking the emulator…"), w, h)
	case len(l.faults) == 0:
		return widget.Block("\n "+th.Muted.Render("No fault is set: the emulator works normally.")+"\n\n "+th.KeyHint.Render(th.Key("faults.add"))+" adds one.", w, h)
	}
	detail := ""
	if f, ok := l.current(); ok {
		detail = strings.Join(widget.Foot(th, w, f.Point+": "+f.Effect(), f.Scope()+" · set "+text.ClockAndAge(f.Added, l.deps.Now())), "\n")
	}
	return widget.Stack(l.table.Render(th, true, w, max(h-3, 1)), detail)
}
