package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/clients"
	"zonedeck/service/dialect"
	"zonedeck/service/fetch"
	"zonedeck/service/history"
	"zonedeck/ui"
	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/proxy"
	"zonedeck/ui/uitest"
)

const password = "zone-pass-7781"

// fakeProber plays the service: every call takes a second of fake time.
type fakeProber struct {
	mu       sync.Mutex
	asked    []fetch.ProbeRequest
	stopped  int
	result   model.ProbeResult
	err      error
	revealed int

	env     map[string]string // of the machine
	refusal error
	compare.History
}

// second waits for a second of fake time.
func second(ctx context.Context) error {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *fakeProber) Plan(_ context.Context, p model.Preset, base model.FetchRequest) (model.Grid, error) {
	g := model.Grid{Kind: p.Kind, Profile: "local", Base: base, Repeat: p.Repeat, Cells: []model.Cell{{Vary: model.Vary{Zone: base.Zone, Session: p.Session}}}}
	if p.Kind == model.CompareLogins {
		g.Cells = nil
		for _, z := range demoProfile().Zones[:3] {
			g.Cells = append(g.Cells, model.Cell{Vary: model.Vary{Zone: z}})
		}
	}
	return g, nil
}

// Compare answers each cell after a second.
func (f *fakeProber) Compare(ctx context.Context, g model.Grid, on func(int, model.Cell)) (model.Grid, error) {
	if err := second(ctx); err != nil {
		return g, err
	}
	for i := range g.Cells {
		for range g.Repeat {
			g.Cells[i].Runs = append(g.Cells[i].Runs, model.Run{Class: model.ClassOK, Login: &model.LoginCall{Exit: "127.0.3.1"}})
		}
		on(i, g.Cells[i])
	}
	return g, nil
}

func (*fakeProber) StopCell(string, int) {}

func (f *fakeProber) LoadBaseline(context.Context, string) (model.Baseline, error) {
	return model.Baseline{}, history.ErrNone
}

func (f *fakeProber) Refusal(_ model.Profile, _ model.Zone, k model.Key) error {
	if k.Level == model.LevelUser {
		return errors.New("USER may not")
	}
	return f.refusal
}

func (f *fakeProber) Probe(ctx context.Context, q fetch.ProbeRequest, on func(string)) (model.ProbeResult, error) {
	f.mu.Lock()
	f.asked = append(f.asked, q)
	f.mu.Unlock()
	for i := range q.Rounds {
		on(fmt.Sprintf("call %d of %d", i+1, q.Rounds))
		timer := time.NewTimer(time.Second)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			f.mu.Lock()
			f.stopped++
			f.mu.Unlock()
			return model.ProbeResult{}, ctx.Err()
		}
	}
	return f.result, f.err
}

// tests is how many tests were asked for.
func (f *fakeProber) tests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

func (f *fakeProber) ZonePassword(_ context.Context, z model.Zone) (keystore.Secret, error) {
	f.revealed++
	if z.Password != "demo:zone/residential_demo" {
		return keystore.Secret{}, errors.New("secret missing")
	}
	return keystore.NewSecret(password), nil
}

func okResult() model.ProbeResult {
	return model.ProbeResult{
		Proxy: "127.0.0.1:33335", Target: "https://lab.test/whoami", ConnectStatus: 200, TargetStatus: 200,
		Exits:  []string{"127.0.3.1", "127.0.3.2", "127.0.3.3", "127.0.3.4", "127.0.3.5"},
		Sticky: true, StickyRun: true, ConnectHeader: map[string][]string{"X-Brd-Ip": {"127.0.3.1\x1b[2J"}},
		Timing:    model.Timing{ProxyConnect: 38 * time.Millisecond, Total: 120 * time.Millisecond},
		Diagnosis: model.Diagnosis{Class: model.ClassOK},
	}
}

