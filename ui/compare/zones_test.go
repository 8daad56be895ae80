package compare_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/history"
)

func TestZonesAreComparedAndTheWinnerIsNamed(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		test(t, demo(), size[0], size[1], func(r *rig) {
			r.asked()
			r.Expect("Sends 4 requests at once with profile local. The emulator charges")
			if n := r.requests(); n != 0 {
				t.Errorf("%d requests were sent before the form was", n)
			}
			r.After(time.Second)
			r.Press("ctrl+s")
			r.Expect("Comparison · http://lab.test/ok · 1 run", "ZONE", "BY", "PER 1000", "✗ CAPTCHA", "1 of 1", "$1.00", "✓ ok", "unpriced",
				"★ winner: unlocker by Native, the fastest of 2 that were ok in every run", "unlocker by Native", "run 1   ✓ ok · status 200 · 20 ms · 90 B")
			if size[0] == 120 {
				r.Expect("░ 1ST BYTE █ REST", "█")
			}
			r.Press("home")
			r.Expect("dc by API", "run 1   ✗ CAPTCHA · status 200 · 1.1 s · 90 B", "0 of 1 ok · median 1.1 s · first byte 38 ms · 90 B · $1.00 per 1000")
			r.ExpectNot("serp") // its product returns results, not the page
			if n := r.requests(); n != 4 || r.grew != 1 {
				t.Errorf("%d requests were sent, want 4; the tab heard of them %d times", n, r.grew)
			}
			r.Press("a")
			if f := r.fills; len(f) != 1 || f[0].Request.Zone.Name != "unlocker" || f[0].Request.Via != model.ViaNative || f[0].Notice == "" || f[0].Loaded {
				t.Errorf("the winner fills the form with %+v", f)
			}
			r.Press("t")
			r.Expect("2 runs", "0 of 2")
			if n := r.requests(); n != 8 {
				t.Errorf("one more run of all: %d requests, want 8", n)
			}
			r.Press("f5")
			r.Expect("2 runs")
			if n := r.requests(); n != 16 {
				t.Errorf("all anew: %d requests, want 16", n)
			}
		})
	}
}

func TestTheCursorGoesToTheWinnerUnlessItWasMoved(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.took = time.Second
		r.zones()
		r.Expect("›   unlocker                 API", "4 of 4 cells")
		r.After(2 * time.Second)
		r.Expect("›★  unlocker                 Native")
		r.Press("f5", "down")
		r.Expect("›   dc                       Native", "4 of 4 cells")
		r.After(2 * time.Second)
		r.Expect("›   dc                       Native", " ★  unlocker                 Native")
	})
}

func TestAComparisonIsShownAgainForItsOwnRequest(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		show := func(q model.FetchRequest) (shown, running bool) {
			r.do(func() tea.Cmd {
				shown, running = r.page.ShowFor(q)
				return nil
			})
			return shown, running
		}
		other := page
		other.URL = "http://lab.test/json"
		r.took = time.Second
		r.zones()
		r.After(100 * time.Millisecond)
		r.Press("esc")
		r.Expect("the form", "4 running")
		if shown, running := show(other); !shown || !running {
			t.Errorf("another request while it runs: %v, %v", shown, running)
		}
		r.After(2 * time.Second)
		r.Press("esc")
		if shown, _ := show(other); shown {
			t.Error("another request is shown the comparison")
		}
		other = page
		other.Via, other.Retries, other.Format = model.ViaNative, 3, model.FormatRaw
		if shown, running := show(other); !shown || running {
			t.Errorf("the same request: %v, %v", shown, running)
		}
		r.Expect("unlocker by Native")
		r.Press("ctrl+w")
		other.Zone = model.Zone{Name: "serp"}
		if shown, _ := show(other); shown {
			t.Error("a zone that was not compared is shown the comparison")
		}
	})
}

func TestTheNewestFetchOfACellIsOpenedAndRead(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		res := model.FetchResult{
			Diagnosis: model.Diagnosis{Class: model.ClassCaptcha, Summary: "The target answered with a CAPTCHA instead of the page.", Evidence: []model.Evidence{{Kind: "body", Text: "match \"g-recaptcha\""}}},
			Body:      model.BodyRef{Size: 20},
		}
		r.answers["f_dc_api"] = history.Answer{Result: res, Body: []byte("<h1>by API\x1b[2J</h1>\r\nmore")}
		r.zones()
		r.Expect("! the newest fetch: the journal has no such fetch")
		r.Press("home")
		r.Expect("The target answered with a CAPTCHA", "evidence  body: match", "╶ the page begins", "<h1>by API", "more")
		r.Click("unlocker")
		r.ExpectNot("<h1>by")
		r.Press("home", "tab", "down", "tab", "enter")
		r.Expect("fetch f_dc_api of profile local", "the form")
		if n := r.requests(); n != 4 {
			t.Errorf("%d requests were sent, want 4", n)
		}
	})
}

