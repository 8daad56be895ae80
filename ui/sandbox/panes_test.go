package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
)

func TestBothSizesShowEveryPane(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}, {200, 60}} {
		onScreen(t, size[0], size[1], func(_ *testing.T, b *bench) {
			b.Expect("Request", "Will be sent", "Response", "History", "http://lab.test/ok")
			b.Press("ctrl+j")
			b.Expect("✓ ok", "200 · API")
			for range 4 {
				b.Press("tab")
				b.Expect("Request", "Will be sent", "Response", "History")
			}
			b.Press("z")
			b.ExpectNot("Will be sent")
		})
	}
}

func TestAHighTerminalShowsKeysFirstAndTimingAndHeadersBelowAShortBody(t *testing.T) {
	onScreen(t, 200, 60, func(_ *testing.T, b *bench) {
		b.Expect("alt+u ctrl+l     Type another URL in place of the old one, from anywhere")
		b.Press("ctrl+j")
		b.Expect("<title>The lab</title>", "line 1 of 3 · 100 %", "wait         38 ms", "X-Brd-Ip: 127.0.3.17")
		b.ExpectNot("Edit the URL, from anywhere.")
		b.Press("]", "]")
		b.Expect("X-Brd-Ip: 127.0.3.17")
		b.ExpectNot("wait         38 ms")
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := okResult(r)
			res.Body = model.BodyRef{Bytes: []byte(strings.Repeat("line\n", 40)), Size: 200}
			return res
		})
		b.Press("ctrl+j")
		b.Expect("line 1 of 40")
		b.ExpectNot("wait         38 ms", "X-Brd-Ip")
	})
}

func TestRowsAndBodiesMoveByKeys(t *testing.T) {
	onScreen(t, 80, 24, func(_ *testing.T, b *bench) {
		r := model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/long", Via: model.ViaAPI}
		long := okResult(r)
		text := strings.Repeat("line\n", 500) + "the end\n"
		long.Body = model.BodyRef{Bytes: []byte(text), Size: int64(len(text))}
		b.svc.kept["f_long"] = long
		for i, ref := range []string{"f_new", "f_long"} {
			b.svc.history = append(b.svc.history, model.HistoryEntry{ID: int64(9 - i), Ref: ref, At: time.Now(), Kind: model.HistoryFetch, Zone: ref, URL: r.URL, Via: model.ViaAPI, Class: model.ClassOK})
		}
		b.reload()
		b.Press("shift+tab", "down", "enter")
		b.Expect("from history", "line 1 of 501")
		b.Press("pgdown")
		b.ExpectNot("line 1 of 501")
		b.Press("G")
		b.Expect("the end")
	})
}

func TestALongRequestScrollsToItsEndAndNoFurther(t *testing.T) {
	onScreen(t, 80, 24, func(_ *testing.T, b *bench) {
		b.Press("down", "enter", "ctrl+u")
		b.Paste("http://lab.test/?q=" + strings.Repeat("x", 3000) + "&last=1")
		b.Press("enter", "tab")
		b.Expect("▌Will be sent", "POST /request HTTP/1.1")
		b.ExpectNot(`last=1"`)
		b.Press("G")
		b.Expect(`last=1"`, `"format":"raw"}`)
		b.Press("down", "down")
		b.Expect(`last=1"`, "xxxxxxxxxx")
		b.Resize(120, 40) // rows of another width
		b.Press("G", "up", "down")
		b.Expect(`last=1"`)
		b.Resize(80, 24)
		b.Press("g")
		b.Expect("POST /request HTTP/1.1")
		b.Press("tab", "shift+tab", "esc", "up", "enter", "ctrl+u")
		b.Type("http://lab.test/ok")
		b.Press("enter", "tab", "G")
		b.Expect("POST /request HTTP/1.1", `"format":"raw"}`)
	})
}

func TestLongHeadersScrollToTheirEndAndNoFurther(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := okResult(r)
			res.Header = http.Header{"A": {"first"}, "X-Long": {strings.Repeat("x", 9000) + "end"}}
			return res
		})
		b.Press("ctrl+j")
		b.Expect("✓ ok")
		b.Press("]", "]")
		b.ExpectNot("xend")
		b.Press("G", "down")
		b.Expect("xend", strings.Repeat("x", 60))
		b.Press("g")
		b.Expect("A: first")
	})
}

