package rehearse_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/local"
	"zonedeck/service/rehearsal"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/rehearse"
	"zonedeck/ui/uitest"
)

// fakeEmulator keeps faults and a clock in memory.
type fakeEmulator struct {
	mu     sync.Mutex
	faults []local.Fault
	ahead  time.Duration
	err    error
	slow   time.Duration
	added  int
}

func (f *fakeEmulator) do(ctx context.Context, change func()) error {
	if f.slow > 0 {
		select {
		case <-time.After(f.slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	change()
	return nil
}

func (f *fakeEmulator) Faults(ctx context.Context) (out []local.Fault, err error) {
	err = f.do(ctx, func() { out = slices.Clone(f.faults) })
	return out, err
}

func (f *fakeEmulator) AddFault(ctx context.Context, r local.Rule) (out local.Fault, err error) {
	err = f.do(ctx, func() {
		f.added++
		out = local.Fault{Rule: r, ID: fmt.Sprintf("fault-%d", f.added), Added: time.Now()}
		f.faults = append(f.faults, out)
	})
	return out, err
}

func (f *fakeEmulator) change(ctx context.Context, id string, do func(i int)) error {
	missing := false
	err := f.do(ctx, func() {
		i := slices.IndexFunc(f.faults, func(x local.Fault) bool { return x.ID == id })
		if missing = i < 0; !missing {
			do(i)
		}
	})
	if err == nil && missing {
		err = &rehearsal.RefusedError{Status: 404, Reason: "no such fault: " + id}
	}
	return err
}

func (f *fakeEmulator) TurnFault(ctx context.Context, id string, on bool) error {
	return f.change(ctx, id, func(i int) { f.faults[i].Off = !on })
}

func (f *fakeEmulator) RemoveFault(ctx context.Context, id string) error {
	return f.change(ctx, id, func(i int) { f.faults = slices.Delete(f.faults, i, i+1) })
}

func (f *fakeEmulator) Advance(ctx context.Context, by time.Duration) (tea.Msg, error) {
	err := f.do(ctx, func() { f.ahead += by })
	return kit.SessionChanged{Session: kit.Session{ProfileName: "local", Local: true, Ready: true, Ahead: f.ahead}}, err
}

// last is the fault that was added last.
func (f *fakeEmulator) last(t *testing.T) local.Rule {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.faults) == 0 {
		t.Fatal("no fault was added")
	}
	r := f.faults[len(f.faults)-1].Rule
	for name, v := range r.Fields {
		if v == "" {
			delete(r.Fields, name)
		}
	}
	return r
}

func (f *fakeEmulator) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// blank is a tab with nothing in it, for the palette to open over.
type blank struct{}

func (blank) Init() tea.Cmd           { return nil }
func (blank) Update(tea.Msg) tea.Cmd  { return nil }
func (blank) Render(w, h int) string  { return widget.Block("", w, h) }
func (blank) Title() string           { return "Blank" }
func (blank) Bindings() []kit.Binding { return nil }

// flow opens an entry of the palette over a blank tab; without an emulator the profile
// is a real account.
func flow(t *testing.T, e *fakeEmulator, w, h int, entry string, body func(s *uitest.Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		theme := kit.NewTheme(true, false)
		session := kit.Session{ProfileName: "local", Local: true, Ready: true}
		d := rehearse.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, Profile: "acme",
			Zones: []string{"isp_demo", "unlocker_demo"},
		}
		if e != nil {
			d.Profile, d.Emulator = "local", e
		}
		s := uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Session: session,
			Tabs: []ui.Tab{{ID: kit.Sandbox, View: blank{}}}, Commands: func() []kit.Binding { return rehearse.Commands(d) },
		}), w, h)
		s.Press("ctrl+p")
		s.Type(entry)
		s.Press("enter")
		body(s)
	})
}

