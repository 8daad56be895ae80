package split_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/split"
	"zonedeck/ui/uitest"
)

// fakeSplitter answers a zone by its name: "good" zones and pages come, others are refused.
type fakeSplitter struct {
	planErr, err error
	sent         []string
	slow         time.Duration
	stuck        time.Duration // how long a cancellation takes
	ended        error
	grew         int // how often the Sandbox heard that the history grew
}

// tab is the Sandbox.
type tab struct {
	uitest.Elsewhere
	f *fakeSplitter
}

func (o *tab) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(kit.HistoryGrew); ok {
		o.f.grew++
	}
	return o.Elsewhere.Update(msg)
}

func (f *fakeSplitter) Plan(_ context.Context, p model.Preset, _ model.FetchRequest) (model.Grid, error) {
	p.GoodPage = "http://good.example/"
	g := model.NewRefusal(p)
	g.Profile = "acme"
	return g, f.planErr
}

func (f *fakeSplitter) Compare(ctx context.Context, g model.Grid, on func(i int, c model.Cell)) (model.Grid, error) {
	g.Cells = slices.Clone(g.Cells) // as the service does: the plan is the overlay's
	set := func(i int, c model.Cell) {
		g.Cells[i] = c
		on(i, c)
	}
	for i, ok := g.Next(); ok; i, ok = g.Next() {
		c := g.Cells[i]
		c.Active = true
		set(i, c)
		c.Active = false
		select {
		case <-time.After(f.slow):
		case <-ctx.Done():
			f.ended = ctx.Err()
			<-time.After(f.stuck)
			return g, ctx.Err()
		}
		f.sent = append(f.sent, c.Different())
		r := model.Run{FetchID: "f_" + c.Different(), Status: 200, Class: model.ClassOK, Summary: "The page came."}
		if !strings.Contains(c.Different(), "good") {
			r.Status, r.Class, r.Summary = 403, model.ClassAccessRestricted, "Refused here, too."
		}
		c.Runs = []model.Run{r}
		set(i, c)
	}
	for i, c := range g.Cells {
		if len(c.Runs) == 0 && c.Problem == "" {
			c.Problem = "not needed: what was sent decides it"
			set(i, c)
		}
	}
	return g, f.err
}

func open(t *testing.T, w, h int, f *fakeSplitter, local bool, via model.Via) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	zones := []model.Zone{
		{Name: "dc1", Product: model.ProductDatacenter, Password: "env:P"},
		{Name: "dc2", Product: model.ProductDatacenter, Password: "env:P", Rate: model.Rate{Per1000: 1}},
		{Name: "isp-good", Product: model.ProductISP, Password: "env:P", Rate: model.Rate{Per1000: 2}},
	}
	keys := []model.Key{{Name: "k1", Level: model.LevelUser, Secret: "env:A"}, {Name: "k2", Level: model.LevelUser, Secret: "env:B"}, {Name: "k3", Level: model.LevelOps, Secret: "env:C"}}
	d := split.Deps{
		Ctx: t.Context(), Theme: theme, Comparer: f, Local: local,
		Zones: func() []model.Zone { return zones }, Keys: func() []model.Key { return keys },
	}
	subject := model.FetchResult{
		ID: "f_0", KeyName: "k1", Status: 403, Diagnosis: model.Diagnosis{Class: model.ClassAccessRestricted, Summary: "The first refusal."},
		Request: model.FetchRequest{Zone: zones[0], URL: "http://shop.example/", Via: via},
	}
	s := uitest.Start(t, ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Sandbox, View: &tab{f: f}}},
		Session: kit.Session{ProfileName: "acme", Ready: true},
	}), w, h)
	s.Send(split.Open(d, subject)())
	return s
}

