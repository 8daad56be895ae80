package sandbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
)

func TestTheFirstKeyPressSendsTheFirstRequest(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Expect("This is the embedded emulator. ctrl+j sends.", "Will be sent · alt+w  POST /request")
		b.ExpectNot("Authorization")
		b.Press("alt+w")
		b.Expect("▌Will be sent", "POST /request HTTP/1.1", "Authorization: Bearer ••••f2a1", `{"zone":"unlocker_demo"`)
		b.Press("ctrl+j")
		b.Expect("✓ ok", "200 · API · 41 ms · 90 B · unpriced · text/html", "<title>The lab</title>")
		b.wantSent(t, 1, "")
	})
}

func TestWhatWillBeSentSaysThatAKeyIsMissing(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.ExpectNot("✗ the profile has no key")
		session := demoSession()
		session.Key, session.Keys = model.Key{}, nil
		b.Send(kit.SessionChanged{Session: session})
		b.Expect("✗ the profile has no key", "POST /request")
	})
}

func TestEscCancelsTheRequestInFlight(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.svc.answer = never
		b.Press("ctrl+j")
		b.Expect("● sending", "esc cancels")
		b.Press("ctrl+j")
		b.Expect("was sent a moment ago")
		b.After(1300 * time.Millisecond)
		b.Press("esc")
		b.Expect("Cancelled after 1.", "may still count what")
		b.wantSent(t, 1, "")
	})
}

func TestACancelledRequestIsDistinguishedFromThePreviousResult(t *testing.T) {
	onScreen(t, 80, 24, func(t *testing.T, b *bench) {
		b.Press("ctrl+j")
		b.Expect("✓ ok")
		b.svc.answer = never
		b.Press("ctrl+j")
		b.Expect("● sending")
		b.Press("esc")
		b.Expect("below is the previous result.", "✓ ok")
		screen := b.Screen.Screen()
		if strings.Index(screen, "Cancelled after") > strings.Index(screen, "✓ ok   200") {
			t.Errorf("the verdict of another request is shown first:\n%s", screen)
		}
	})
}

func TestRetriesAreSeenWhileTheyHappen(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.svc.answer = func(ctx context.Context, r model.FetchRequest, on func(fetch.Event)) (model.FetchResult, error) {
			on(fetch.Event{Phase: fetch.PhaseQueued, Attempt: model.Attempt{N: 1}, Reason: "zone unlocker1: at most 3 at once"})
			timer := time.NewTimer(time.Second)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return model.FetchResult{}, context.Cause(ctx)
			}
			on(fetch.Event{Phase: fetch.PhaseSending, Attempt: model.Attempt{N: 1}})
			failed := model.Attempt{N: 1, Class: model.ClassTooFast, Status: 429, Total: 30 * time.Millisecond}
			on(fetch.Event{Phase: fetch.PhaseWaiting, Attempt: failed, Waiting: 3 * time.Second})
			timer.Reset(3 * time.Second)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return model.FetchResult{}, context.Cause(ctx)
			}
			on(fetch.Event{Phase: fetch.PhaseSending, Attempt: model.Attempt{N: 2, Wait: 3 * time.Second}})
			res := okResult(r)
			res.Attempts = []model.Attempt{failed, {N: 2, Class: model.ClassOK, Status: 200, Wait: 3 * time.Second, Total: 41 * time.Millisecond}}
			return res, nil
		}
		b.Press("ctrl+j")
		b.Expect("● queued", "! zone unlocker1: at most 3 at once")
		b.After(time.Second)
		b.Expect("● waiting", "! too fast", "429")
		b.ExpectNot("at most 3 at once")
		b.After(time.Second)
		b.Expect("s left before the next attempt")
		b.After(3 * time.Second)
		b.Expect("✓ ok", "attempt 2")
		b.Press("]", "]", "]", "]")
		b.Expect("! too fast", "429", "3.0 s")
	})
}

func TestARequestThatCannotBeSentSaysWhyAtTheField(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Press("down", "enter")
		for range len("http://lab.test/ok") {
			b.PressFast("backspace")
		}
		b.Type("lab.test/ok")
		b.Press("ctrl+j")
		b.Expect("did you mean http://lab.test/ok? enter takes it")
		b.wantSent(t, 0, "")
		b.Press("enter")
		b.Expect("http://lab.test/ok")
		b.ExpectNot("did you mean http://lab.test/ok? enter")
		b.Press("ctrl+j")
		b.wantSent(t, 1, "http://lab.test/ok")
	})
}