func demoProfile() model.Profile {
	return model.Profile{
		Name: "local", Local: true, ProxyHost: "127.0.0.1", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01",
		Dialect: "brightdata", Can: dialect.Abilities("brightdata"), CA: "/home/op/ca.pem", Verify: true,
		Zones: []model.Zone{
			{Name: "dc_demo", Product: model.ProductDatacenter, Password: "demo:zone/dc_demo"},
			{Name: "residential_demo", Product: model.ProductResidential, Password: "demo:zone/residential_demo"},
			{Name: "res-eu", Product: model.ProductResidential},
			{Name: "serp_demo", Product: model.ProductSERP, Password: "demo:zone/serp_demo"},
		},
	}
}

// used is the profile in use.
type used struct {
	*fakeProber
	profile model.Profile
}

func (u used) CurrentProfile() model.Profile { return u.profile }

func start(t *testing.T, f *fakeProber, p model.Profile, w, h int) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	view := proxy.New(proxy.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, Prober: f, History: f, Passwords: f,
		Machine: clients.Machine{Getenv: func(name string) string { return f.env[name] }, Now: time.Now, OS: "linux", Bundles: []string{}, Folders: []string{}},
		Profile: used{f, p},
	})
	return uitest.Start(t, ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs: []ui.Tab{{ID: kit.Proxy, View: view}, {ID: kit.Sandbox, View: &uitest.OtherTab{}}, {ID: kit.Jobs, View: &uitest.OtherTab{}}, {ID: kit.Keys, View: &uitest.OtherTab{}}},
		Code: func(c kit.ShowCode) kit.Overlay {
			return &widget.Page{Heading: "Code", Width: 100, Lines: func(int) []string { return []string{"code of " + c.Username + " to " + c.Request.URL} }}
		},
		Session: kit.Session{ProfileName: p.Name, Local: p.Local, Ready: p.ProxyHost != "", Zones: p.Zones},
	}), w, h)
}

func flow(t *testing.T, f *fakeProber, w, h int, body func(s *uitest.Screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { body(start(t, f, demoProfile(), w, h)) })
}

// typeInto edits the field that is by moves below the first one.
func typeInto(s *uitest.Screen, by int, text string) {
	for range by {
		s.Press("down")
	}
	s.Press("enter")
	s.Type(text)
	s.Press("esc")
}

func TestTheUsernameFollowsTheForm(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}, {60, 16}} {
		flow(t, &fakeProber{}, size[0], size[1], func(s *uitest.Screen) {
			s.Expect("brd-customer-hl_demo01-zone-residential_demo")
			typeInto(s, 1, "de")
			typeInto(s, 1, "a1")
			t.Log("\n" + s.Screen())
			screen := strings.ReplaceAll(s.Screen(), "-", "")
			if !strings.Contains(screen, "sessiona1") || !strings.Contains(screen, "countryde") {
				t.Errorf("the parameters are not in the username:\n%s", s.Screen())
			}
		})
	}
}

func TestTheProxyAndItsSettingsAreOnTheScreen(t *testing.T) {
	flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
		s.Expect("127.0.0.1:33335",
			"needed (residential, no identity check) · /home/op/ca.pem", "•••••••• · demo:zone/residential_demo")
		s.ExpectNot(password)
	})
}

func TestABadParameterIsRefusedAtTheField(t *testing.T) {
	f := &fakeProber{}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		typeInto(s, 2, "a b")
		s.Expect("✗", "spaces and invisible")
		s.Press("ctrl+t")
		if f.tests() != 0 {
			t.Fatal("it was tested")
		}
	})
}

func TestABadTestPageIsRefusedAtTheField(t *testing.T) {
	f := &fakeProber{}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		typeInto(s, 4, "example.com")
		s.Press("ctrl+t")
		s.Expect("write an absolute address")
		if f.tests() != 0 {
			t.Fatal("it was tested")
		}
		s.Press("enter", "ctrl+u")
		s.Type("https://example.com/")
		s.Press("f5")
		s.After(6 * time.Second)
		if f.tests() != 1 || f.asked[0].Target != "https://example.com/" {
			t.Fatalf("asked %+v", f.asked)
		}
	})
}

