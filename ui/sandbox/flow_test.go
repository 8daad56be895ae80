package sandbox_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/profile"
	"zonedeck/service/saved"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/sandbox"
	"zonedeck/ui/uitest"
)

// fakeService answers fetches as the test says, and keeps what it was asked.
type fakeService struct {
	*service.Client // the real preview
	mu              sync.Mutex
	sent            []model.FetchRequest
	history         []model.Activity
	kept            map[string]model.FetchResult
	slow            map[string]time.Duration // how long LoadFetch takes, whoever still waits
	answer          func(ctx context.Context, r model.FetchRequest, on func(service.FetchEvent)) (model.FetchResult, error)
}

func (f *fakeService) Fetch(ctx context.Context, r model.FetchRequest, on func(service.FetchEvent)) (model.FetchResult, error) {
	f.mu.Lock()
	f.sent = append(f.sent, r)
	answer := f.answer
	f.mu.Unlock()
	return answer(ctx, r, on)
}

func (f *fakeService) requests() []model.FetchRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]model.FetchRequest(nil), f.sent...)
}

func (f *fakeService) Activity(context.Context, model.ActivityFilter) ([]model.Activity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]model.Activity(nil), f.history...), nil
}

func (f *fakeService) LoadFetch(_ context.Context, id string) (model.FetchResult, error) {
	if d := f.slow[id]; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		<-timer.C
	}
	res, ok := f.kept[id]
	if !ok {
		return model.FetchResult{}, errors.New("the journal has no such fetch")
	}
	return res, nil
}

// fakeStore keeps saved requests in memory.
type fakeStore struct{ kept map[string]model.FetchRequest }

func (s *fakeStore) List(context.Context) ([]saved.Entry, error) {
	var out []saved.Entry
	for name, r := range s.kept {
		out = append(out, saved.Entry{Name: name, Request: r, Changed: time.Now()})
	}
	return out, nil
}

func (s *fakeStore) Load(_ context.Context, name string) (model.FetchRequest, error) {
	return s.kept[name], nil
}

func (s *fakeStore) Save(_ context.Context, name string, r model.FetchRequest, replace bool) ([]string, error) {
	if _, have := s.kept[name]; have && !replace {
		return nil, saved.ErrExists
	}
	s.kept[name] = r
	return nil, nil
}

// bench is one screen under test.
type bench struct {
	*uitest.Screen
	svc   *fakeService
	store *fakeStore
	view  *sandbox.Model
}

func demoProfile() profile.Profile {
	return profile.Profile{
		Name: "local", Local: true, BaseURL: "http://127.0.0.1:8080", ProxyHost: "127.0.0.1", ProxyPort: 33335,
		UsernamePrefix: "brd", Account: "hl_demo01", Dialect: "brightdata", Key: "batch-user", Verify: true, Zones: demoZones(),
	}
}

func demoZones() []model.Zone {
	return []model.Zone{
		{Name: "datacenter_demo", Product: model.ProductDatacenter, Password: "demo:datacenter_demo"},
		{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "demo:unlocker_demo"},
		{Name: "browser_demo", Product: model.ProductBrowser, Password: "demo:browser_demo"},
		{Name: "serp_demo", Product: model.ProductSERP, Password: "demo:serp_demo"},
	}
}

func demoSession() kit.Session {
	now := time.Now()
	user := model.Key{
		Name: "batch-user", Level: model.LevelUser, Duty: model.DutyBatch, Last4: "f2a1", Secret: "demo:batch-user",
		Expires: model.ExpiresAt(now.AddDate(0, 0, 60)), Rotation: model.Rotation{Last: now.AddDate(0, 0, -20)},
	}
	finance := user
	finance.Name, finance.Level, finance.Last4, finance.Secret = "finance-review", model.LevelFinance, "0c0c", "demo:finance-review"
	return kit.Session{
		ProfileName: "local", Local: true, Ready: true, Key: user, Keys: []model.Key{user, finance}, Zones: demoZones(),
	}
}

