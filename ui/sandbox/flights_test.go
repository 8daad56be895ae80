package sandbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
)

// gates answers each URL once its gate is opened.
type gates map[string]chan struct{}

func (g gates) answer(ctx context.Context, r model.FetchRequest, _ func(fetch.Event)) (model.FetchResult, error) {
	select {
	case <-g[r.URL]:
		res := okResult(r)
		res.ID = "f_" + r.URL
		return res, nil
	case <-ctx.Done():
		return model.FetchResult{}, context.Cause(ctx)
	}
}

// sendThree sends /a, /b and /c, which wait for their gates; the response pane shows /c.
func sendThree(b *bench) gates {
	g := gates{}
	b.svc.answer = g.answer
	for _, name := range []string{"a", "b", "c"} {
		url := "http://lab.test/" + name
		g[url] = make(chan struct{})
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: url}})
		b.Press("ctrl+j")
	}
	b.Expect("3 running", "Response · unlocker_demo · API · http://lab.test/c", "2 more in flight",
		"● sending           unlocker_demo  API", " http://lab.test/a")
	return g
}

func TestSeveralRequestsAreInFlightAndTheShownOneStays(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		g := sendThree(b)
		close(g["http://lab.test/a"])
		b.Settle()
		b.Expect("2 running", "Response · unlocker_demo · API · http://lab.test/c", "● sending", "✓ ok                unlocker_demo  API       41 ms http://lab.test/a")
		b.Press("shift+tab", "G", "enter") // the line of /a
		b.Expect("Response · unlocker_demo · API · http://lab.test/a", "<title>The lab</title>", "2 running")
		b.ExpectNot("from history")
		close(g["http://lab.test/c"]) // does not take the place of what is read
		b.Settle()
		b.Expect("1 running", "Response · unlocker_demo · API · http://lab.test/a")
		b.wantSent(t, 3, "")
	})
}

func TestEachRequestInFlightIsCancelledOnItsOwn(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		g := sendThree(b)
		b.Press("shift+tab", "g", "j", "c") // the line of /b
		b.Expect("1 more in flight", "http://lab.test/b: Cancelled after", "Response · unlocker_demo · API · http://lab.test/c")
		b.Press("esc") // the one that is shown
		b.After(9 * time.Second)
		b.Expect("1 running", "Cancelled after ")
		b.Press("enter")
		b.Expect("Response · unlocker_demo · API · http://lab.test/a", "● sending")
		close(g["http://lab.test/a"])
		b.Settle()
		b.Expect("0 running", "✓ ok")
		b.ExpectNot("http://lab.test/b")
	})
}

func TestQuittingAsksWhileARequestIsInFlightBehindAnother(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		sendThree(b)
		b.Press("esc", "ctrl+c")
		b.Expect("2 operations are in flight")
	})
}

func TestAResultThatIsNotShownWaitsUntilTheHistoryHasIt(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		g := sendThree(b)
		close(g["http://lab.test/b"])
		b.Settle()
		b.Expect("2 running")
		b.Press("shift+tab", "g", "j") // the line of /b, which has ended
		b.Expect("›00:00:00   ✓ ok                unlocker_demo  API       41 ms http://lab.test/b")
		b.Press("c")
		b.Expect("it has ended")
		b.svc.history = []model.HistoryEntry{{ID: 1, Ref: "f_http://lab.test/b", At: time.Now(), Kind: model.HistoryFetch, Zone: "kept_zone", URL: "http://lab.test/b", Class: model.ClassOK}}
		b.reload()
		b.Expect("kept_zone")
		b.ExpectNot("41 ms")
	})
}

func TestTheCursorStaysAtTheTopWhileFlightsLand(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.svc.history = []model.HistoryEntry{{Ref: "f_old", At: time.Now(), Kind: model.HistoryFetch, Zone: "serp_demo", URL: "http://lab.test/old", Class: model.ClassOK}}
		b.reload()
		g := sendThree(b)
		b.Press("shift+tab")
		for i, step := range []struct{ lands, top string }{{"c", "b"}, {"b", "a"}, {"a", "a"}} {
			if line := lineOf(b.Screen.Screen(), "│›00"); i == 0 && !strings.Contains(line, "● sending") {
				t.Errorf("with three in flight the cursor is on %q", line)
			}
			url := "http://lab.test/" + step.lands
			b.svc.history = append([]model.HistoryEntry{{Ref: "f_" + url, At: time.Now(), Kind: model.HistoryFetch, Zone: "unlocker_demo", URL: url, Class: model.ClassOK}}, b.svc.history...)
			close(g[url])
			b.Settle()
			if line := lineOf(b.Screen.Screen(), "│›00"); !strings.Contains(line, "http://lab.test/"+step.top+" ") {
				t.Errorf("after %s the cursor is on %q, want the top, %s", step.lands, line, step.top)
			}
			b.ExpectNot(" new ")
		}
	})
}

func TestFetchesThatComeAboveTheCursorAreCounted(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		list := func(refs ...string) {
			b.svc.history = nil
			for i, ref := range refs {
				b.svc.history = append(b.svc.history, model.HistoryEntry{ID: int64(len(refs) - i), Ref: ref, At: time.Now(), Kind: model.HistoryFetch, Zone: ref})
			}
			b.reload()
		}
		list("f_2", "f_1")
		g := sendThree(b)
		b.Press("shift+tab", "G") // f_1
		close(g["http://lab.test/a"])
		b.Settle()
		b.ExpectNot("new") // its line is one of those in flight
		list("f_http://lab.test/a", "f_3", "f_2", "f_1")
		b.Expect("History · 2 new")
		b.Press("k", "k", "k")
		b.ExpectNot("new")
		b.Press("j")
		b.ExpectNot("new")
	})
}

func TestAFlightThatFailsBehindAnotherSaysSo(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.AllowError("no such profile")
		release := make(chan struct{})
		b.svc.answer = func(context.Context, model.FetchRequest, func(fetch.Event)) (model.FetchResult, error) {
			<-release
			return model.FetchResult{}, errors.New("no such profile")
		}
		b.Press("ctrl+j")
		b.svc.answer = never
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: "http://lab.test/other"}})
		b.Press("ctrl+j")
		close(release)
		b.Settle()
		b.Expect("The request to http://lab.test/ok was not sent: no such profile", "Response · unlocker_demo · API · http://lab.test/other", "● sending")
		b.Press("esc") // what runs first
		b.Expect("Cancelled", "was not sent")
		b.Press("esc")
		b.ExpectNot("was not sent")
	})
}