func TestATestShowsItsRoundsAndItsVerdict(t *testing.T) {
	f := &fakeProber{result: okResult()}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Press("ctrl+t")
		s.After(2500 * time.Millisecond)
		s.Expect("call 3 of 5", "esc stops it", "1 running")
		s.After(5 * time.Second)
		s.Expect("✓ ok · CONNECT 200", "38 ms", "5 addresses in 5 calls without the session:", "✓ sticky: both calls in the session had")
		t.Log("\n" + s.Screen())
		s.Press("tab", "tab", "z")
		s.Expect("X-Brd-Ip: 127.0.3.1␛[2J")
		if q := f.asked[0]; q.Zone.Name != "residential_demo" || q.Rounds != 5 {
			t.Errorf("asked %+v", q)
		}
		s.Press("z", "shift+tab", "shift+tab")
		typeInto(s, 1, "fr")
		s.Expect("! tested with another login")
	})
}

func TestAFailedTestShowsEvidenceAndNextSteps(t *testing.T) {
	f := &fakeProber{result: model.ProbeResult{
		Proxy: "127.0.0.1:33335", Target: "https://lab.test/whoami", ConnectStatus: 407, Timing: model.Timing{ProxyConnect: -1, Total: 9 * time.Millisecond},
		Diagnosis: model.Diagnosis{
			Class: model.ClassOutside, Cause: model.CauseLoginRejected, Summary: "The proxy refused the login.",
			Evidence: []model.Evidence{{Kind: "service_status", Text: "CONNECT answered 407 (wrong_password)"}},
			Steps:    []model.Step{{Action: model.ActionCheckLogin, Text: "check the zone's password"}},
		},
	}}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Press("ctrl+t")
		s.After(6 * time.Second)
		s.Expect("✗ login rejected · CONNECT 407", "The proxy refused the login.", "CONNECT answered 407", "(wrong_password)", "do next   [L] check the zone's password")
	})
}

func TestATestCanBeStopped(t *testing.T) {
	f := &fakeProber{result: okResult()}
	flow(t, f, 80, 24, func(s *uitest.Screen) {
		s.Press("ctrl+t")
		s.After(time.Second)
		t.Log("\n" + s.Screen())
		s.Press("ctrl+t")
		s.Expect("a test is running")
		s.Press("esc")
		s.Expect("! stopped", "0 running")
		if f.stopped != 1 {
			t.Errorf("%d calls stopped, want 1", f.stopped)
		}
	})
}

func TestThePasswordIsShownForFiveSeconds(t *testing.T) {
	f := &fakeProber{}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Press("v")
		s.Expect(password)
		s.After(4 * time.Second)
		s.Expect(password)
		s.After(2 * time.Second)
		s.ExpectNot(password)
		s.Press("v")
		s.Expect(password)
		for _, zone := range []string{"dc_demo", "residential_demo"} { // there and back, within the five seconds
			s.Press("enter")
			s.Type(zone)
			s.Press("enter", "up")
			s.Expect("zone-" + zone)
			s.ExpectNot(password)
		}
	})
}

func TestACopyWithThePasswordAsksFirst(t *testing.T) {
	f := &fakeProber{}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Press("y")
		s.Expect("Copy the login", "username  no secret in it", "password !")
		t.Log("\n" + s.Screen())
		s.Press("n")
		s.Expect("sent username")
		if f.revealed != 0 {
			t.Fatal("a copy of the username fetched the password")
		}
		s.Press("y", "P")
		s.Expect("goes to the clipboard in", "clear. Other programs")
		s.Press("n")
		if f.revealed != 0 {
			t.Fatal("the password was fetched after no")
		}
		s.Press("y", "P", "y")
		if f.revealed != 1 {
			t.Fatal("the password was not fetched after yes")
		}
		s.Expect("sent password of residential_demo", "it holds a secret")
		s.ExpectNot(password)
	})
}

func TestTheLoginIsShownAsCode(t *testing.T) {
	flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
		s.Expect("Use it in curl", `"$ZONEDECK_ZONE_PASSWORD"`, "--cacert '/home/op/ca.pem'")
		s.Press("x")
		s.Expect("code of brd-customer-hl_demo01-zone-residential_demo to https://lab.test/whoami")
	})
}