// open runs the console with the Sandbox as its only tab.
func open(t *testing.T, w, h int) *bench {
	t.Helper()
	b := &bench{
		svc:   &fakeService{Client: service.New(service.Options{}), kept: map[string]model.FetchResult{}},
		store: &fakeStore{kept: map[string]model.FetchRequest{}},
	}
	b.svc.answer = func(_ context.Context, r model.FetchRequest, _ func(service.FetchEvent)) (model.FetchResult, error) {
		return okResult(r), nil
	}
	theme := kit.NewTheme(true, false)
	b.view = sandbox.New(sandbox.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, Fetcher: b.svc, History: b.svc, Saved: b.store, Profile: demoProfile,
		Open: func(context.Context, model.BodyRef) (kit.BodySource, error) {
			return kit.BodySource{}, errors.New("no file in this test")
		},
	})
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Session: demoSession(),
		Tabs: []ui.Tab{{ID: kit.Sandbox, View: b.view}},
	})
	b.Screen = uitest.Start(t, app, w, h)
	return b
}

// reload does what coming back to the tab does.
func (b *bench) reload() { b.Send(b.view.Focus()) }

func okResult(r model.FetchRequest) model.FetchResult {
	body := "<!doctype html>\n<html><head><title>The lab</title></head>\n<body><h1>ok</h1></body></html>\n"
	return model.FetchResult{
		ID: "f_1", Request: r, KeyName: "batch-user", Started: time.Now(), Status: 200, ServiceStatus: 200,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}, "X-Brd-Ip": {"127.0.3.17"}}, ContentType: "text/html; charset=utf-8",
		Body: model.BodyRef{Bytes: []byte(body), Size: int64(len(body))},
		Timing: model.Timing{
			DNS: -1, Connect: 1 * time.Millisecond, ProxyConnect: -1, TLS: -1, FirstByte: 38 * time.Millisecond,
			Transfer: 2 * time.Millisecond, Total: 41 * time.Millisecond,
		},
		Attempts:  []model.Attempt{{N: 1, Class: model.ClassOK, Status: 200, Total: 41 * time.Millisecond}},
		Diagnosis: model.Diagnosis{Class: model.ClassOK, Summary: "The target answered 200 with a body.", Evidence: []model.Evidence{{Kind: "status", Text: "200"}}},
	}
}

func captchaResult(r model.FetchRequest) model.FetchResult {
	res := okResult(r)
	body := "<!doctype html>\n<html><head><title>Just a moment</title></head>\n<div class=\"g-recaptcha\"></div>\n"
	res.ID, res.Body = "f_2", model.BodyRef{Bytes: []byte(body), Size: int64(len(body))}
	at := int64(strings.Index(body, "g-recaptcha"))
	res.Attempts = []model.Attempt{
		{N: 1, Class: model.ClassCaptcha, Status: 200, Total: 40 * time.Millisecond},
		{N: 2, Class: model.ClassCaptcha, Status: 200, Wait: time.Second, Total: 44 * time.Millisecond},
	}
	res.Diagnosis = model.Diagnosis{
		Class: model.ClassCaptcha, Summary: "The target answered with a CAPTCHA instead of the page.",
		Evidence: []model.Evidence{{Kind: "service_status", Text: "200 OK"}, {Kind: "status", Text: "200 OK"}, {Kind: "header", Text: "x: y"}, {Kind: "body", Text: "match \"g-recaptcha\"", Offset: at, Length: 11}},
		Steps: []model.Step{
			{Action: model.ActionTryBrowser, Text: "use the specialised product", Documented: true},
			{Action: model.ActionSlowDown, Text: "slow down", Documented: true},
			{Action: model.ActionTwin, Text: "compare API and Native"},
		},
	}
	return res
}

func TestTheFirstKeyPressSendsTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.Expect("This is the embedded emulator. ctrl+j sends.", "Will be sent", "POST /request HTTP/1.1",
			"Authorization: Bearer ••••f2a1", `{"zone":"unlocker_demo"`)
		b.Press("ctrl+j")
		b.Expect("✓ ok", "200 · API · 41 ms · 90 B · text/html", "<title>The lab</title>")
		if n := len(b.svc.requests()); n != 1 {
			t.Errorf("%d requests were sent, want 1", n)
		}
	})
}

func TestEscCancelsTheRequestOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = func(ctx context.Context, _ model.FetchRequest, _ func(service.FetchEvent)) (model.FetchResult, error) {
			<-ctx.Done()
			return model.FetchResult{}, context.Cause(ctx)
		}
		b.Press("ctrl+j")
		b.Expect("● sending", "esc cancels")
		b.Press("ctrl+j")
		b.Expect("a request is on its way")
		b.After(1300 * time.Millisecond)
		b.Press("esc")
		b.Expect("Cancelled after 1.", "may still count at")
		if n := len(b.svc.requests()); n != 1 {
			t.Errorf("%d requests were sent, want 1", n)
		}
	})
}

func TestRetriesAreSeenWhileTheyHappen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = func(ctx context.Context, r model.FetchRequest, on func(service.FetchEvent)) (model.FetchResult, error) {
			on(service.FetchEvent{Phase: service.PhaseSending, Attempt: model.Attempt{N: 1}})
			failed := model.Attempt{N: 1, Class: model.ClassTooFast, Status: 429, Total: 30 * time.Millisecond}
			on(service.FetchEvent{Phase: service.PhaseWaiting, Attempt: failed, Waiting: 3 * time.Second})
			timer := time.NewTimer(3 * time.Second)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return model.FetchResult{}, context.Cause(ctx)
			}
			on(service.FetchEvent{Phase: service.PhaseSending, Attempt: model.Attempt{N: 2, Wait: 3 * time.Second}})
			res := okResult(r)
			res.Attempts = []model.Attempt{failed, {N: 2, Class: model.ClassOK, Status: 200, Wait: 3 * time.Second, Total: 41 * time.Millisecond}}
			return res, nil
		}
		b.Press("ctrl+j")
		b.Expect("● waiting", "! too fast", "429")
		b.After(time.Second)
		b.Expect("s left before the next attempt")
		b.After(3 * time.Second)
		b.Expect("✓ ok", "attempt 2")
		b.Press("]", "]", "]")
		b.Expect("! too fast", "429", "3.0 s")
	})
}

func TestALateAnswerToAnOldLoadIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		r := model.FetchRequest{Zone: demoZones()[1], URL: "http://lab.test/ok", Via: model.ViaAPI}
		b.svc.kept = map[string]model.FetchResult{"f_slow": captchaResult(r), "f_new": okResult(r)}
		b.svc.slow = map[string]time.Duration{"f_slow": time.Second}
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_slow"}})
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_new"}})
		b.Expect("from history", "nothing was sent", "<title>The lab</title>")
		b.After(2 * time.Second)
		b.Expect("<title>The lab</title>")
		b.ExpectNot("CAPTCHA")
		if n := len(b.svc.requests()); n != 0 {
			t.Errorf("re-opening sent %d requests", n)
		}
	})
}

func TestAFetchThatIsGoneIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.AllowError("f_gone")
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_gone"}})
		b.ExpectToast("Fetch f_gone could not be opened: the journal has no such fetch")
	})
}

func TestWhatCannotBeSentIsSaidAtTheField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.Press("down", "enter")
		for range len("http://lab.test/ok") {
			b.PressFast("backspace")
		}
		b.Type("lab.test/ok")
		b.Press("ctrl+j")
		b.Expect("it must be absolute")
		if n := len(b.svc.requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestAKeyThatMayNotAsksFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.Press("down", "down", "down", "down", "enter")
		b.Type("finance")
		b.Press("enter")
		b.Expect("FINANCE has no proxy and")
		b.Press("ctrl+j")
		b.Expect("Send all the same?")
		b.Press("n")
		if n := len(b.svc.requests()); n != 0 {
			t.Errorf("%d requests were sent after n", n)
		}
		b.Press("ctrl+j", "y")
		if sent := b.svc.requests(); len(sent) != 1 || sent[0].Key != "finance-review" {
			t.Errorf("sent %+v, want one with the key that was picked", sent)
		}
	})
}

func TestARefusalOfTheServiceStandsAtItsField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = func(context.Context, model.FetchRequest, func(service.FetchEvent)) (model.FetchResult, error) {
			return model.FetchResult{}, &service.RequestError{Field: "key", Msg: "env:NOPE is not set"}
		}
		b.Press("ctrl+j")
		b.Expect("Not sent: key: env:NOPE is not set")
	})
}

func TestACaptchaShowsItsEvidenceAndWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = func(_ context.Context, r model.FetchRequest, _ func(service.FetchEvent)) (model.FetchResult, error) {
			return captchaResult(r), nil
		}
		b.Press("ctrl+j")
		b.Expect("✗ CAPTCHA", "body bytes 76-86: match", "[b] try zone browser_demo", "[s] wait 5.0 s, send again")
		b.Expect("[t] try by Native")
		b.Press("b")
		b.Expect("browser_demo now. ctrl+j sends")
		if n := len(b.svc.requests()); n != 1 {
			t.Fatalf("a step that fills the form sent a request (%d in all)", n)
		}
		b.Press("ctrl+j")
		if sent := b.svc.requests(); len(sent) != 2 || sent[1].Zone.Name != "browser_demo" {
			t.Errorf("sent %+v, want the second with browser_demo", sent)
		}
		b.Press("s")
		b.Expect("● waiting")
		if n := len(b.svc.requests()); n != 2 {
			t.Errorf("slowing down sent at once (%d requests)", n)
		}
		b.After(5 * time.Second)
		if n := len(b.svc.requests()); n != 3 {
			t.Errorf("%d requests after the wait, want 3", n)
		}
	})
}

func TestWaitingToSlowDownCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = func(_ context.Context, r model.FetchRequest, _ func(service.FetchEvent)) (model.FetchResult, error) {
			return captchaResult(r), nil
		}
		b.Press("ctrl+j", "s", "esc")
		b.Expect("Cancelled after")
		b.After(10 * time.Second)
		if n := len(b.svc.requests()); n != 1 {
			t.Errorf("%d requests, want the first alone", n)
		}
	})
}

func TestHistoryReopensWithoutSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		r := model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/shop", Via: model.ViaNative, Retries: -1}
		b.svc.kept["f_2"] = captchaResult(r)
		b.svc.history = []model.Activity{{
			ID: 1, Ref: "f_2", At: time.Now(), Kind: model.ActivityFetch, Zone: "datacenter_demo",
			URL: r.URL, Via: model.ViaNative, Class: model.ClassCaptcha, Status: 200, Total: 41 * time.Millisecond,
		}}
		b.Press("ctrl+j") // brings history up to date
		b.Press("shift+tab", "enter")
		b.Expect("Response · from history", "✗ CAPTCHA", "Native")
		b.Press("o")
		b.Expect("The form holds this request again", "GET http://lab.test/shop HTTP/1.1")
		if n := len(b.svc.requests()); n != 1 {
			t.Errorf("re-opening sent a request (%d in all)", n)
		}
		b.Press("U")
		b.Expect(`{"zone":"unlocker_demo"`)
	})
}

func TestEveryChangeRedrawsWhatWillBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.Press("down", "enter")
		b.Type("?a=1")
		b.Expect(`://lab.test/ok?a=1","format":"raw"}`)
		b.Press("enter", "down", "space")
		b.Expect("GET http://lab.test/ok?a=1 HTTP/1.1", "Proxy-Authorization: Basic")
		b.ExpectNot("Bearer")
	})
}

func TestARequestIsSavedAndOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.Press("ctrl+s")
		b.Expect("Save the request")
		b.Type("../x")
		b.Press("ctrl+s")
		b.Expect("it must start with")
		b.Press("enter")
		for range 4 {
			b.PressFast("backspace")
		}
		b.Type("shop")
		b.Press("ctrl+s")
		b.Expect("Saved as shop.")
		if _, ok := b.store.kept["shop"]; !ok {
			t.Fatalf("kept: %v", b.store.kept)
		}
		r := b.store.kept["shop"]
		r.URL = "http://lab.test/json"
		b.store.kept["shop"] = r
		b.Press("ctrl+o")
		b.Expect("Saved requests", "shop")
		b.Press("enter")
		b.Expect(`://lab.test/json","format"`, "Nothing was sent")
		b.Press("ctrl+s")
		b.Type("shop")
		b.Press("ctrl+s")
		b.Expect("Replace shop?")
	})
}

