package compare_test

import (
	"errors"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
)

// login answers each call of a zone; refused ones are those of the datacenter.
func login(refused bool) func(model.Grid, model.Cell) model.Run {
	return func(_ model.Grid, c model.Cell) model.Run {
		r := model.Run{Class: model.ClassOK, Total: 9 * time.Millisecond, Bytes: 500, Login: &model.LoginCall{
			Connect: time.Millisecond, ConnectStatus: 200, Trust: model.ChainTrusted, Root: "Lab root", Exit: []string{"a", "b", "a", "c"}[len(c.Runs)%4], Country: "DE", Spend: model.Spend{Dollars: 0.0015, Priced: 1},
		}}
		if refused && c.Zone.Name == "dc" {
			r.Class, r.Cause, r.Summary, r.Login.Code, r.Login.Reason = model.ClassOutside, model.CauseLoginRejected, "The proxy refused the login.", "client_10000", "username or password is wrong"
		}
		return r
	}
}

func (r *rig) openLogins() {
	r.do(func() tea.Cmd { return r.page.Logins("https://lab.test/mygeo.json") })
}

func TestLoginsAreComparedWithTheirBaseline(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		test(t, demo(), size[0], size[1], func(r *rig) {
			r.run, r.took = login(false), time.Second
			r.openLogins()
			r.Expect("Logins · 2 zones with native access · 3 calls each", "not tested", "t makes 3 calls", "has no baseline yet")
			r.Press("C")
			r.Expect("test the zones first")
			r.After(10 * time.Second)
			r.Press("t")
			r.After(500 * time.Millisecond)
			r.Expect("● calling", "esc stops it", "1 running")
			r.After(3 * time.Second)
			r.Expect("2 of 2 zones ok · $0.0090 · ", "3/3", "trusted", "2/3", "DE", "$0.0045 for 3 calls")
			r.Press("C")
			r.After(10 * time.Second)
			r.Expect("✓ nothing differs from the baseline")
			r.run = login(true)
			r.Press("t")
			r.After(4 * time.Second)
			r.Expect("1 of 2 zones ok", "worse", "login rejected (client_10000), was ok")
			r.Press("tab", "end")
			r.Expect("client_10000: username or password is wrong (dialect)")
			kept := r.base.Rows[0].Class
			r.Press("C")
			r.Expect("Replace the baseline?", "Profile local has a baseline from")
			r.After(time.Second) // a question ignores keys that were meant for something else
			r.Press("n")
			if r.base.Rows[0].Class != kept {
				t.Error("the baseline was replaced against the answer")
			}
			r.Press("C")
			r.After(time.Second)
			r.Press("y")
			r.Expect("✓ nothing differs from the baseline")
			r.Press("tab", "end", "enter")
			if len(r.logins) != 1 || r.logins[0].Zone != "unlocker" {
				t.Errorf("logins %+v are opened", r.logins)
			}
			r.Press("esc")
			r.Expect("the form")
			r.openLogins() // what was measured is still there
			r.Expect("1 of 2 zones ok")
		})
	}
}

func TestCallsAreStopped(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.run, r.took = login(false), time.Second
		r.openLogins()
		r.Press("t")
		r.After(500 * time.Millisecond)
		r.Press("esc")
		r.After(time.Second)
		r.Expect("! stopped: not every call was made")
		r.Press("C")
		r.Expect("test the zones first")
		r.Press("esc")
		r.Expect("the form")
	})
}

func TestLoginsThatCannotBeTestedSayWhy(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.planErr = model.BadField("url", "name a page to fetch through the proxy")
		r.openLogins()
		r.Expect("! url: name a page to fetch through the proxy")
		r.Press("t")
		r.Expect("name a page to fetch through the proxy")
		r.planErr, r.fails = nil, errors.New("the network is down")
		r.AllowError("the network is down")
		r.Press("esc")
		r.openLogins()
		r.run = login(false)
		r.Press("t")
		r.Expect("! the network is down", "logins: the network is down")
	})
}

func TestARealAccountIsToldThePriceOfCalls(t *testing.T) {
	test(t, real(), 120, 40, func(r *rig) {
		r.run = login(false)
		r.openLogins()
		r.Press("t")
		r.Expect("Test every zone?", "3 calls to each of 2 zones", "About $0.0030 on this account.", "Unpriced: the profile has no rate for unlocker.")
		r.After(time.Second)
		r.Press("n")
		if n := r.requests(); n != 0 {
			t.Errorf("%d calls were made against the answer", n)
		}
		r.do(func() tea.Cmd { return r.page.Exits(model.FetchRequest{Zone: r.profile.Zones[0]}, nil, "") })
		r.Expect("20 calls without a session", "$0.0200 on this account.")
	})
}

func TestTheExitsOfALoginAreCountedAndStopped(t *testing.T) {
	count := func(r *rig, session string) {
		base := model.FetchRequest{Zone: r.profile.Zones[1], URL: "https://lab.test/mygeo.json"}
		r.do(func() tea.Cmd { return r.page.Exits(base, nil, session) })
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		test(t, demo(), size[0], size[1], func(r *rig) {
			r.run, r.took = login(false), time.Second
			count(r, "")
			r.Expect("Count the exits", "20 calls without a session", "The emulator charges nothing")
			r.Press("ctrl+u")
			r.Type("501")
			r.Press("ctrl+s")
			r.Expect("write a number from 1 to 500")
			r.Press("ctrl+u")
			r.Type("4")
			r.Press("ctrl+s")
			r.After(2500 * time.Millisecond)
			r.Expect("Exits of unlocker · 2 of 4 calls", "esc stops it", "1 running")
			r.After(5 * time.Second)
			r.Expect("4 of 4 calls", "3 addresses in 4 calls", "DE", "a ×2", "$0.0060 for 4 calls")
		})
	}
	test(t, demo(), 120, 40, func(r *rig) {
		r.run, r.took = login(false), time.Second
		count(r, "a1")
		r.Expect("20 calls all in session a1")
		r.Press("ctrl+s")
		r.After(2500 * time.Millisecond)
		r.Press("esc")
		r.After(time.Second)
		r.Expect("2 of 20 calls · session a1", "session a1 did not keep its address", "! ended early: stopped")
		r.Press("esc")
		r.Expect("the form")
		r.fails = errors.New("the network is down")
		r.AllowError("the network is down")
		count(r, "a1")
		r.Press("ctrl+s")
		r.After(time.Minute)
		r.Expect("exits: the network is down")
	})
}
