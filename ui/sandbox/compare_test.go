package sandbox_test

import (
	"context"
	"testing"
	"time"

	"zonedeck/model"
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

// The page itself is tested in ui/compare.
func TestOneKeyComparesAndOneTakesTheWinner(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.svc.answer = mixed
		b.svc.kept["f_datacenter_demo_native"] = captchaResult(model.FetchRequest{URL: "http://lab.test/ok", Zone: demoZones()[0], Via: model.ViaNative})
		sent := func(want int) {
			t.Helper()
			b.wantSent(t, want, "")
		}
		b.Press("x")
		if c := b.codes[0]; c.Comparison != nil || c.Request.URL != "http://lab.test/ok" || c.Request.Zone.Name != "unlocker_demo" {
			t.Errorf("code of the form: %+v", c)
		}
		b.Press("esc")
		b.compare()
		b.Expect("Comparison · http://lab.test/ok · 1 run", "›★  unlocker_demo", "★ winner: unlocker_demo by Native", "unlocker_demo by Native")
		sent(6)
		b.Press("a")
		b.Expect("The form now has unlocker_demo by Native", "Request", "Will be sent")
		b.Press("ctrl+w")
		b.Expect("Comparison · http://lab.test/ok", "unlocker_demo by Native") // the same comparison: nothing is sent
		b.Press("home", "down", "enter")
		b.Expect("from history", "✗ CAPTCHA")
		b.Press("ctrl+w", "e")
		b.Press("tab", "tab", "tab", "space", "tab", "space", "ctrl+s") // without the datacenter and the unlocker
		b.Expect("winner: browser_demo by Native")
		sent(6 + 2)
		b.Press("esc")
		b.compare() // the form's zone is the unlocker: another comparison
		b.Expect("unlocker_demo by Native", "datacenter_demo")
		sent(6 + 2 + 6)
		b.Press("home", "o")
		b.Expect("The form now has datacenter_demo by API", "Request")
		sent(6 + 2 + 6)
	})
}

func TestAComparisonOfTheHistoryFillsTheForm(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		zone := model.Zone{Name: "unlocker_demo"}
		kept := model.Grid{
			ID: "t_9", Started: time.Now(), Repeat: 1, Base: model.FetchRequest{URL: "http://example.com/", Key: "batch-user"},
			Cells: []model.Cell{{Vary: model.Vary{Zone: zone, Via: model.ViaAPI}, Runs: []model.Run{{FetchID: "f_9", Class: model.ClassOK, Status: 200, Total: time.Second}}}},
		}
		b.svc.compared = []model.Grid{kept}
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenComparison{ID: "t_9", Profile: "local"}})
		b.Expect("Comparison · http://example.com/", "from history, ", "The form holds this request now")
		b.Press("esc")
		b.Expect("http://example.com/", "Will be sent")
		b.Press("ctrl+w", "ctrl+w", "ctrl+w") // shown, left, shown: it is the form's
		b.Expect("Comparison · http://example.com/")
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenComparison{ID: "t_9", Profile: "acme"}})
		b.Expect("Comparison of profile acme · http://example.com/")
		b.Press("a")
		b.Expect("Request of profile acme")
		b.Press("ctrl+j")
		b.Expect("Send it with another profile?")
		b.wantSent(t, 0, "")
	})
}

func TestARunningComparisonIsNotDropped(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.svc.answer = never
		b.Press("esc")
		b.compare()
		b.Expect("6 of 6 cells still running", "6 running")
		b.Press("esc")
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: "http://lab.test/json"}})
		b.Press("ctrl+w")
		b.Expect("Comparison · http://lab.test/ok", "6 of 6 cells still running", "This comparison is still running.")
		b.wantSent(t, 6, "")
	})
}

func TestTheCellOfAComparisonGrowsWithTheFocus(t *testing.T) {
	onScreen(t, 80, 24, func(t *testing.T, b *bench) {
		b.svc.answer = mixed
		b.compare()
		b.Expect("★ winner: unlocker_demo by Native", "╭ unlocker_demo by")
		low := rowOf(t, b, "╭ unlocker_demo by")
		b.Press("tab")
		if high := rowOf(t, b, "╭▌unlocker_demo by"); high >= low {
			t.Errorf("the cell is at line %d, and at %d with the focus", low, high)
		}
	})
}
