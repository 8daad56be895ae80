package rates_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/rates"
	"zonedeck/ui/uitest"
)

// spends is what the root knows of money.
type spends struct{ rates.Deps }

func (spends) Spent() model.Spend { return model.Spend{} }

func (s spends) Balance() kit.Overlay { return rates.Balance(s.Deps) }

func balanceFlow(t *testing.T, a *account, w, h int, profile string, body func(s *uitest.Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		theme := kit.NewTheme(true, false)
		d := rates.Deps{Ctx: t.Context(), Theme: theme, Profile: profile, Account: a}
		body(uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Session: kit.Session{ProfileName: "acme", Ready: true},
			Tabs: []ui.Tab{{ID: kit.Sandbox, View: &uitest.OtherTab{}}}, Spending: spends{d},
		}), w, h))
	})
}

// rich is an account that spent twice as much on its last day as on its first.
func rich() *account {
	pending := 4.5
	return &account{slow: time.Second, money: model.Money{
		Key: "books", Balance: model.Balance{Dollars: 95.5, Prepayment: 20, Pending: &pending}, Spent: 4.5,
		Days: []model.DaySpend{{Day: day(11, 1), Dollars: 1.5}, {Day: day(11, 2)}, {Day: day(11, 3), Dollars: 3}},
	}}
}

func TestTheBalanceIsAskedForWhenItIsOpened(t *testing.T) {
	for _, size := range [][2]int{{60, 16}, {80, 24}, {120, 40}, {200, 60}} {
		a := rich()
		balanceFlow(t, a, size[0], size[1], "acme", func(s *uitest.Screen) {
			s.After(5 * time.Second)
			if len(a.by) > 0 {
				t.Fatalf("it was asked unopened by %v", a.by)
			}
			s.Press("A")
			s.Expect("asking the account; esc cancels")
			s.After(time.Second)
			s.Expect("$95.50, $4.50 not charged yet", "prepayment", "$20.00", "$4.50 this month (UTC)", "key", "books")
			s.ExpectNot("invents")
			var bars []int
			for line := range strings.Lines(s.Screen()) {
				for _, name := range []string{"11-03 Tue", "11-02 Mon", "11-01 Sun"} {
					if strings.Contains(line, name) {
						bars = append(bars, strings.Count(line, "█"))
					}
				}
			}
			if len(bars) != 3 || bars[0] < 10 || bars[1] != 0 || bars[2] != bars[0]/2 {
				t.Errorf("the bars of the days, the newest first, are %v:\n%s", bars, s.Screen())
			}
			s.Press("r")
			s.After(time.Second)
			s.Press("esc")
			s.ExpectNot("Balance of")
			if len(a.by) != 2 {
				t.Errorf("asked by %v", a.by)
			}
		})
	}
}

// Amounts are whole, and days that differ by less than a cell of the largest one's bar differ all the same.
func TestTheSpendOfADayIsWholeHoweverLarge(t *testing.T) {
	for _, size := range [][2]int{{60, 16}, {80, 24}, {120, 40}, {200, 60}} {
		a := rich()
		a.money.Days = []model.DaySpend{{Day: day(11, 1), Dollars: 1234567.89}, {Day: day(11, 2), Dollars: 15000}, {Day: day(11, 3), Dollars: 0.0004}}
		balanceFlow(t, a, size[0], size[1], "acme", func(s *uitest.Screen) {
			s.Press("A")
			s.After(time.Second)
			s.Expect("█ $1234567.89", "$15000.00", "11-03 Tue ▏ ", "$0.0004")
			s.ExpectNot("11-02 Mon ▏", "…")
		})
	}
}

func TestABalanceThatIsNotKnownSaysWhyAndWhoMayReadIt(t *testing.T) {
	a := rich()
	a.money.BalanceProblem, a.money.SpentProblem, a.money.Days = "HTTP 403: forbidden; keys of level FINANCE and ADMIN may read it", "HTTP 503", nil
	balanceFlow(t, a, 120, 40, "local", func(s *uitest.Screen) {
		s.Press("A")
		s.After(time.Second)
		s.Expect("unknown: HTTP 403: forbidden; keys of level FINANCE and ADMIN", "may read it", "unknown: HTTP 503 ", "The emulator invents these dollars")
		s.ExpectNot("$95.50", "$4.50")
	})
	a.err = errors.New("daily is USER, which has no access to billing: FINANCE or ADMIN has it")
	balanceFlow(t, a, 80, 24, "acme", func(s *uitest.Screen) {
		s.Press("A")
		s.After(time.Second)
		s.Expect("✗ daily is USER, which has no access to billing")
		a.err, a.money = nil, rich().money
		s.Press("r")
		s.Expect("asking the account")
		s.After(time.Second)
		s.Expect("$95.50")
		s.ExpectNot("✗")
	})
}

func TestEscEndsTheAskingForTheBalance(t *testing.T) {
	a := rich()
	balanceFlow(t, a, 80, 24, "acme", func(s *uitest.Screen) {
		s.Press("A", "esc")
		s.ExpectNot("Balance of")
		s.After(time.Second)
		if !errors.Is(a.ended, context.Canceled) {
			t.Errorf("the call ended with %v", a.ended)
		}
	})
}

func TestTheKeyThatOpensTheBalanceClosesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theme := kit.NewTheme(true, false)
		theme.Rebound = map[string][]string{"console.balance": {";"}}
		d := rates.Deps{Ctx: t.Context(), Theme: theme, Profile: "acme", Account: rich()}
		s := uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Session: kit.Session{ProfileName: "acme", Ready: true},
			Tabs: []ui.Tab{{ID: kit.Sandbox, View: &uitest.OtherTab{}}}, Spending: spends{d},
		}), 80, 24)
		s.Press(";")
		s.Expect("Balance of acme")
		s.Press("A")
		s.Expect("Balance of acme")
		s.Press(";")
		s.ExpectNot("Balance of acme")
	})
}