func TestCellsRunOnBehindTheTabAndAreCancelledOneByOne(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.took = time.Minute
		r.zones()
		r.After(100 * time.Millisecond)
		r.Press("home")
		r.Expect("● 0 of 1 …", "4 of 4 cells still running", "4 running")
		r.Press("a")
		r.Expect("cells are still running")
		r.Press("c")
		r.Expect("- cancelled", "3 of 4 cells still running")
		r.kept = []model.Grid{{ID: "t_9", Cells: []model.Cell{{}}}}
		r.do(func() tea.Cmd { return r.page.Load("t_9", "local", "") })
		r.Expect("Another comparison is still running")
		r.Press("esc")
		r.Expect("the form", "3 running")
		r.After(2 * time.Minute)
		r.do(func() tea.Cmd {
			r.page.Show()
			return nil
		})
		r.Expect("- cancelled", "winner: unlocker by Native")
		r.Press("t")
		r.After(5 * time.Minute)
		r.Expect("0 of 2") // the cancelled one has caught up
		r.ExpectNot("cancelled")
		if !slices.ContainsFunc(r.kept, func(g model.Grid) bool { return g.KeepGoing }) {
			t.Error("an error of one cell would end the others")
		}
		r.fails = errors.New("dc by API was not sent: the key is not permitted")
		r.AllowError("the key is not permitted")
		r.Press("f5")
		r.After(5 * time.Minute)
		r.Expect("✗ dc by API was not sent: the key is not permitted")
	})
}

// loaded puts a comparison of a page by the unlocker into the history, and shows it.
func (r *rig) loaded(change func(*model.Grid)) {
	g := model.Grid{
		ID: "t_7", Started: time.Now(), Repeat: 1, Base: model.FetchRequest{URL: "http://lab.test/captcha", Key: "k1"},
		Cells:   []model.Cell{{Vary: model.Vary{Zone: model.Zone{Name: "unlocker", Product: model.ProductUnlocker, Password: "demo:u", Rate: model.Rate{Per1000: 1.5}}, Via: model.ViaAPI}, Runs: []model.Run{{FetchID: "f_7", Class: model.ClassOK, Status: 200, Total: time.Second, FirstByte: -1}}}},
		Profile: r.profile.Name,
	}
	if change != nil {
		change(&g)
	}
	r.kept = append(r.kept, g)
	r.do(func() tea.Cmd { return r.page.Load("t_7", g.Profile, "unlocker") })
	r.Expect(" · " + g.Base.URL)
}

func TestAComparisonOfTheHistoryIsShownAndSentAgainAsItWas(t *testing.T) {
	for _, key := range []string{"f5", "t"} {
		test(t, demo(), 120, 40, func(r *rig) {
			r.loaded(nil)
			r.Expect("from history, ", "profile local", "$1.50")
			if f := r.fills; len(f) != 1 || !f[0].Loaded || f[0].Profile != "local" || f[0].Request.Zone.Name != "unlocker" || f[0].Request.Via != model.ViaAPI {
				t.Errorf("it fills the form with %+v", f)
			}
			r.Press(key)
			r.Expect("winner: unlocker by API")
			if len(r.sent) != 1 || r.sent[0].URL != "http://lab.test/captcha" || r.sent[0].Zone.Name != "unlocker" {
				t.Errorf("%s sent %+v", key, r.sent)
			}
		})
	}
}

