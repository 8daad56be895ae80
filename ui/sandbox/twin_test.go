package sandbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
)

// mixed answers a CAPTCHA by datacenter zones, and Native in half the time of API.
func mixed(_ context.Context, r model.FetchRequest, _ func(fetch.Event)) (model.FetchResult, error) {
	res := okResult(r)
	if r.Zone.Product == model.ProductDatacenter {
		res = captchaResult(r)
	}
	res.ID = "f_" + string(r.Zone.Name) + "_" + string(r.Via)
	if r.Via == model.ViaNative {
		res.Timing.Total /= 2
	}
	return res, nil
}

func TestOneKeyComparesAndOneTakesTheWinner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = mixed
		b.Press("esc", "w")
		b.Expect("Twin · http://lab.test/ok · 1 run",
			"datacenter_demo", "✗ CAPTCHA · 1.1 s (38 ms) · 200 · 96 B", "›unlocker_demo   ▌ ✓ ok · 41 ms (38 ms) · 200 · 90 B", "✓ ok ★ · 20 ms (38 ms) · 200", "browser_demo",
			"★ winner: unlocker_demo by Native, the fastest of 4 that were ok in every run (1 of 1 ok, median 21 ms; none",
			"unlocker_demo by API", "✓ ok · 41 ms · first byte 38 ms · 200 · 90 B · unpriced", "run 1   ✓ ok · status 200 · 41 ms · 90 B", "F5 again")
		b.Press("home")
		b.Expect("datacenter_demo by API", "run 1   ✗ CAPTCHA · status 200 · 1.1 s · 96 B")
		b.ExpectNot("serp_demo") // its product returns results, not the page
		if n := len(b.svc.requests()); n != 6 {
			t.Errorf("%d requests were sent, want 6", n)
		}
		b.Press("a")
		b.Expect("The form has unlocker_demo by Native now", "Request", "Will be sent")
		b.Press("w")
		b.Expect("Twin · http://lab.test/ok") // the same comparison: nothing is sent
		if n := len(b.svc.requests()); n != 6 {
			t.Errorf("looking at it again sent %d requests", n-6)
		}
		b.Press("+")
		b.Expect("2 runs", "2 of 2 ok")
		if n := len(b.svc.requests()); n != 12 {
			t.Errorf("one more run of all: %d requests, want 12", n)
		}
	})
}

func TestACellOfAComparisonIsOpenedWithoutSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = mixed
		b.svc.kept["f_datacenter_demo_native"] = captchaResult(model.FetchRequest{URL: "http://lab.test/ok", Zone: demoZones()[0], Via: model.ViaNative})
		b.Press("esc", "w", "home", "right")
		b.Expect("datacenter_demo by Native")
		b.Press("enter")
		b.Expect("from history", "✗ CAPTCHA")
		if n := len(b.svc.requests()); n != 6 {
			t.Errorf("%d requests were sent, want 6", n)
		}
	})
}

func TestACellShowsItsEvidenceAndHowItsPageBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = mixed
		for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
			res := captchaResult(model.FetchRequest{URL: "http://lab.test/ok", Zone: demoZones()[0], Via: via})
			res.Body.Bytes = []byte("<h1>by " + via.String() + "\x1b[2J</h1>")
			b.svc.kept["f_datacenter_demo_"+string(via)] = res
		}
		b.Press("esc", "w", "home")
		b.Expect("▌ ✗ CAPTCHA", "The target answered with a CAPTCHA", "evidence  body: match", "╶ the page begins", "<h1>by API", "Median times", "░", "█",
			"datacenter_demo   API", "browser_demo      Native")
		b.ExpectNot("<h1>by Native")
		b.Send(tea.MouseClickMsg{X: 70, Y: 3, Button: tea.MouseLeft}) // the same row, by Native
		b.Expect("datacenter_demo by Native", "<h1>by Native")
		b.Send(tea.MouseClickMsg{X: 30, Y: 4, Button: tea.MouseLeft})
		b.Expect("unlocker_demo by API", "! the newest fetch: the journal has no such fetch")
		b.ExpectNot("<h1>by")
	})
}