func TestARequestThatCannotBeSentIsDistinguishedFromThePreviousResult(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		onScreen(t, size[0], size[1], func(t *testing.T, b *bench) {
			b.Press("ctrl+j")
			b.Expect("✓ ok")
			b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: "lab.test/other"}})
			b.Press("ctrl+j")
			b.Expect("! Not sent: url: not an absolute address") // at 80x24 the folded pane has the line
			screen := b.Screen.Screen()
			if strings.Index(screen, "Not sent") > strings.Index(screen, "✓ ok   200") {
				t.Errorf("the verdict of another request is shown first:\n%s", screen)
			}
			b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: "http://lab.test/ok"}})
			b.Press("ctrl+j")
			b.Expect("✓ ok")
			b.ExpectNot("Not sent", "previous result")
		})
	}
}

func TestTheResponseNamesWhatWasSent(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("ctrl+j")
		b.Expect("Response · unlocker_demo · API · http://lab.test/ok")
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "datacenter_demo", URL: "http://lab.test/other"}})
		b.Expect("Response · unlocker_demo · API · http://lab.test/ok")
	})
}

func TestAKeyWithoutThePermissionAsksFirst(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Press("down", "down", "down", "down", "down", "down", "down", "enter")
		b.Type("finance")
		b.Press("enter")
		b.Expect("FINANCE has no proxy")
		b.Press("ctrl+j")
		b.Expect("Send it anyway?")
		b.Press("n")
		b.wantSent(t, 0, "after n")
		b.Press("ctrl+j", "y")
		if sent := b.svc.requests(); len(sent) != 1 || sent[0].Key != "finance-review" {
			t.Errorf("sent %+v, want one with the key that was picked", sent)
		}
	})
}

func TestARefusalOfTheServiceIsShownAtItsField(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.svc.answer = func(context.Context, model.FetchRequest, func(fetch.Event)) (model.FetchResult, error) {
			return model.FetchResult{}, model.BadField("key", "env:NOPE is not set")
		}
		b.Press("ctrl+j")
		b.Expect("Not sent: key: env:NOPE is not set")
	})
}

func TestEveryChangeRedrawsWhatWillBeSent(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("down", "enter")
		b.Type("?a=1")
		b.Press("alt+w") // also while typing
		b.Expect(`st/ok?a=1","format":"raw"}`)
		b.Press("alt+w", "down", "space")
		b.ExpectNot("Bearer")
		b.Press("alt+w")
		b.Expect("GET http://lab.test/ok?a=1 HTTP/1.1", "Proxy-Authorization: Basic")
		b.ExpectNot("Bearer")
	})
}

func TestResizingInFlightKeepsTheRequest(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.svc.answer = func(ctx context.Context, r model.FetchRequest, _ func(fetch.Event)) (model.FetchResult, error) {
			timer := time.NewTimer(3 * time.Second)
			defer timer.Stop()
			select {
			case <-timer.C:
				return okResult(r), nil
			case <-ctx.Done():
				return model.FetchResult{}, context.Cause(ctx)
			}
		}
		b.Press("ctrl+j")
		b.Resize(80, 24)
		b.Resize(50, 10)
		b.Resize(80, 24)
		b.Expect("Response")
		b.After(4 * time.Second)
		b.Resize(120, 40)
		b.Expect("✓ ok", "<title>The lab</title>")
		b.wantSent(t, 1, "")
	})
}

func TestRequiredFieldsAreSentForAndShown(t *testing.T) {
	onScreen(t, 80, 30, func(t *testing.T, b *bench) {
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := okResult(r)
			res.Fields = []model.Field{{Path: "h1", Found: true, Value: "ok"}, {Path: ".price"}}
			return res
		})
		b.Press("down", "down", "down", "down", "down", "down", "down", "down", "space") // More
		b.Press("down", "down", "down", "down", "enter")                                 // Required
		b.Type("h1")
		b.Press("enter")
		b.Type("<.price")
		b.Press("ctrl+j")
		b.Expect(`"<.price": write a CSS selector`)
		if n := len(b.svc.requests()); n != 0 {
			t.Fatalf("%d requests were sent with a path that cannot be looked for", n)
		}
		for range len("<.price") {
			b.PressFast("backspace")
		}
		b.Type(".price, .cost")
		b.Press("ctrl+j")
		if sent := b.svc.requests(); len(sent) != 1 || len(sent[0].Required) != 2 || sent[0].Required[1] != ".price, .cost" {
			t.Fatalf("sent %+v, want both lines", sent)
		}
		b.Expect("1 of 2 fields")
		b.Press("[")
		b.Expect("✓ h1", "✗ .price", "missing")
	})
}
