package sandbox_test

import (
	"testing"
	"time"

	"zonedeck/model"
)

// Where a text has the cursor, letters are text; from no row of the form does one send.
func TestLettersOfAFormAreTextAndSendNothing(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.answers(captchaResult)
		b.Press("alt+u", "ctrl+j")
		b.Expect("✗ CAPTCHA")
		b.Type("ttp?Hw")
		b.Expect("URL  http://lab.test/okttp?Hw")
		b.Press("alt+u", "ctrl+u")
		b.Type("http://lab.test/q?a=:@/2 x")
		b.Expect("URL  http://lab.test/q?a=:@/2 x", "[1 Sandbox]")
		b.ExpectNot("Commands", "Use profile")
		b.Press("ctrl+u")
		b.Type("http://lab.test/ok") // which could be sent
		b.Press("esc", "up")         // Zone, which is no text
		b.Type("ttpHw")
		b.After(10 * time.Second)
		b.wantSent(t, 1, "letters on the zone")
	})
}

func TestEscHasDigitsChangeTheTabAndAChordDoesSoAtOnce(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("alt+u", "2")
		b.Expect("URL  2█", "[1 Sandbox]")
		b.Press("esc", "2")
		b.Expect("[2 Elsewhere]")
		b.Press("1", "3") // it is still at rest
		b.Expect("[3 Elsewhere]")
		b.Press("1", "enter")
		b.Type("3")
		b.Expect("URL  23█", "[1 Sandbox]")
		b.Press("alt+2")
		b.Expect("[2 Elsewhere]")
	})
}

func TestJWalksThroughTheWholeForm(t *testing.T) {
	onScreen(t, 120, 60, func(_ *testing.T, b *bench) {
		b.Press("end") // nothing in a form
		for _, at := range []string{"›URL", "›Via", "›Render", "›Wait for", "›Country", "›Format", "›Key", "›More"} {
			b.Press("j")
			b.Expect(at, "URL  http://lab.test/ok ")
		}
		b.Press("space")
		for _, at := range []string{"›Method", "›Headers", "›Body", "›Required", "›Session", "›Timeout", "›Timeout"} {
			b.Press("j")
			b.Expect(at)
		}
		b.Press("k")
		b.Expect("›Session   none; a name", "enter edit")
		b.Press("enter")
		b.Type("jkp")
		b.Expect("›Session   jkp", "typing goes into Session")
	})
}

func TestTheFooterSaysTheRuleWhereverATextHasTheCursor(t *testing.T) {
	for _, w := range []int{60, 80} {
		onScreen(t, w, 24, func(_ *testing.T, b *bench) {
			b.Press("down")
			b.Expect("ctrl+j send · esc end typing")
			b.Press("esc")
			b.Expect("enter edit")
			b.ExpectNot("end typing")
		})
	}
}

// What the service says is wrong is where the step leads.
func TestAZoneThatTheServiceDoesNotKnowLeadsToTheZone(t *testing.T) {
	for said, field := range map[string]string{`zone "nope" not found`: "›Zone", "url: only http and https": "›URL"} {
		onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
			b.answers(func(r model.FetchRequest) model.FetchResult {
				res := okResult(r)
				res.Diagnosis = model.Diagnose(model.Outcome{Via: model.ViaAPI, ServiceStatus: 400, ServiceText: said})
				return res
			})
			b.Press("down", "down", "ctrl+j", "f")
			b.Expect(field)
		})
	}
}

func TestASlashFiltersTheZonesWhereThereIsNoBody(t *testing.T) {
	onScreen(t, 80, 24, func(_ *testing.T, b *bench) {
		b.answers(okResult)
		b.Press("/")
		b.Type("serp")
		b.Expect("›Zone      serp")
		b.Press("esc", "ctrl+j")
		b.Expect("✓ ok")
		b.Press("esc", "/")
		b.ExpectNot("type to filter")
	})
}