func TestBothSizesShowEveryPane(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}, {200, 60}} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, size[0], size[1])
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

func TestARealAccountOpensWithItsOwnZoneAndItsLastURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		s := demoSession()
		s.Local, s.ProfileName = false, "acme"
		b.Send(kit.SessionChanged{Session: s})
		b.Expect("datacenter_demo", "type the target's address")
		b.ExpectNot("lab.test", "embedded emulator")
		b.Press("ctrl+j")
		if n := len(b.svc.requests()); n != 0 {
			t.Fatalf("a request without an address was sent")
		}
		b.svc.mu.Lock()
		b.svc.history = []model.Activity{
			{ID: 2, Ref: "f_2", Kind: model.ActivityFetch, Profile: "other", Zone: "serp_demo", URL: "http://other.test/", Via: model.ViaAPI},
			{ID: 1, Ref: "f_1", Kind: model.ActivityFetch, Profile: "acme", Zone: "unlocker_demo", URL: "http://mine.test/a", Via: model.ViaAPI},
		}
		b.svc.mu.Unlock()
		b.reload()
		b.Expect("http://mine.test/a", `{"zone":"unlocker_demo"`)
		b.Press("enter")
		b.Type("bc")
		b.Press("enter")
		b.reload()
		b.Expect("http://mine.test/abc")
	})
}

func TestRowsAndBodiesMoveByKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 80, 24)
		r := model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/long", Via: model.ViaAPI}
		long := okResult(r)
		text := strings.Repeat("line\n", 500) + "the end\n"
		long.Body = model.BodyRef{Bytes: []byte(text), Size: int64(len(text))}
		b.svc.kept["f_long"] = long
		for i, ref := range []string{"f_new", "f_long"} {
			b.svc.history = append(b.svc.history, model.Activity{ID: int64(9 - i), Ref: ref, At: time.Now(), Kind: model.ActivityFetch, Zone: ref, URL: r.URL, Via: model.ViaAPI, Class: model.ClassOK})
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

func TestTheCopyMenuSaysWhatWentWhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.Press("y")
		b.Expect("there is no result yet", "request as curl", "secrets from the environment")
		b.Press("c")
		b.ExpectToast("curl command")
		b.Press("ctrl+j", "y", "b")
		b.ExpectToast("90 B")
	})
}

func TestAClickFocusesThePaneUnderIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.Expect("▌Request")
		b.Send(tea.MouseClickMsg{X: 80, Y: 35, Button: tea.MouseLeft})
		b.Expect("▌History")
		b.Send(tea.MouseClickMsg{X: 80, Y: 10, Button: tea.MouseLeft})
		b.Expect("▌Response")
		b.Send(tea.MouseClickMsg{X: 10, Y: 30, Button: tea.MouseLeft})
		b.Expect("▌Will be sent")
	})
}

func TestEvidenceInTheBodyIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 80, 24)
		b.svc.answer = func(_ context.Context, r model.FetchRequest, _ func(service.FetchEvent)) (model.FetchResult, error) {
			res := captchaResult(r)
			body := strings.Repeat("filler\n", 300) + "<div class=\"g-recaptcha\">\n" + strings.Repeat("filler\n", 300)
			res.Body = model.BodyRef{Bytes: []byte(body), Size: int64(len(body))}
			res.Diagnosis.Evidence[3].Offset = int64(strings.Index(body, "g-recaptcha"))
			return res, nil
		}
		b.Press("ctrl+j")
		b.ExpectNot("<div class=")
		b.Press("v")
		b.After(100 * time.Millisecond)
		b.Expect(`<div class="g-recaptcha">`)
	})
}

func TestAnEndingWithoutAResultCannotBeOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.history = []model.Activity{{ID: 1, At: time.Now(), Kind: model.ActivityFetch, Zone: "unlocker_demo", URL: "http://lab.test/ok", Via: model.ViaAPI}}
		b.reload()
		b.Press("shift+tab", "enter")
		b.Expect("it ended without a result")
	})
}

func TestResizingInFlightKeepsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.svc.answer = func(ctx context.Context, r model.FetchRequest, _ func(service.FetchEvent)) (model.FetchResult, error) {
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
		if n := len(b.svc.requests()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}