func TestWhatTheHistoryDoesNotKeepIsNotSent(t *testing.T) {
	for want, change := range map[string]func(*model.Grid){
		"the journal does not keep the value of Cookie": func(g *model.Grid) { g.Base.Header = map[string][]string{"Cookie": {model.Masked}} },
		"the journal does not keep the login":           func(g *model.Grid) { g.Base.URL = "http://u:xxxxx@lab.test/" },
		"100 runs are the most":                         func(g *model.Grid) { g.Repeat = model.MaxRuns },
		"it was made with profile other":                func(g *model.Grid) { g.Profile = "other" },
	} {
		test(t, demo(), 120, 40, func(r *rig) {
			r.loaded(change)
			if want == "it was made with profile other" {
				r.Expect("Comparison of profile other")
			}
			r.Press("t")
			r.Expect(want)
			if n := r.requests(); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
	test(t, demo(), 120, 40, func(r *rig) {
		r.AllowError("could not be opened")
		r.kept = []model.Grid{{ID: "t_8"}}
		r.do(func() tea.Cmd { return r.page.Load("t_8", "", "") })
		r.Expect("Comparison t_8 could not be opened: it has no cells")
		r.Press("esc")
		r.do(func() tea.Cmd { return r.page.Load("t_0", "", "") })
		r.Expect("Comparison t_0 could not be opened: the journal has no such comparison")
	})
}

func TestARealAccountChoosesZonesAndMethodsBeforeItPays(t *testing.T) {
	p := real()
	p.AgentURL = "http://127.0.0.1:8080/mcp"
	for _, size := range [][2]int{{60, 16}, {80, 24}, {120, 40}, {200, 60}} {
		test(t, p, size[0], size[1], func(r *rig) {
			r.doubt = "This key expires today."
			r.do(func() tea.Cmd { return r.page.Compare(page, "local") })
			r.Expect("What to compare", "This request was sent with profile local", "Sends 2 requests at once with profile acme.")
			r.Press("ctrl+a") // those that return a page, and not serp
			r.Expect("Sends 4 requests at once with profile acme.")
			r.Press("down", "down", "space") // and by agent access
			r.Expect("Sends 5 requests at once (1 by agent access) with")
			if size[1] > 16 {
				r.Expect("This key expires today.", "by API", "[x]", "by Native", "by Agent, no zone", "serp", "About", "Unpriced: the profile has no")
			}
			r.Press("space", "down", "down", "down", "down", "space") // by serp, one by one
			r.Expect("Sends 5 requests at once")
			r.Press("space")
			r.Expect("Sends 4 requests at once")
			r.Press("up", "up", "up", "up", "up", "up", "space", "enter") // nor by the API; enter never sends
			r.Expect("Sends 2 requests at once with profile acme")
			if n := r.requests(); n != 0 {
				t.Errorf("%d requests were sent before the answer", n)
			}
			r.Press("ctrl+j")
			r.Expect("winner: unlocker by Native")
			if n := r.requests(); n != 2 || slices.ContainsFunc(r.sent, func(q model.FetchRequest) bool { return q.Via != model.ViaNative }) || r.grew != 1 {
				t.Errorf("%d requests were sent: %+v", n, r.sent)
			}
			if len(r.confirmed) != 1 || r.confirmed[0] != "k1" {
				t.Errorf("keys %v are confirmed", r.confirmed)
			}
			r.Press("f5")
			r.Expect("Compare 2 zones?", "Sends 2 requests at once with profile acme.", "Unpriced")
			r.Press("n")
		})
	}
}

// The key that sends the form is below the one that compares: pressed at once it sends nothing, and by
// then no zone is chosen but the form's.
func TestAComparisonIsNotSentByMistake(t *testing.T) {
	test(t, real(), 120, 40, func(r *rig) {
		r.do(func() tea.Cmd { return r.page.Compare(page, "") })
		r.PressFast("ctrl+j")
		r.Expect("What to compare · ctrl+j ignored", "Sends 2 requests at once with profile acme", "ctrl+a those that fit")
		r.PressFast("ctrl+a") // every other key acts
		r.Expect("Sends 4 requests at once")
		r.PressFast("ctrl+a")
		if n := r.requests(); n != 0 {
			t.Fatalf("%d requests were sent", n)
		}
		for _, want := range []string{"4 requests at once", "Tick a zone and a method: space ticks one, ctrl+a the zones that fit", "Sends 4 request"} {
			r.Press("ctrl+a")
			r.Expect(want)
		}
		r.Press("ctrl+a", "down", "down", "down", "space", "ctrl+j") // the first zone alone
		r.Expect("no winner")
		if n := r.requests(); n != 2 || slices.ContainsFunc(r.sent, func(q model.FetchRequest) bool { return q.Zone.Name != "dc" }) {
			t.Errorf("%d requests were sent: %+v", n, r.sent)
		}
		r.asked() // what was compared last, and the form's
		r.Expect("Sends 4 requests at once with profile acme")
	})
}

func TestTheZonesToChooseAreToldApartByTheirNames(t *testing.T) {
	p := real()
	for _, end := range []string{"eu", "us"} {
		p.Zones = append(p.Zones, model.Zone{Name: model.ZoneName("web_11_residential_rotating_" + end), Product: model.ProductUnlocker, Password: "demo:u"})
	}
	for _, size := range [][2]int{{60, 16}, {80, 24}, {120, 40}} {
		test(t, p, size[0], size[1], func(r *rig) {
			r.asked()
			r.Press("down", "down", "tab", "down", "down", "down")
			r.Expect("web_11_residential_rotating_eu  [ ]")
			r.Press("down")
			r.Expect("›web_11_residential_rotating_us  [ ]")
		})
	}
}

func TestAPageThatWasReceivedIsPricedByItsSize(t *testing.T) {
	p := real()
	p.Zones[1].Rate = model.Rate{PerGB: 5}
	test(t, p, 120, 40, func(r *rig) {
		r.loaded(func(g *model.Grid) { g.Cells[0].Zone, g.Cells[0].Runs[0].Bytes = p.Zones[1], 2_000_000 })
		r.Press("f5")
		r.Expect("About $0.0100 with")
	})
}

func TestWhatIsChosenIsPricedAsItChanges(t *testing.T) {
	p := real()
	p.Zones[1].Rate.PerGB = 5
	test(t, p, 80, 24, func(r *rig) {
		r.do(func() tea.Cmd { return r.page.Compare(page, "") })
		r.Press("down", "down", "down", "space", "up", "up", "up") // with dc
		r.Expect("Sends 4 requests at once with profile acme.", "on this account.")
		r.ExpectNot("Unpriced")
		r.Press("down", "down")
		r.Type("0")
		r.Expect("Sends 40 requests at once")
		r.Press("tab", "space") // without dc
		r.Expect("Sends 20 requests at once")
		r.Press("down", "down", "space") // with serp, by the API alone
		r.Expect("Sends 30 requests at once", "Unpriced: the profile has no rate for serp.")
		r.Press("space", "up")
		r.Press("space")
		r.Expect("Tick a zone and a method: space ticks one")
		r.Press("ctrl+s")
		r.Expect("tick at least one zone and method")
		r.Press("esc", "y")
		r.Expect("the form")
		if n := r.requests(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestACellThatIsDoneIsUsedWhileOthersRun(t *testing.T) {
	test(t, demo(), 80, 24, func(r *rig) {
		r.took, r.quick = time.Minute, model.ViaNative
		r.zones()
		r.Press("home", "o")
		r.Expect("no run of this cell has ended")
		r.After(time.Second)
		r.Press("down")
		r.Expect("2 of 4 cells still running", "run 1")
		r.Press("o")
		if f := r.fills; len(f) != 1 || f[0].Request.Zone.Name != "dc" || f[0].Request.Via != model.ViaNative || f[0].Notice == "" {
			t.Errorf("the cell fills the form with %+v", f)
		}
		r.Press("enter")
		r.Expect("fetch f_dc_native of profile local", "2 running")
		r.After(time.Minute)
		r.do(func() tea.Cmd {
			r.page.Show()
			return nil
		})
		r.Expect("winner: unlocker by Native")
		if n := r.requests(); n != 4 {
			t.Errorf("%d requests were sent, want 4", n)
		}
	})
}

func TestZonesMethodsAndRunsAreChosen(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.zones()
		r.Press("e")
		r.Expect("What to compare", "Runs", "by Native", "serp")
		r.Press("down", "space", "down", "backspace") // API alone
		r.Type("0")
		r.Press("ctrl+s")
		r.Expect("write a number from 1 to 100")
		r.Press("backspace")
		r.Type("3")
		r.Press("tab", "space") // without the datacenter
		r.Expect("Sends 3 requests at once")
		r.Press("ctrl+s")
		r.Expect("http://lab.test/ok · 3 runs", "3 of 3")
		r.ExpectNot("dc ", "Native")
		if n := r.requests(); n != 4+3 {
			t.Errorf("%d requests were sent, want 7", n)
		}
	})
}

func TestTwoMarkedCellsAreComparedInDetail(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.answers["f_dc_api"], r.answers["f_dc_native"] = history.Answer{}, history.Answer{}
		r.zones()
		r.Press("home", "d")
		r.Expect("mark two cells with space first")
		r.Press("space", "down", "space")
		r.Expect("◆")
		r.Press("d")
		r.Expect("Difference: dc by API / dc by Native", "- CAPTCHA", "+ ok", "not there", "@@", "-<title>Just a moment</title>", "+<title>The lab</title>")
		r.Press("esc")
		r.ExpectNot("Difference:")
		r.Press("down", "space") // a third mark: the oldest gives way
		r.AllowError("no such fetch")
		r.Press("d")
		r.Expect("The two cells could not be compared: unlocker by API: the journal has no such fetch")
		r.Press("space", "d")
		r.Expect("mark two cells with space first")
	})
}

func TestAComparisonIsHandedOver(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.zones()
		r.Press("down", "x")
		if c := r.codes[0]; c.Comparison == nil || c.Request.Zone.Name != "unlocker" || c.Request.Via != model.ViaNative || len(c.Comparison.Cells) != 4 {
			t.Errorf("the code is of %+v", c)
		}
	})
}

func TestACellSaysNoPriceBeforeItsFirstRunHasEnded(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.loaded(func(g *model.Grid) { g.Cells[0].Runs = nil })
		r.Expect("- not sent", "no winner")
		r.ExpectNot("$1.50")
	})
}

func TestRequiredFieldsAreCounted(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.loaded(func(g *model.Grid) { g.Base.Required, g.Cells[0].Runs[0].Found = []string{".price", ".name"}, 1 })
		r.Expect("fields .price .name", "FIELDS", "1 of 2", "1 of 2 fields")
	})
}
