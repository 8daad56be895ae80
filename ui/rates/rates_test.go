package rates_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	servicerates "zonedeck/service/rates"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/rates"
	"zonedeck/ui/uitest"
)

// account answers what its zones cost, and keeps what is written.
type account struct {
	costs   []model.ZoneCost
	err     error
	slow    time.Duration
	by      []string
	ended   error
	saveErr error
	written map[model.ZoneName]model.Rate
	profile model.Profile
	money   model.Money
}

func (a *account) Money(ctx context.Context) (model.Money, error) {
	_, err := a.Measure(ctx, "books")
	return a.money, err
}

func (a *account) Refusal(k model.Key) error { return servicerates.Refusal(a.profile, k) }

func (a *account) Measure(ctx context.Context, key string) ([]model.ZoneCost, error) {
	a.by = append(a.by, key)
	select {
	case <-time.After(a.slow):
	case <-ctx.Done():
		a.ended = ctx.Err()
		return nil, ctx.Err()
	}
	return a.costs, a.err
}

func (a *account) Save(_ context.Context, rates map[model.ZoneName]model.Rate) error {
	if a.saveErr == nil {
		a.written = rates
	}
	return a.saveErr
}

func day(m time.Month, d int) time.Time { return time.Date(2026, m, d, 0, 0, 0, 0, time.UTC) }

// charged is an account with two zones that were charged, and one that was not.
func charged() *account {
	zone := func(name string, p model.Product, r model.Rate) model.Zone {
		return model.Zone{Name: model.ZoneName(name), Product: p, Rate: r}
	}
	a := &account{slow: time.Second, profile: model.Profile{Name: "acme", Dialect: "brightdata", BaseURL: "https://api.example"}, costs: []model.ZoneCost{
		{Zone: zone("idle", model.ProductISP, model.Rate{PerGB: 7}), Problem: "nothing was charged this month or last"},
		{Zone: zone("unlocker", model.ProductUnlocker, model.Rate{}), From: day(10, 1), To: day(11, 1), Dollars: 3, Requests: 2000, Rate: model.Rate{Per1000: 1.5}},
		{Zone: zone("dc", model.ProductDatacenter, model.Rate{PerGB: 9}), From: day(10, 1), To: day(11, 1), Dollars: 0.5, Bytes: 1e9, Rate: model.Rate{PerGB: 0.5}},
	}}
	for _, c := range a.costs {
		a.profile.Zones = append(a.profile.Zones, c.Zone)
	}
	return a
}

func flow(t *testing.T, a *account, w, h int, change func(*rates.Deps), body func(s *uitest.Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		theme := kit.NewTheme(true, false)
		d := rates.Deps{
			Ctx: t.Context(), Theme: theme, Profile: "acme", Account: a, Typed: servicerates.Typed,
			Keys: []model.Key{
				{Name: "boss", Level: model.LevelAdmin},
				{Name: "daily", Level: model.LevelUser},
				{Name: "unknown"},
				{Name: "books", Level: model.LevelFinance},
			},
		}
		if change != nil {
			change(&d)
		}
		s := uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
			Session: kit.Session{ProfileName: "acme", Ready: true},
			Tabs:    []ui.Tab{{ID: kit.Sandbox, View: &uitest.OtherTab{}}}, Commands: func() []kit.Binding { return rates.Commands(d) },
		}), w, h)
		s.Press("ctrl+p")
		s.Type("rates")
		s.Press("enter")
		body(s)
	})
}

func TestRatesAreMeasuredShownAndWrittenOnlyWhenSaved(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}} {
		a := charged()
		flow(t, a, size[0], size[1], nil, func(s *uitest.Screen) {
			s.Expect("What the zones of acme cost", "›Key  books  FINANCE", "Without")
			s.Press("ctrl+s")
			s.Expect("asking the account with key books")
			s.Press("s")
			s.Expect("the account is being asked")
			s.After(time.Second)
			s.Expect("unlocker", "$1.5 per 1000", "[s] writes")
			if len(a.written) > 0 || len(a.by) != 1 || a.by[0] != "books" {
				t.Fatalf("asked by %v, and %v was written unasked", a.by, a.written)
			}
			s.Press("s")
			s.Expect("wrote 2 rates into profile acme")
			s.ExpectNot("What the zones")
			if len(a.written) != 2 || a.written["unlocker"] != (model.Rate{Per1000: 1.5}) || a.written["dc"] != (model.Rate{PerGB: 0.5}) {
				t.Errorf("%v", a.written)
			}
		})
	}
}

