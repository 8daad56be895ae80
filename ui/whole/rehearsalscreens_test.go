package whole

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/emulator"
	"zonedeck/service/rehearsal"
	"zonedeck/ui/uitest"
)

// elapsed are the real times that the emulator measured, behind the bytes that passed,
// and the blanks after them.
var elapsed = regexp.MustCompile(`(B out · )\d+(?:\.\d)? (?:µs|ms|s) *`)

// maskElapsed hides them without moving what stands behind.
func maskElapsed(screen string) string {
	return elapsed.ReplaceAllStringFunc(screen, func(s string) string {
		lead := elapsed.FindStringSubmatch(s)[1]
		masked := lead + "***"
		return masked + strings.Repeat(" ", max(utf8.RuneCountInString(s)-utf8.RuneCountInString(masked), 0))
	})
}

// command runs an entry of the palette.
func command(p *uitest.Whole, text string, shows ...string) {
	p.PressFor("ctrl+p", "Commands")
	p.Type(text)
	p.PressFor("enter", shows...)
}

// onKeys goes to a tab that shows no port, whose end a frame over it could cut off.
func onKeys(p *uitest.Whole) {
	ready(p)
	p.PressFor("4", "old-admin")
}

// refuse sets the fault by which the target refuses.
func refuse(p *uitest.Whole) {
	command(p, "emulator: add a fault", "Add a fault")
	p.Press("enter")
	p.Type("refuses with 403")
	p.PressFor("enter", "403  ")
	p.PressFor("ctrl+s", "added fault-1")
}

// rehearsalScreens are what is there only with the emulator.
func rehearsalScreens() []screen {
	sent := func(p *uitest.Whole) {
		ready(p)
		p.PressFor("ctrl+j", "It works")
		refuse(p)
		p.PressFor("ctrl+j", "access restricted")
		p.PressFor("5 w", "What the emulator saw", "✗ 200›502")
	}
	return []screen{
		{name: "history/seen-nothing", steps: script(ready, see("5 w", "no request yet"))},
		{name: "history/seen", steps: func(p *uitest.Whole) {
			sent(p)
			p.WaitGone("added fault-1") // the toast
		}},
		{name: "history/seen-request", steps: script(sent, see("enter", "keys and passwords are masked"), gone("added fault-1"))},
		{name: "rehearse/fault-add", steps: func(p *uitest.Whole) {
			onKeys(p)
			command(p, "emulator: add a fault", "Add a fault")
			p.Press("enter")
			p.Type("trigger's answer is lost")
			p.PressFor("enter", "times=1")
		}},
		{name: "rehearse/faults-list", steps: func(p *uitest.Whole) {
			ready(p)
			refuse(p)
			p.PressFor("ctrl+j", "access restricted")
			p.WaitGone("added fault-1")
			onKeys(p)
			command(p, "emulator: faults", "Faults of the emulator", " of 1")
		}},
		{name: "rates/measured", steps: func(p *uitest.Whole) {
			ready(p)
			p.PressFor("ctrl+j", "It works")
			p.Press("2") // it shows neither a port nor the service's clock
			p.WaitFor("no jobs yet")
			command(p, "rates of the zones", "What the zones of local cost", "finance-review")
			p.PressFor("ctrl+s", "Nothing is written", "$1.5 per 1000")
		}},
		{name: "rates/balance", steps: func(p *uitest.Whole) {
			ready(p)
			p.PressFor("ctrl+j", "It works")
			p.Press("2") // it shows neither a port nor the service's clock
			p.WaitFor("no jobs yet")
			p.PressFor("A", "█", "finance-review", "invents")
		}},
		{name: "rehearse/time-forward", steps: func(p *uitest.Whole) {
			onKeys(p)
			command(p, "move time", "Forward by")
			p.Type("36h")
			p.PressFor("ctrl+s", "It never goes back")
		}},
		{name: "rehearse/time-moved", before: func(h *home) { h.moveTime(59 * 24 * time.Hour) }, steps: script(ready, see("4", "old-admin", "+59d"))},
	}
}

// moveTime moves the time of the home's emulator forward, as in another window before.
func (h *home) moveTime(by time.Duration) {
	h.t.Helper()
	s, err := emulator.Start(h.t.Context(), emulator.Options{
		StateDir: filepath.Join(h.dir, "data/zonedeck/emulator"), ProxyAddr: "127.0.0.1:0", Now: h.process().Now,
	})
	noerr.Must(h.t, err)
	place := rehearsal.Place{URL: s.Ready().Control, Token: keystore.NewSecret(s.Ready().ControlToken)}
	_, err = rehearsal.New(func(context.Context) (rehearsal.Place, error) { return place, nil }).Advance(h.t.Context(), by)
	// The next start goes on from there.
	if err = errors.Join(err, s.Shutdown(h.t.Context())); err != nil {
		h.t.Fatal(err)
	}
}
