package sandbox_test

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
)

func TestAClickOpensAPageAndTakesAStep(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		onScreen(t, size[0], size[1], func(t *testing.T, b *bench) {
			b.answers(func(r model.FetchRequest) model.FetchResult {
				res := captchaResult(r)
				res.Diagnosis.Evidence = append(res.Diagnosis.Evidence, model.Evidence{Kind: "body", Text: "[t] send by Native"})
				return res
			})
			b.Press("ctrl+j")
			b.Expect("✗ CAPTCHA", "Headers")
			click := func(on, word string) {
				t.Helper()
				for y, l := range strings.Split(b.Screen.Screen(), "\n") {
					if at := strings.Index(l, word); at >= 0 && strings.Contains(l, on) {
						b.Send(tea.MouseClickMsg{X: text.Width(l[:at]) + 1, Y: y, Button: tea.MouseLeft})
						return
					}
				}
				t.Fatalf("%q is not on the screen:\n%s", word, b.Screen.Screen())
			}
			click("Timing", "Attempts")
			b.Expect("╶ Attempts ╴")
			click("Timing", "Headers")
			b.Expect("╶ Headers ╴")
			if strings.Contains(b.Screen.Screen(), "evidence  [t]") {
				click("evidence", "[t] send")
			}
			if n := len(b.svc.requests()); n != 1 {
				t.Fatalf("a click on what an answer says was a step: %d requests", n)
			}
			click("do next", "[b] try zone")
			b.Expect("browser_demo. ctrl+j sends")
		})
	}
}