func TestAPastedLoginIsParsed(t *testing.T) {
	flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
		s.Paste("http://brd-customer-hl_demo01-zone-dc_demo-country-us-session-x9:s3cr3tpw@old.example.com:22225")
		s.Expect("brd-customer-hl_demo01-zone-dc_demo-country-us-session-x9", "its password was dropped", "old.example.com is not this profile's", "port 22225")
		s.ExpectNot("s3cr3tpw")
		t.Log("\n" + s.Screen())
		s.Press("esc")
		s.Expect("Use it in")
		s.Paste("what is this")
		s.Expect("cannot be parsed")
	})
}

func TestSeveralReadingsAreAllShown(t *testing.T) {
	flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
		s.Press("p")
		s.Expect("Parse a login")
		s.Paste("brd-customer-hl_demo01-zone-res-eu-country-de")
		s.ExpectNot("zone-res-eu")
		s.Press("ctrl+s")
		s.Expect("readings, likeliest first", `zone "res-eu"`)
		t.Log("\n" + s.Screen())
		s.Expect("zone-res-eu-country-de", "the form holds reading 1 of 2")
		s.Press("down", "enter")
		s.Expect("the form holds reading 2 of 2, zone res-eu-country-de")
	})
}

func TestAProductWithoutNativeAccessSaysSo(t *testing.T) {
	f := &fakeProber{}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Send(kit.Goto{View: kit.Proxy, Msg: kit.OpenLogin{Zone: "serp_demo", Country: "de"}})
		s.Expect("zone-serp_demo-country-de")
		s.Press("ctrl+t")
		s.Expect("search results (SERP) has no native access")
		if f.tests() != 0 {
			t.Fatal("it was tested")
		}
	})
}

func TestTheContractAloneWarnsOfParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := demoProfile()
		p.Can, p.Local, p.Name = dialect.Abilities("documented"), false, "acme"
		s := start(t, &fakeProber{}, p, 120, 40)
		s.ExpectNot("the contract shows no parameter")
		typeInto(s, 1, "de")
		s.Expect("the contract shows no parameter after the zone")
	})
}

func TestBeforeTheEmulatorAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, &fakeProber{}, model.Profile{Name: "local", Local: true, Can: dialect.Abilities(""), Verify: true}, 80, 24)
		s.Expect("starting the local emulator")
		s.Press("ctrl+t")
		s.Expect("still starting")
	})
}

// A pane grows when it has the focus, by a key or a click; the form keeps all its fields, also beside a test.
func TestPanesGrowWithTheFocusAndTheFormKeepsItsFields(t *testing.T) {
	flow(t, &fakeProber{result: okResult()}, 80, 24, func(s *uitest.Screen) {
		fields := []string{"Zone  ", "Country", "Session", "More ", "Test page"}
		s.Press("ctrl+t")
		s.After(10 * time.Second)
		s.Expect(append(fields, "✓ ok", "▌Credential")...)
		low := lineWith(s, "╭ Test")
		s.Press("tab")
		s.Expect(append(fields, "▌Username", "password")...)
		s.Press("tab")
		s.Expect(append(fields, "▌Test")...)
		if at := lineWith(s, "▌Test"); at > low {
			t.Errorf("the test begins at line %d with the focus, at %d without", at, low)
		}
		s.Press("shift+tab")
		tall := lineWith(s, "╭ Test")
		s.Send(tea.MouseClickMsg{X: 10, Y: tall + 1, Button: tea.MouseLeft})
		s.Expect("▌Test")
		if at := lineWith(s, "▌Test"); at >= tall {
			t.Errorf("a click leaves the test at line %d", at)
		}
	})
}

// lineWith is the line of the screen that holds words.
func lineWith(s *uitest.Screen, words string) int {
	before, _, found := strings.Cut(s.Screen(), words)
	if !found {
		return -1
	}
	return strings.Count(before, "\n")
}
