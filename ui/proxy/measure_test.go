package proxy_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

func deepResult() model.ProbeResult {
	r := okResult()
	r.ConnectHead = []string{"HTTP/1.1 200 Tunnel\x1b[2J open", "x-brd-ip: 127.0.3.1"}
	r.Spend = model.Spend{Dollars: 0.0075, Priced: 5}
	r.Timing = model.Timing{Connect: 2 * time.Millisecond, ProxyConnect: 38 * time.Millisecond, TLS: 12 * time.Millisecond, FirstByte: 20 * time.Millisecond, Total: 120 * time.Millisecond}
	r.Chain = model.Chain{Trust: model.TrustFile, Certificates: []model.Certificate{{Subject: "CN=lab.test", Issuer: "CN=Lab root,O=Lab"}}}
	return r
}

func TestATestTicksOnlyWhatWasMeasured(t *testing.T) {
	f := &fakeProber{result: deepResult()}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Press("ctrl+t")
		s.After(7 * time.Second)
		s.Expect("total 120 ms · cost $0.0075", "✓ connect", "2 ms TCP to 127.0.0.1:33335", "✓ CONNECT   38 ms HTTP/1.1 200 Tunnel", "␛[2J open", "✓ TLS       12 ms chain of 1, signed by Lab", "✓ request   20 ms 200 from the target")
	})
	r := deepResult()
	r.ConnectStatus, r.TargetStatus, r.Code, r.Reason, r.Chain = 407, 0, "client_10000", "username or password is wrong", model.Chain{}
	r.ConnectHead = []string{"HTTP/1.1 407 Auth failed"}
	r.Timing.TLS, r.Timing.FirstByte = -1, -1
	r.Diagnosis = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseLoginRejected, Summary: "The proxy refused the login."}
	f = &fakeProber{result: r}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Press("ctrl+t")
		s.After(7 * time.Second)
		s.Expect("✗ CONNECT   38 ms HTTP/1.1 407 Auth failed", "· TLS             not reached", "· request         not reached", "client_10000: username or password", "(dialect)")
		s.Press("c")
		s.Expect("the last test saw no certificate")
	})
}

func TestARealAccountIsToldThePrice(t *testing.T) {
	p := demoProfile()
	p.Name, p.Local = "acme", false
	p.Zones[1].Rate = model.Rate{Per1000: 1.5}
	f := &fakeProber{}
	synctest.Test(t, func(t *testing.T) {
		s := start(t, f, p, 120, 40)
		for _, key := range []string{"ctrl+t"} {
			f.result = failed(model.ClassTimeout, model.ActionRetry)
			made := f.tests()
			s.Press(key)
			s.Expect("Test the login?", "5 calls", "About $0.0075")
			if n := f.tests(); n != made {
				t.Errorf("%s tested without a question", key)
			}
			s.After(time.Second)
			s.Press("y")
			s.After(6 * time.Second)
			if n := f.tests(); n != made+1 {
				t.Errorf("%s, y: %d tests, want %d", key, n, made+1)
			}
		}
		s.Press("ctrl+j")
		s.After(6 * time.Second)
		if n := f.tests(); n != 2 {
			t.Errorf("ctrl+j: %d tests in all, want 2", n)
		}
	})
}