func TestAClickFocusesThePaneUnderIt(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Expect("▌Request")
		b.Send(tea.MouseClickMsg{X: 80, Y: 35, Button: tea.MouseLeft})
		b.Expect("▌History")
		b.Send(tea.MouseClickMsg{X: 80, Y: 10, Button: tea.MouseLeft})
		b.Expect("▌Response")
		b.Send(tea.MouseClickMsg{X: 10, Y: rowOf(t, b, "Will be sent"), Button: tea.MouseLeft})
		b.Expect("▌Will be sent", "Authorization: Bearer")                                // which grows
		b.Send(tea.MouseClickMsg{X: 26, Y: rowOf(t, b, "Format"), Button: tea.MouseLeft}) // the form, at an option
		b.Expect("▌Options", "›Format", "(•) json")
		b.Send(tea.MouseClickMsg{X: 40, Y: 2, Button: tea.MouseLeft})
		b.Expect("›URL")
		b.Send(tea.MouseClickMsg{X: 10, Y: rowOf(t, b, "Key  "), Button: tea.MouseLeft})
		b.Expect("▌Options", "›Key")
		b.Send(tea.MouseClickMsg{X: 10, Y: rowOf(t, b, "serp_demo"), Button: tea.MouseLeft}) // in the list of zones
		b.Expect("Zone  serp_demo")
	})
}

func TestASearchFromTheFormGoesToTheBody(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Press("/", "w") // without a body the word is no command
		b.Expect("›Zone  w█", "›browser_demo", "▌Request")
		b.Press("esc")
		b.wantSent(t, 0, "by a word")
		b.Press("ctrl+j")
		b.Expect("▌Request", "✓ ok")
		b.Press("/")
		b.Type("lab")
		b.Press("enter")
		b.Expect("▌Response", "/lab  1 of 1")
		b.Press("esc", "esc", "|")
		b.Type("title")
		b.Expect("▌Response", "CSS › title")
	})
}

func TestEscGoesBackStepByStep(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("ctrl+j", "tab", "tab", "z", "/")
		b.Type("lab")
		b.Press("enter")
		b.Expect("/lab  1 of 1")
		b.ExpectNot("▌Request", "Will be sent")
		b.Press("esc") // the search
		b.ExpectNot("/lab  1 of 1")
		b.Press("esc") // the zoom
		b.Expect("Will be sent", "▌Response")
		b.Press("esc") // to the form
		b.Expect("▌Request")
		b.Press("esc")
		b.Expect("▌Request")
	})
}

func TestKeysOfAResultAreNotHintedWithoutOne(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.ExpectNot("v evidence", "] page")
		b.Press("ctrl+j")
		b.Expect("╶ Body ╴")
		b.Press("ctrl+g", "]", "]")
		b.Expect(" ] page · esc back · ")
	})
}

func TestHelpBeginsWithThePaneThatHasTheFocus(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Press("esc", "ctrl+j")
		for _, pane := range []struct{ keys, first string }{{"", "Request"}, {"ctrl+g", "Body"}, {"] ]", "Result"}, {"tab", "History"}} {
			b.Press(strings.Fields(pane.keys)...)
			b.Press("?")
			_, groups, _ := strings.Cut(b.Screen.Screen(), "│Sandbox ")
			if first, _, _ := strings.Cut(groups, pane.first+"  "); strings.Count(first, "\n") != 1 {
				t.Errorf("after %q help does not begin with %q:\n%s", pane.keys, pane.first, b.Screen.Screen())
			}
			b.Press("esc")
		}
	})
}

// On a tall screen the list has what the zones leave, and the response more than half.
func TestTheHistoryGrowsBesideFewZones(t *testing.T) {
	onScreen(t, 200, 60, func(t *testing.T, b *bench) {
		for i := range 30 {
			b.svc.history = append(b.svc.history, model.HistoryEntry{ID: int64(30 - i), Ref: fmt.Sprint("f_", i), At: time.Now(), Kind: model.HistoryFetch, Zone: "unlocker_demo", URL: fmt.Sprint("http://lab.test/", i), Class: model.ClassOK})
		}
		b.reload()
		if at := rowOf(t, b, "╭ History"); at < 35 || at > 41 {
			t.Errorf("the history begins at line %d", at)
		}
	})
}

func TestLongEvidenceIsShownInFullWhereThereIsRoom(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := captchaResult(r)
			res.Diagnosis.Evidence = []model.Evidence{{Kind: "error", Text: "the service says: policy_20030 target is blocked: not a public address, ask your account manager"}}
			return res
		})
		b.Press("ctrl+j")
		b.Expect("ask your account", "manager")
	})
}

