package proxy_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/model/modeltest"
	"zonedeck/service/dialect"
	"zonedeck/ui/uitest"
)

// failed is a test that ended with these next steps.
func failed(class model.Class, actions ...model.Action) model.ProbeResult {
	r := model.ProbeResult{Proxy: "127.0.0.1:33335", Target: "https://lab.test/captcha", ConnectStatus: 200, TargetStatus: 200, Timing: model.Timing{ProxyConnect: -1, Total: 9 * time.Millisecond}}
	r.Diagnosis = model.Diagnosis{Class: class, Summary: "It went wrong."}
	for _, a := range actions {
		r.Diagnosis.Steps = append(r.Diagnosis.Steps, model.Step{Action: a, Text: "advice " + string(a), Documented: a == model.ActionSlowDown})
	}
	return r
}

func TestNextStepsAreKeys(t *testing.T) {
	f := &fakeProber{result: failed(model.ClassCaptcha, model.ActionTryUnlocker, model.ActionTryBrowser, model.ActionSlowDown, model.ActionRetry, model.ActionCheckNetwork, model.ActionCheckZone)}
	p := demoProfile()
	p.Zones = append(p.Zones, model.Zone{Name: "unlocker1", Product: model.ProductUnlocker, Password: "demo:zone/unlocker1"})
	synctest.Test(t, func(t *testing.T) {
		s := start(t, f, p, 200, 60)
		s.Press("ctrl+t")
		s.After(6 * time.Second)
		s.Expect("do next   [u] advice try_unlocker", "·   advice try_browser · the profile has no remote browser zone", "[H] advice slow_down (contract 7)", "[ctrl+j] advice retry", "[P] advice check_network", "[f] advice check_zone")

		s.Press("ctrl+j")
		s.After(6 * time.Second)
		if f.tests() != 2 {
			t.Fatalf("%d tests after ctrl+j, want 2", f.tests())
		}
		s.Press("H")
		s.Expect("letters send nothing while a form")
		s.Press("tab", "tab", "H")
		s.Expect("waiting 5.0 s before the next call")
		s.After(4 * time.Second)
		if f.tests() != 2 {
			t.Fatal("H did not wait")
		}
		s.After(8 * time.Second)
		if f.tests() != 3 {
			t.Fatalf("%d tests after H, want 3", f.tests())
		}
		s.Press("H")
		s.Press("esc")
		s.Expect("! stopped")
		if f.tests() != 3 {
			t.Fatal("a pause that was stopped went on to test")
		}

		s.Press("ctrl+t")
		s.After(6 * time.Second)
		s.Press("b")
		s.Expect("the profile has no remote browser zone")
		s.Press("u")
		s.Expect("the form now has zone unlocker1", "zone-unlocker1")
		if f.tests() != 4 {
			t.Errorf("%d tests, want 4: a step that fills the form sends nothing", f.tests())
		}
		s.Press("f")
		s.Expect("›Zone")
	})
}

// Every next step of every class and cause has a key that acts, and the screen says which.
// A test looks for no required fields, so it never ends in parsing drift.
func TestEveryNextStepHasAKeyThatActs(t *testing.T) {
	for name, d := range modeltest.Steps(t, "../../testdata/diagnosis") {
		if d.Class == model.ClassParsingDrift {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := failed(d.Class)
			r.Diagnosis = d
			f, p := &fakeProber{result: r}, demoProfile()
			p.Zones = append(p.Zones, model.Zone{Name: "unlocker1", Product: model.ProductUnlocker}, model.Zone{Name: "browser1", Product: model.ProductBrowser})
			synctest.Test(t, func(t *testing.T) {
				s := start(t, f, p, 120, 40)
				s.Press("ctrl+t")
				s.After(6 * time.Second)
				_, offered, ok := strings.Cut(s.Screen(), "do next   [")
				if !ok {
					t.Fatalf("not offered:\n%s", s.Screen())
				}
				s.Press("tab", "tab")
				before := s.Below()
				key, _, _ := strings.Cut(offered, "]")
				s.Press(key)
				if why := s.Refusal(key, before); why != "" || s.Below() == before {
					t.Errorf("%s does nothing: %s", key, why)
				}
			})
		})
	}
}

func TestATestFromAFieldGoesOnWithTheTyping(t *testing.T) {
	f := &fakeProber{result: failed(model.ClassTimeout, model.ActionRetry)}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Press("down", "enter")
		s.Type("de")
		s.Press("f5")
		s.After(6 * time.Second)
		s.Type("r")
		s.After(6 * time.Second)
		if f.tests() != 1 {
			t.Errorf("%d tests, want 1: r after f5 is a letter of the field", f.tests())
		}
		s.Expect("country-der ")
	})
}

func TestAnUnreadableLoginListsTheAcceptedForms(t *testing.T) {
	for pasted, want := range map[string]string{
		"curl -x http://u:p@h:33335 https://x.test": "it must begin with <prefix>-customer-",
		"not a login at all":                        "accepted are a URL, host:port:user:password",
		"example.com:33335":                         "accepted are a URL, host:port:user:password",
	} {
		flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
			s.Paste(pasted)
			s.Expect("cannot be parsed")
			s.Press("p")
			s.Type(pasted)
			s.Press("ctrl+s")
			s.Expect("Parse a login")
			var words []string
			for line := range strings.SplitSeq(s.Screen(), "\n") { // the dialog is the widest box
				words = append(words, slices.MaxFunc(strings.Split(line, "│"), func(a, b string) int { return len(a) - len(b) }))
			}
			flat := strings.Join(strings.Fields(strings.Join(words, " ")), " ")
			if !strings.Contains(flat, want) {
				t.Errorf("%q: no %q in\n%s", pasted, want, s.Screen())
			}
		})
	}
}

func TestWithTheContractAloneATestNeedsAPage(t *testing.T) {
	f := &fakeProber{result: okResult()}
	p := demoProfile()
	p.Local, p.Can = false, dialect.Abilities("documented")
	synctest.Test(t, func(t *testing.T) {
		s := start(t, f, p, 120, 40)
		s.Expect("not now: write the test page")
		s.Press("ctrl+t")
		s.Expect("write the test page: the contract shows none")
		typeInto(s, 4, "https://example.com/")
		s.Press("ctrl+j")
		if f.tests() != 1 || f.asked[0].Target != "https://example.com/" {
			t.Fatalf("asked %+v", f.asked)
		}
	})
}

func TestATargetErrorLeadsToThePage(t *testing.T) {
	r := failed(model.ClassOutside, model.ActionCheckZone)
	r.Diagnosis.Cause = model.CauseTargetError
	flow(t, &fakeProber{result: r}, 120, 40, func(s *uitest.Screen) {
		s.Press("ctrl+t")
		s.After(6 * time.Second)
		s.Press("f")
		s.Expect("›Test page")
	})
}

func TestTheLoginOfAPastedCurlCommandFillsTheForm(t *testing.T) {
	flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
		s.Paste("curl -x http://127.0.0.1:33335 -U 'brd-customer-hl_demo01-zone-residential_demo-country-fr:hunter2' https://x.test")
		s.Expect("the form holds", "residential_demo", "country-fr", "read as curl")
		s.ExpectNot("hunter2")
	})
}