// The page itself is tested in ui/compare.
func TestLoginsAreComparedOnThePage(t *testing.T) {
	flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
		s.Press("M")
		s.Expect("3 zones with native access", "not tested", "has no baseline yet")
		s.Press("ctrl+t")
		s.After(500 * time.Millisecond)
		s.Expect("● calling", "1 running", "testing")
		s.After(2 * time.Second)
		s.Expect("3 of 3 zones ok")
		s.Press("home", "enter")
		s.Expect("Credential", "-zone-dc_demo")
		typeInto(s, 2, "a1")
		s.Press("alt+e")
		s.Expect("Count the exits", "Zone dc_demo: 20 calls all in session a1")
		s.Press("ctrl+s")
		s.After(2 * time.Second)
		s.Expect("Exits of dc_demo · 20 of 20 calls · session a1")
		s.Press("esc")
		s.Expect("Credential", "Exits of dc_demo · 20 of 20 calls", "127.0.3.1 ×20")
		s.Press("M")
		s.Expect("3 of 3 zones ok")
		s.Press("esc", "alt+e", "ctrl+s")
		s.Paste("brd-customer-hl_demo01-zone-dc_demo-country-us:s3cr3tpw")
		s.Expect("Credential", "esc stops it", "1 running")
		s.Press("M")
		s.Expect("3 of 3 zones ok", "1 running")
		s.Press("esc", "esc")
		s.After(time.Second)
		s.Expect("Credential", "! ended early: stopped")
		s.ExpectNot("1 running")
	})
}

func keysOf(names map[string]model.Level) (out []model.Key) {
	for _, name := range []string{"batch-user", "etl-main", "limit-lists"} {
		out = append(out, model.Key{Name: name, Level: names[name]})
	}
	return out
}

// The key is chosen here; Keys gets the zone with it, and shows the rotation.
func TestAPasswordIsRotatedInKeys(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, &fakeProber{}, demoProfile(), size[0], size[1])
			p := demoProfile()
			s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: p.Name, Local: true, Ready: true, Zones: p.Zones, Keys: keysOf(map[string]model.Level{
				"batch-user": model.LevelUser, "etl-main": model.LevelOps, "limit-lists": model.LevelLimit,
			})}})
			s.Press("R")
			s.Expect("New password of residential_demo", "limit-lists", "Keys shows what uses the password")
			s.Press("ctrl+s")
			s.Expect("kit.RotatePassword {Zone:residential_demo Key:limit-lists}")
		})
	}
	synctest.Test(t, func(t *testing.T) { // where no call changes it, no key is chosen
		p := demoProfile()
		p.Can = dialect.Abilities("documented")
		s := start(t, &fakeProber{}, p, 80, 24)
		s.Press("R")
		s.Expect("kit.RotatePassword {Zone:residential_demo Key:}")
	})
	flow(t, &fakeProber{refusal: errors.New("the console cannot write there")}, 120, 40, func(s *uitest.Screen) {
		s.Press("R")
		s.Expect("the console cannot write there")
	})
}

func TestALoginPastedOnAPageIsShown(t *testing.T) {
	flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
		s.Press("M")
		s.Expect("zones with native access")
		s.Paste("brd-customer-hl_demo01-zone-dc_demo-country-us:s3cr3tpw")
		s.Expect("-zone-dc_demo-country-us", "its password was dropped", "Credential")
		s.ExpectNot("zones with native access")
	})
}

func TestOuterProxiesAreNamedWithoutTheirLogins(t *testing.T) {
	f := &fakeProber{env: map[string]string{"HTTPS_PROXY": "http://u:topsecret1@10.0.0.1:3128"}}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Expect("HTTPS_PROXY=http://••••@10.0.0.1:3128", "not used by this console")
		s.ExpectNot("topsecret1")
	})
}

func TestTheSandboxGetsTheWholeLogin(t *testing.T) {
	flow(t, &fakeProber{}, 200, 40, func(s *uitest.Screen) {
		typeInto(s, 1, "de")
		typeInto(s, 1, "a1")
		s.Press("o")
		s.Expect("kit.OpenURL {Zone:residential_demo URL:https://lab.test/whoami Country:de Session:a1 Via:Native}")
	})
}

func TestBeforeTheFirstTestThePaneSaysWhatTheKeysDo(t *testing.T) {
	flow(t, &fakeProber{}, 200, 60, func(s *uitest.Screen) {
		s.Expect("ctrl+t logs in and makes 5 calls", "alt+e  Make many calls and count the exit addresses", "M      Test every zone's login, and compare with the baseline.")
	})
}