func TestAClickPicksTheRowOrFieldUnderIt(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		for i := range 3 {
			b.svc.history = append(b.svc.history, model.HistoryEntry{ID: int64(3 - i), Ref: "f", At: time.Now(), Kind: model.HistoryFetch, Zone: fmt.Sprintf("zone_%d", i)})
		}
		b.reload()
		b.Expect("›00:00:00   · no result         zone_0")
		b.Send(tea.MouseClickMsg{X: 80, Y: rowOf(t, b, "zone_2"), Button: tea.MouseLeft})
		b.Expect("▌History", "›00:00:00   · no result         zone_2")
		b.Send(tea.MouseClickMsg{X: 10, Y: rowOf(t, b, "Format"), Button: tea.MouseLeft})
		b.Expect("›Format")
		b.Send(tea.MouseClickMsg{X: 10, Y: rowOf(t, b, "More") + 1, Button: tea.MouseLeft}) // the frame below
		b.Expect("›Format")
	})
}

// rowOf is the line of the screen that holds text.
func rowOf(t *testing.T, b *bench, text string) int {
	t.Helper()
	for y, l := range strings.Split(b.Screen.Screen(), "\n") {
		if strings.Contains(l, text) {
			return y
		}
	}
	t.Fatalf("%q is not on the screen", text)
	return -1
}

func TestAnAddressInTheEvidenceIsCutButNotSplitByABlank(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := captchaResult(r)
			res.Diagnosis.Evidence = []model.Evidence{{Kind: "error", Text: "http://lab.test/" + strings.Repeat("0123456789012345678/", 20)}}
			return res
		})
		b.Press("ctrl+j")
		b.Expect("evidence  error: http://lab.test/0123", "…")
		b.ExpectNot("/ 0")
	})
}

func TestALongMessageLeavesRoomForTheResult(t *testing.T) {
	onScreen(t, 80, 24, func(_ *testing.T, b *bench) {
		b.Press("ctrl+j")
		b.Expect("✓ ok")
		b.svc.answer = func(context.Context, model.FetchRequest, func(fetch.Event)) (model.FetchResult, error) {
			return model.FetchResult{}, errors.New("the history cannot be read: " + strings.Repeat("no such thing ", 300))
		}
		b.AllowError("the history")
		b.Press("ctrl+j")
		b.Expect("! ", "no such thing", "✓ ok   200")
	})
}

func TestFoldedFieldsSayWhatTheyHold(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		r := model.FetchRequest{
			Zone: demoZones()[0], URL: "http://lab.test/shop", Via: model.ViaNative, Method: "POST", Body: "a=1", Retries: -1,
			Header: http.Header{"X-A": {"1"}, "X-B": {"2"}}, Required: []string{".price"}, Timeout: 90 * time.Second,
		}
		b.svc.kept["f_2"] = captchaResult(r)
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}})
		b.Press("esc") // to the form
		b.ExpectNot("folded")
		b.Press("j", "j", "j", "j", "space") // folds More
		b.Expect("! folded under More: POST, 2 headers, body 3", "B, 1 required field, timeout 1m30s")
		b.Press("space")
		b.ExpectNot("folded")
		b.Press("space", "ctrl+j")
		sent := b.svc.requests()
		if len(sent) != 1 || sent[0].Body != "a=1" || len(sent[0].Header) != 2 {
			t.Errorf("sent %+v, want what the folded fields hold", sent)
		}
	})
}

func TestAMistakeInAFoldedFieldIsShownAtTheFold(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.svc.kept["f_2"] = captchaResult(model.FetchRequest{
			Zone: demoZones()[0], URL: "http://lab.test/shop", Via: model.ViaNative, Header: http.Header{"Cookie": {"••••"}}, Retries: -1,
		})
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}})
		b.Press("esc", "j", "j", "j", "j", "space")
		b.Expect("✗ headers: line 1")
	})
}

func TestANarrowTerminalShowsWhatTheFoldedFormHolds(t *testing.T) {
	onScreen(t, 80, 24, func(_ *testing.T, b *bench) {
		b.svc.kept["f_2"] = captchaResult(model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/shop", Via: model.ViaNative, Method: "DELETE", Retries: -1})
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}})
		b.Expect("datacenter_demo · Native · http://lab.test/shop · DELETE")
	})
}