func TestWhatStandsInTheProfileIsShownBesideTheMeasuredRate(t *testing.T) {
	flow(t, charged(), 120, 40, nil, func(s *uitest.Screen) {
		s.Press("ctrl+s")
		s.After(time.Second)
		s.Expect("-              now $7 per GB; nothing was charged this month or last", "now unpriced; $3.00 for requests: 2000, the account's cost of 2026-10-01 to",
			"$0.5 per GB    now $9 per GB; $0.5000 for bytes: 1000000000")
	})
}

func TestZonesWithLongNamesAreToldApart(t *testing.T) {
	for _, w := range []int{80, 120} {
		a := charged()
		a.costs[0].Zone.Name, a.costs[1].Zone.Name = "web_11_residential_rotating_eu", "web_11_residential_rotating_us"
		flow(t, a, w, 40, nil, func(s *uitest.Screen) {
			s.Press("ctrl+s")
			s.After(time.Second)
			s.Expect("web_11_residential_rotating_eu -", "web_11_residential_rotating_us $1.5 per 1000")
		})
	}
}

func TestAKeyWithoutAccessToBillingSaysWhy(t *testing.T) {
	a := charged()
	flow(t, a, 120, 40, nil, func(s *uitest.Screen) {
		s.Press("enter")
		s.Expect("boss", "daily", "its level has no access to billing")
		s.Type("boss")
		s.Press("enter", "ctrl+s")
		s.After(time.Second)
		if len(a.by) != 1 || a.by[0] != "boss" {
			t.Errorf("asked by %v", a.by)
		}
	})
	flow(t, a, 120, 40, func(d *rates.Deps) { d.Keys = d.Keys[:3] }, func(s *uitest.Screen) {
		s.Press("ctrl+s")
		s.Expect("pick a FINANCE or ADMIN key; without one, type the rates") // no other is ever the one suggested
	})
	if len(a.by) != 1 {
		t.Errorf("asked by %v", a.by)
	}
}

func TestWhatCannotBeAskedOrWrittenSaysWhy(t *testing.T) {
	a := charged()
	a.profile.Dialect = ""
	flow(t, a, 120, 40, nil, func(s *uitest.Screen) {
		s.Expect("the contract shows no call that tells a cost")
	})
	a = charged()
	flow(t, a, 120, 40, func(d *rates.Deps) { d.Keys = d.Keys[1:2] }, func(s *uitest.Screen) { // what is known to fail is not offered
		s.Expect("no key here may see costs", "type the rates: zonedeck")
		s.ExpectNot("What the zones")
	})
	a = charged()
	flow(t, a, 120, 40, func(d *rates.Deps) { d.Refused = "profile acme is read-only" }, func(s *uitest.Screen) {
		s.Press("ctrl+s")
		s.After(time.Second)
		s.Expect("Nothing is written: profile acme is read-only.", "$1.5 per 1000")
		s.Press("s")
		s.Expect("s save the rates: profile acme is read-only")
	})
	a.saveErr = errors.New("the file writes the zone in another form")
	flow(t, a, 120, 40, nil, func(s *uitest.Screen) {
		s.Press("ctrl+s")
		s.After(time.Second)
		s.Press("s")
		s.Expect("✗ the file writes the zone in another form", "$1.5 per 1000")
	})
	a.err, a.costs = errors.New("the account does not show its costs to key books (403)"), nil
	flow(t, a, 120, 40, nil, func(s *uitest.Screen) {
		s.Press("ctrl+s")
		s.After(time.Second)
		s.Expect("✗ the account does not show its costs to key books (403)")
		s.Press("s")
		s.Expect("no rate was measured")
	})
	if len(a.written) > 0 {
		t.Errorf("%v was written", a.written)
	}
}

func TestEscEndsTheAsking(t *testing.T) {
	a := charged()
	flow(t, a, 120, 40, nil, func(s *uitest.Screen) {
		s.Press("ctrl+s")
		s.Expect("esc cancels")
		s.Press("esc")
		s.ExpectNot("What the zones")
		s.After(time.Second)
		s.ExpectNot("What the zones")
		if !errors.Is(a.ended, context.Canceled) {
			t.Errorf("the call ended with %v", a.ended)
		}
	})
}