func TestCellsRunOnBehindTheFormAndAreCancelledOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		release := make(chan struct{})
		b.svc.answer = func(ctx context.Context, r model.FetchRequest, on func(fetch.Event)) (model.FetchResult, error) {
			select {
			case <-ctx.Done():
				return model.FetchResult{}, context.Cause(ctx)
			case <-release:
				return mixed(ctx, r, on)
			}
		}
		b.Press("esc", "w", "home")
		b.Expect("● 0 of 1 …", "6 of 6 cells still running", "6 running")
		b.Press("c")
		b.Expect("- cancelled", "5 of 6 cells still running")
		b.Press("esc")
		b.Expect("Will be sent", "5 running")
		close(release)
		b.Settle()
		b.Press("w")
		b.Expect("- cancelled", "winner: unlocker_demo by Native")
		if n := len(b.svc.twins); n != 1 || b.svc.twins[0].Cells[0].Problem != "cancelled" || len(b.svc.twins[0].Cells[1].Runs) != 1 {
			t.Errorf("kept %d times: %+v", n, b.svc.twins)
		}
		b.Press("+")
		b.Expect("2 of 2 ok") // the cancelled one has caught up
		b.ExpectNot("cancelled")
	})
}

func TestAComparisonOfTheHistoryIsShownAndNotSentByAnotherProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		zone := model.Zone{Name: "unlocker_demo", Rate: model.Rate{Per1000: 1.5}}
		b.svc.twins = []model.Grid{{
			ID: "t_9", Profile: "acme", Started: time.Now(), Repeat: 1, Base: model.FetchRequest{URL: "http://example.com/"},
			Cells: []model.Cell{{Vary: model.Vary{Zone: zone, Via: model.ViaAPI}, Runs: []model.Run{{FetchID: "f_9", Class: model.ClassOK, Status: 200, Total: time.Second}}}},
		}}
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenTwin{ID: "t_9", Profile: "acme"}})
		b.Expect("Twin of profile acme · http://example.com/", "cost per 1000", " · $1.50 ", "$1.50 per 1000", "from history, ", "profile acme")
		b.Press("+")
		b.Expect("it was made with profile acme")
		b.Press("a")
		b.Expect("Request of profile acme")
		b.Press("ctrl+j")
		b.Expect("Send it with another profile?")
		if n := len(b.svc.requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		b.AllowError("no such comparison")
		b.AllowError("not every zone")
		z, v := demoZones()[0], model.ViaAPI
		for _, cells := range [][]model.Cell{nil, {{Vary: model.Vary{Zone: z, Via: v}}, {Vary: model.Vary{Zone: z, Via: model.ViaNative}}, {Vary: model.Vary{Zone: zone, Via: v}}}} {
			b.svc.twins = append(b.svc.twins, model.Grid{ID: "t_8", Cells: cells})
			b.Press("esc", "ctrl+x")
			b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenTwin{ID: "t_8"}})
			b.Expect("Comparison t_8 could not be opened: its cells are not every zone by every method")
		}
		b.Press("esc")
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenTwin{ID: "t_0"}})
		b.Expect("Comparison t_0 could not be opened: the journal has no such comparison")
	})
}

// history puts a comparison of a captcha page by the unlocker into the history.
func (b *bench) history(change func(*model.Grid)) {
	t := model.Grid{
		ID: "t_7", Profile: "local", Started: time.Now(), Repeat: 1, Base: model.FetchRequest{URL: "http://lab.test/captcha", Key: "batch-user"},
		Cells: []model.Cell{{Vary: model.Vary{Zone: demoZones()[1], Via: model.ViaAPI}, Runs: []model.Run{{FetchID: "f_7", Class: model.ClassOK, Status: 200, Total: time.Second}}}},
	}
	if change != nil {
		change(&t)
	}
	b.svc.twins = append(b.svc.twins, t)
	b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenTwin{ID: "t_7", Profile: t.Profile}})
	b.Expect("Twin · " + t.Base.URL)
}