func TestTheHistoryGrowsWhenItHasTheFocus(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		for i := range 30 {
			b.svc.history = append(b.svc.history, model.HistoryEntry{ID: int64(30 - i), Ref: fmt.Sprint("f_", i), At: time.Now(), Kind: model.HistoryFetch, Zone: "unlocker_demo", URL: fmt.Sprint("http://lab.test/", i), Class: model.ClassOK})
		}
		b.reload()
		low := rowOf(t, b, "╭ History")
		b.Press("shift+tab")
		high := rowOf(t, b, "╭▌History")
		b.Press("tab")
		b.Send(tea.MouseClickMsg{X: 80, Y: low, Button: tea.MouseLeft})
		if clicked := rowOf(t, b, "╭▌History"); high > low-5 || clicked != high || rowOf(t, b, "╶ Will be sent") < 0 {
			t.Errorf("the pane begins at line %d without the focus, at %d with it, at %d after a click", low, high, clicked)
		}
	})
}

// A pane is a line or a frame: two lines would be a line and a blank.
func TestNoBlankLineStandsBetweenThePanes(t *testing.T) {
	for h := 13; h < 31; h++ {
		onScreen(t, 61, h, func(t *testing.T, b *bench) {
			b.svc.history = []model.HistoryEntry{{Ref: "f_1", At: time.Now(), Kind: model.HistoryFetch, Profile: "local", Zone: "serp_demo", URL: "http://lab.test/json", Class: model.ClassOK}}
			b.reload()
			for range 4 {
				lines := strings.Split(b.Screen.Screen(), "\n")
				for y, l := range lines[1 : len(lines)-1] {
					if strings.TrimSpace(l) == "" {
						t.Errorf("at 61x%d line %d is blank:\n%s", h, y+1, b.Screen.Screen())
						return
					}
				}
				b.Press("tab")
			}
		})
	}
}

// What a field says is not said again below the form, and not beside it.
func TestWhatAFieldSaysIsSaidOnce(t *testing.T) {
	onScreen(t, 80, 24, func(t *testing.T, b *bench) {
		b.Press("down", "ctrl+u")
		b.Type("ftp:")
		says := "ftp is not fetched"
		if n := strings.Count(b.Screen.Screen(), says); n != 1 {
			t.Errorf("%d times %q:\n%s", n, says, b.Screen.Screen())
		}
	})
}

func TestManyZonesAreScrolledBesideTheForm(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		s := demoSession()
		for i := range 200 {
			s.Zones = append(s.Zones, model.Zone{Name: model.ZoneName(fmt.Sprintf("web_%03d", i)), Product: model.ProductUnlocker})
		}
		b.Send(kit.SessionChanged{Session: s})
		pane := func() string {
			_, rest, _ := strings.Cut(b.Screen.Screen(), "Zones, last 12 fetches")
			rest, _, _ = strings.Cut(rest, "History")
			return rest
		}
		if got := pane(); !strings.Contains(got, "↓ 1") || strings.Contains(got, "↑") {
			t.Fatalf("nothing says that there are more:\n%s", got)
		}
		for range 100 {
			b.Send(tea.MouseWheelMsg{X: 5, Y: 22, Button: tea.MouseWheelDown})
		}
		if got := b.Screen.Screen(); !strings.Contains(got, "web_199") || !strings.Contains(pane(), "web_190") || !strings.Contains(got, "Zone  unlocker_demo") {
			t.Errorf("the last zones cannot be seen:\n%s", got)
		}
		b.Click("web_198")
		b.Expect("Zone  web_198", "›web_198")
	})
}

func TestALongZoneNameLeavesTheStripsTheirCells(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		s := demoSession()
		s.Zones = append(s.Zones, model.Zone{Name: model.ZoneName("long_" + strings.Repeat("name_", 16)), Product: model.ProductUnlocker})
		b.svc.history = []model.HistoryEntry{
			{Ref: "f_1", At: time.Now(), Kind: model.HistoryFetch, Profile: "local", Zone: "serp_demo", Class: model.ClassOK, Total: time.Millisecond},
			{Ref: "f_2", At: time.Now(), Kind: model.HistoryFetch, Profile: "local", Zone: "serp_demo", Class: model.ClassOK, Total: time.Millisecond},
		}
		b.reload()
		b.Send(kit.SessionChanged{Session: s})
		b.Expect("██ 1 ms · 2/2│")
		b.Press("alt+z")
		b.Expect("██ p50 1 ms · 2 of 2 useful", "long_name_name_name_")
	})
}