func TestOnARealAccountTheFetchesAndTheirPricesAreShownBeforeTheyAreSent(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSplitter{slow: time.Second}
			s := open(t, size[0], size[1], f, false, model.ViaAPI)
			s.Expect("[y] sends at most 3 requests ($0.0020 + 2 unpriced)", "another zone", "isp-good", "$0.0020", "another key", "k2", "unpriced", "The first refusal.")
			if len(f.sent) > 0 {
				t.Fatalf("%v was sent unasked", f.sent)
			}
			s.Press("y")
			s.Expect("● sending", "esc cancels")
			s.After(3 * time.Second)
			s.Expect("✓ The zone, at this site: ", "✓ ok", "- not sent", "HistoryGrew")
			if got := strings.Join(f.sent, " "); got != "http://good.example/ isp-good" {
				t.Errorf("%s were sent", got)
			}
			s.Press("down", "down", "down")
			s.Expect("not needed: what was sent decides it")
			s.Press("up")
			s.Expect("The page came.")
			s.Press("enter")
			s.Expect("kit.OpenFetch")
			s.ExpectNot("What refuses")
		})
	}
}

func TestTheOtherZoneAndTheOtherKeyCanBeChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSplitter{}
		s := open(t, 120, 40, f, false, model.ViaAPI)
		s.Press("o", "a")
		s.Expect("dc2", "k3", "$0.0010 + 2 unpriced")
		s.Press("a")
		s.Expect("k2")
		s.Press("a", "y")
		s.Expect("✓ The site: with key k1 zone dc1 fetches a good page, and this one is refused to zone dc2 too")
		if f.sent[1] != "dc2" {
			t.Errorf("%v were sent", f.sent)
		}
	})
}

func TestOnTheEmulatorTheyAreSentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, 120, 40, &fakeSplitter{}, true, model.ViaNative)
		s.Expect("The zone, at this site: with the proxy login zone dc1")
		s.Press("down", "down", "down")
		s.Expect("by Native Access the zone's password is sent, and no key")
		s.Press("enter")
		s.Expect("it was not sent")
		s.Press("esc")
		s.ExpectNot("What refuses")
	})
}

func TestEscapeCancelsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSplitter{slow: time.Hour}
		s := open(t, 120, 40, f, true, model.ViaAPI)
		s.Expect("● sending")
		s.Press("esc")
		s.ExpectNot("What refuses")
		if !errors.Is(f.ended, context.Canceled) || len(f.sent) > 0 {
			t.Errorf("it ended with %v; %v were sent", f.ended, f.sent)
		}
	})
}

func TestWhatWasSentBeforeTheEndIsInTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSplitter{slow: time.Second, stuck: 2 * time.Second}
		s := open(t, 120, 40, f, true, model.ViaAPI)
		s.After(1500 * time.Millisecond)
		s.Press("esc")
		s.Expect("cancelling")
		s.After(3 * time.Second)
		s.ExpectNot("What refuses")
		if len(f.sent) == 0 || f.grew != 1 {
			t.Errorf("%v were sent; the Sandbox heard of it %d times", f.sent, f.grew)
		}
		f.stuck = 10 * time.Second
		s = open(t, 120, 40, f, true, model.ViaAPI)
		s.Press("esc", "esc")
		s.ExpectNot("What refuses")
		if f.grew != 2 {
			t.Errorf("when it was left at once, the Sandbox heard of it %d times", f.grew-1)
		}
		s.After(20 * time.Second)
	})
}

func TestAClickSelectsARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, 120, 40, &fakeSplitter{}, true, model.ViaNative)
		s.Click("good.example")
		s.Press("enter")
		s.Expect("OpenFetch {ID:f_http://good.example/")
	})
}

func TestWhyThereIsNoAnswerIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, 120, 40, &fakeSplitter{planErr: errors.New("no profile")}, false, model.ViaAPI)
		s.Expect("✗ no profile")
		s.Press("esc")
		s = open(t, 120, 40, &fakeSplitter{err: errors.New("the network is away")}, true, model.ViaAPI)
		s.Expect("✗ the network is away")
	})
}