func TestAComparisonOfTheHistoryIsSentAgainAsItWas(t *testing.T) {
	for _, key := range []string{"f5", "+", "w"} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, 120, 40)
			b.svc.answer = mixed
			b.history(nil)
			if key == "w" {
				b.Press("esc")
				b.Expect("http://lab.test/captcha", "Will be sent")
				b.Press("w", "w", "w") // shown, left, shown: it is the form's
				b.Expect("Twin · http://lab.test/captcha")
				if n := len(b.svc.requests()); n != 0 {
					t.Errorf("looking at it sent %d requests", n)
				}
				return
			}
			b.Press(key)
			b.Expect("winner: unlocker_demo by API")
			sent := b.svc.requests()
			if len(sent) != 1 || sent[0].URL != "http://lab.test/captcha" || sent[0].Zone.Name != "unlocker_demo" {
				t.Errorf("%s sent %+v", key, sent)
			}
		})
	}
}

func TestWhatTheHistoryDoesNotKeepIsNotSent(t *testing.T) {
	for want, change := range map[string]func(*model.Grid){
		"the journal does not keep the value of Cookie": func(t *model.Grid) { t.Base.Header = map[string][]string{"Cookie": {"••••"}} },
		"the journal does not keep the login":           func(t *model.Grid) { t.Base.URL = "http://u:xxxxx@lab.test/" },
		"100 runs are the most":                         func(t *model.Grid) { t.Repeat = model.MaxRuns },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, 120, 40)
			b.history(change)
			b.Press("+")
			b.Expect(want)
			if n := len(b.svc.requests()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

func TestARealAccountIsAskedAboutBeforeAComparisonIsSent(t *testing.T) {
	for _, key := range []string{"f5", "+"} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, 120, 40)
			b.svc.answer = mixed
			s := demoSession()
			s.Local, s.ProfileName, s.Profile = false, "acme", demoProfile()
			b.svc.profile = func() config.Profile {
				return config.Profile{Name: "acme", Dialect: "brightdata", BaseURL: s.Profile.BaseURL}
			}
			b.Send(kit.SessionChanged{Session: s})
			b.history(func(t *model.Grid) { t.Profile = "acme" })
			b.Press(key)
			b.Expect("Compare 1 zone?", "1 request to profile acme at once", "unlocker_demo")
			if n := len(b.svc.requests()); n != 0 {
				t.Errorf("%d requests were sent before the answer", n)
			}
			b.After(time.Second) // a question ignores keys that were meant for something else
			b.Press("y")
			b.ExpectNot("Compare 1 zone?")
			b.Press(key)
			b.Expect("Compare 1 zone?") // each time
			if n := len(b.svc.requests()); n != 1 {
				t.Errorf("%d requests were sent, want 1", n)
			}
		})
	}
}

func TestTheQuestionCountsTheRequestsThatCanBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = mixed
		s := demoSession()
		s.Local, s.ProfileName, s.Profile = false, "acme", demoProfile()
		for i := range s.Zones {
			if s.Zones[i].Product != model.ProductUnlocker {
				s.Zones[i].Password = "" // so that it cannot be sent Native
			}
		}
		b.svc.profile = func() config.Profile {
			p := demoProfile()
			p.Zones = s.Zones
			return p
		}
		b.Send(kit.SessionChanged{Session: s})
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: "http://lab.test/json"}})
		b.Press("esc", "w")
		b.Expect("Compare 3 zones?", "5 requests to profile acme at once", "and by agent access")
	})
}

func TestACellSaysNoPriceBeforeItsFirstRunHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.history(func(t *model.Grid) { t.Cells[0].Runs = nil })
		b.Expect("- not sent")
		b.ExpectNot("unpriced ")
	})
}

func TestTheFormsZoneIsCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = mixed
		b.Press("esc", "w", "z")
		b.Press("tab", "tab", "space", "tab", "space", "ctrl+s") // without the datacenter and the unlocker
		b.Expect("browser_demo by API")
		sent := len(b.svc.requests())
		b.Press("esc", "w") // the form's zone is the unlocker: another comparison
		b.Expect("unlocker_demo by API", "›unlocker_demo", "datacenter_demo")
		if n := len(b.svc.requests()) - sent; n != 6 {
			t.Errorf("%d requests were sent, want 6", n)
		}
		b.Press("home", "right")
		b.Expect("datacenter_demo by Native")
		b.Press("esc", "w")
		b.Expect("unlocker_demo by API", "›unlocker_demo")
		if n := len(b.svc.requests()) - sent; n != 6 {
			t.Errorf("looking at it sent %d requests", n-6)
		}
	})
}

func TestARunningComparisonIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = never
		b.Press("esc", "w")
		b.Expect("6 of 6 cells still running")
		b.Press("a")
		b.Expect("cells are still running")
		b.Press("esc")
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: "http://lab.test/json"}})
		b.Press("w")
		b.Expect("Twin · http://lab.test/ok", "6 of 6 cells still running", "This comparison is still running.")
		b.svc.twins = []model.Grid{{ID: "t_7"}}
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenTwin{ID: "t_7"}})
		b.Expect("Another comparison is still running", "6 of 6 cells still running")
		if n := len(b.svc.requests()); n != 6 {
			t.Errorf("%d requests were sent, want 6", n)
		}
	})
}

func TestTwoMarkedCellsAreComparedInDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = mixed
		request := model.FetchRequest{URL: "http://lab.test/ok"}
		b.svc.kept["f_datacenter_demo_api"], b.svc.kept["f_unlocker_demo_api"] = captchaResult(request), okResult(request)
		b.Press("esc", "w", "home", "d")
		b.Expect("mark two cells with space first")
		b.Press("space", "down", "space")
		b.Expect("▌◆")
		b.Press("d")
		b.Expect("Difference: datacenter_demo by API / unlocker_demo by API", "- CAPTCHA", "+ ok", "bytes", "@@", "-<title>Just a moment</title>", "+<title>The lab</title>")
		b.Press("esc")
		b.ExpectNot("Difference:")
		b.Press("up", "right", "space") // a third mark: the oldest gives way
		b.AllowError("no such fetch")
		b.Press("d")
		b.Expect("The two cells could not be compared: datacenter_demo by Native: the journal has no such fetch")
		b.Press("space", "d")
		b.Expect("mark two cells with space first")
		changed := okResult(request)
		changed.Body = model.BodyRef{File: "changed.html"} // openBody refuses it
		b.svc.kept["f_datacenter_demo_native"] = changed
		b.AllowError("no file in this test")
		b.Press("space", "d")
		b.Expect("The two cells could not be compared: datacenter_demo by Native: no file in this test")
		if n := len(b.svc.requests()); n != 6 {
			t.Errorf("%d requests were sent, want 6", n)
		}
	})
}

func TestZonesMethodsAndRunsAreChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = mixed
		b.Press("esc", "w", "z")
		b.Expect("What to compare", "Runs", "Methods", "serp_demo")
		b.Press("backspace")
		b.Type("3")
		b.Press("tab", "space", "tab", "space") // API alone; without the datacenter
		b.Press("ctrl+s")
		b.Expect("Twin · http://lab.test/ok · 3 runs", "3 of 3 ok")
		b.ExpectNot("datacenter_demo", "NATIVE")
		if n := len(b.svc.requests()); n != 6+6 {
			t.Errorf("%d requests were sent, want 12", n)
		}
	})
}

func TestAComparisonIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = mixed
		b.Press("x")
		if c := b.codes[0]; c.Twin != nil || c.Request.URL != "http://lab.test/ok" || c.Request.Zone.Name != "unlocker_demo" {
			t.Errorf("of the form: %+v", c)
		}
		b.Press("esc", "w", "l", "x")
		if c := b.codes[1]; c.Twin == nil || c.Request.Zone.Name != "unlocker_demo" || c.Request.Via != model.ViaNative || len(c.Twin.Cells) != 6 {
			t.Errorf("of a cell: %+v", c)
		}
	})
}
