package proxy_test

import (
	"testing"
	"time"

	"zonedeck/ui/uitest"
)

func TestLettersOfTheLoginAreTextAndTestNothing(t *testing.T) {
	f := &fakeProber{result: okResult()}
	flow(t, f, 120, 40, func(s *uitest.Screen) {
		s.Press("down")
		s.Type("tr")
		s.After(10 * time.Second)
		s.Expect("Country    tr", "ctrl+t test · esc end typing · typing goes into Country")
		s.Press("up", "t")
		s.Expect("t test: letters send nothing while a form has the focus; press ctrl+t")
		s.Press("j", "j", "j", "space", "j", "j", "j") // More, and then to the zip
		s.Expect("›Zip", " ctrl+t test · enter edit · alt+e exits")
		s.Press("enter")
		s.Type("10001")
		s.Expect("Zip        10001", "[1 Proxy]")
		s.After(10 * time.Second)
		if f.tests() != 0 {
			t.Errorf("%d tests, want none", f.tests())
		}
		s.Press("esc", "2")
		s.Expect("[2 Elsewhere]")
		s.Press("1", "ctrl+t")
		s.After(10 * time.Second)
		if f.tests() != 1 {
			t.Errorf("%d tests after ctrl+t, want 1", f.tests())
		}
	})
}

// A login that is pasted on a text goes where a login goes: its password is on no screen.
func TestALoginPastedOnATextIsReadAsALogin(t *testing.T) {
	flow(t, &fakeProber{}, 120, 40, func(s *uitest.Screen) {
		s.Press("down")
		s.Paste("brd-customer-hl_demo01-zone-dc_demo-country-us:s3cr3tpw")
		s.Expect("Zone       dc_demo", "Country    us")
		s.ExpectNot("s3cr3tpw")
		s.Press("shift+tab", "shift+tab", "shift+tab", "down")
		s.Expect("›Session")
		s.Paste("a1")
		s.Expect("›Session    a1")
	})
}

func TestASlashOnTheFormFiltersTheZones(t *testing.T) {
	flow(t, &fakeProber{}, 80, 24, func(s *uitest.Screen) {
		s.Press("/")
		s.Type("dc")
		s.Expect("›Zone       dc", "dc_demo")
		s.ExpectNot("nothing to search", "static_demo")
		s.Press("enter")
		s.Expect("Zone       dc_demo")
	})
}

// A form is never cut to fewer fields than there is room for: without the focus it is whole or a line.
func TestWithoutTheFocusTheFormIsWholeOrALine(t *testing.T) {
	for h, want := range map[int]string{16: "╶ Credential  residential_demo · country de", 24: "│ Test page"} {
		flow(t, &fakeProber{}, 60, h, func(s *uitest.Screen) {
			s.Press("down")
			s.Type("de")
			s.Press("tab")
			s.Expect(want)
		})
	}
}