func TestACommonFaultIsOneChoiceAway(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}} {
		e := &fakeEmulator{}
		flow(t, e, size[0], size[1], "add a fault", func(s *uitest.Screen) {
			s.Expect("Add a fault")
			s.Press("enter")
			s.Type("429 five")
			s.Press("enter", "ctrl+s")
			s.ExpectNot("Add a fault")
			s.Expect("added fault-1 at the target")
			if r := e.last(t); r.Point != "target" || r.Effect() != "too_fast retry_after=2s" || r.Scope() != "times=5" {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestAFaultIsFilledInFieldByField(t *testing.T) {
	e := &fakeEmulator{}
	flow(t, e, 120, 40, "add a fault", func(s *uitest.Screen) {
		s.Expect("›Common", "(•) target", "Status", "Accepted")
		s.Press("tab", "left", "left") // from target to the API
		s.Expect("(•) api", "Dataset")
		s.Press("tab", "enter")
		s.Type("cut")
		s.Press("enter")
		s.Expect("After bytes")
		s.ExpectNot("Status", "Accepted")
		s.Type("lots")
		s.Press("ctrl+s")
		s.Expect("write a whole number")
		for range len("lots") {
			s.PressFast("backspace")
		}
		s.Type("512")
		s.Press("tab", "tab", "enter") // over the delay, to the zone
		s.Type("isp")
		s.Press("enter")
		s.Press("tab")
		s.Type("/request")
		s.Press("tab", "tab")
		s.Type("from=3 sometimes")
		s.Press("ctrl+s")
		s.Expect(`"sometimes": write nth, from`)
		for range len("sometimes") {
			s.PressFast("backspace")
		}
		s.Type("probability=0.5")
		s.Press("ctrl+s")
		s.ExpectNot("Add a fault")
		s.Expect("added fault-1 at the api")
		if r := e.last(t); r.Effect() != "cut after=512" || r.Scope() != "zone=isp_demo path=/request from=3 probability=0.5" {
			t.Errorf("%q %q", r.Effect(), r.Scope())
		}
	})
}

func TestFieldsThatAPointDoesNotKnowAreNotSent(t *testing.T) {
	e := &fakeEmulator{}
	flow(t, e, 120, 40, "add a fault", func(s *uitest.Screen) {
		s.Press("enter")
		s.Type("reset connections") // the proxy's, with a probability
		s.Press("enter", "right", "right")
		s.Expect("(•) webhook", "late  the webhook waits")
		s.ExpectNot("Zone", "Dataset")
		s.Press("ctrl+s")
		s.Expect("at the webhook")
		if r := e.last(t); r.Action != "late" || r.Fields["zone"] != "" || r.Fields["probability"] != "0.3" {
			t.Errorf("%+v", r)
		}
	})
}

func TestARefusalKeepsTheForm(t *testing.T) {
	e := &fakeEmulator{err: &rehearsal.RefusedError{Status: 400, Reason: "the action status has no status"}}
	flow(t, e, 80, 24, "add a fault", func(s *uitest.Screen) {
		s.Press("ctrl+s")
		s.Expect("Add a fault", "✗ the emulator refuses: the action status has no status")
		e.set(func() { e.err = nil })
		s.Press("ctrl+s")
		s.ExpectNot("Add a fault")
		s.Expect("added fault-1")
	})
}

func fault(id string, hits int64) local.Fault {
	return local.Fault{
		ID: id, Calls: hits + 2, Hits: hits, Added: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		Rule: local.Rule{Point: "api", Action: "status", Fields: map[string]string{"status": "503", "zone": "isp_demo"}},
	}
}

func TestTheListCountsSwitchesAndRemoves(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}} {
		e := &fakeEmulator{faults: []local.Fault{fault("slow-api", 3), fault("other", 0)}}
		flow(t, e, size[0], size[1], "faults…", func(s *uitest.Screen) {
			s.Expect("Faults of the emulator", "slow-api", "● on", "3 of 5", "status=503", "zone=isp_demo")
			e.set(func() { e.faults[0].Hits = 4 })
			s.After(2 * time.Second)
			s.Expect("4 of 5") // it counts on while it is open
			s.Press("space")
			s.Expect("○ off")
			s.Press("space")
			s.ExpectNot("○ off")
			s.Press("X")
			s.Expect("Remove the fault?", "slow-api at the api", "4 of 5", "calls.", "Its counters")
			s.After(time.Second) // a question takes no key at once
			s.Press("n")
			s.Expect("slow-api")
			s.Press("X")
			s.After(time.Second)
			s.Press("y")
			s.ExpectNot("slow-api")
			s.Expect("other")
			s.Press("X")
			s.After(time.Second)
			s.Press("y")
			s.Expect("No fault is set: the emulator works normally.")
			s.Press("X")
			s.Expect("no fault is selected")
			s.Press("a")
			s.Expect("Add a fault")
			s.Press("esc", "esc")
			s.ExpectNot("Faults of the emulator")
		})
		if len(e.faults) != 0 {
			t.Errorf("left: %+v", e.faults)
		}
	}
}

func TestAListThatCannotBeReadSaysSoAndComesBack(t *testing.T) {
	e := &fakeEmulator{err: errors.New("nobody answers")}
	flow(t, e, 80, 24, "faults…", func(s *uitest.Screen) {
		s.Expect("✗ nobody answers")
		e.set(func() { e.err = nil; e.faults = []local.Fault{fault("one", 1)} })
		s.After(2 * time.Second)
		s.Expect("1 of 3")
		e.set(func() { e.faults = nil }) // somebody else removed it
		s.Press("X")
		s.After(500 * time.Millisecond)
		s.AllowError("no such fault")
		s.Press("y")
		s.Expect("the emulator refuses: no such fault: one")
	})
}

func TestTimeMovesAfterAConfirmationThatNamesTheConsequence(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}} {
		e := &fakeEmulator{}
		flow(t, e, size[0], size[1], "move time", func(s *uitest.Screen) {
			s.Expect("Move the emulator's time forward", "2000-01-01 00:00 UTC")
			s.Type("soon")
			s.Press("ctrl+s")
			s.Expect("write a time like 36h, 7d, 2w")
			for range len("soon") {
				s.PressFast("backspace")
			}
			s.Type("7d")
			s.Press("ctrl+s")
			s.Expect("Move time forward?", "(+7d)", "It never goes back", "zonedeck emulate reset")
			s.After(time.Second)
			s.Press("n")
			if e.ahead != 0 {
				t.Errorf("moved by %v without a yes", e.ahead)
			}
			s.Press("ctrl+s")
			s.After(time.Second)
			s.Press("y")
			s.ExpectNot("Forward by")
			s.Expect("+7d")
		})
		if e.ahead != 7*24*time.Hour {
			t.Errorf("moved by %v", e.ahead)
		}
	}
}

func TestARefusedMoveIsShownInTheForm(t *testing.T) {
	e := &fakeEmulator{err: &rehearsal.RefusedError{Status: 409, Reason: "the clock would be more than 100 years from the machine's"}}
	flow(t, e, 80, 24, "move time", func(s *uitest.Screen) {
		s.Type("5000w")
		s.Press("ctrl+s")
		s.After(time.Second)
		s.Press("y")
		s.Expect("Forward by", "more than 100 years")
	})
}

func TestARealAccountCannotBeRehearsed(t *testing.T) {
	for _, entry := range []string{"add a fault", "faults…", "move time"} {
		flow(t, nil, 120, 40, entry, func(s *uitest.Screen) {
			s.Expect("only the local emulator can do this; acme is a real account")
			s.ExpectNot("Forward by", "Faults of the emulator")
		})
	}
}
