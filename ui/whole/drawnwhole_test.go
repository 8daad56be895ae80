package whole

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/ui/uitest"
)

// mainScreens are the screens that have a golden at every size: the main states of each tab. Every other one has
// a golden at 80x24, and what is drawn of it at other sizes is held by its structure alone.
var mainScreens = map[string]bool{
	"sandbox/first-run": true, "sandbox/ok": true, "sandbox/captcha": true, "sandbox/forbidden": true, "sandbox/zones-used": true, "sandbox/comparison": true, "sandbox/code": true,
	"jobs/empty": true, "jobs/ready": true, "jobs/may-have-started": true, "jobs/new": true, "jobs/drift": true, "jobs/inbox": true, "jobs/batch": true,
	"proxy/tested": true, "keys/list": true, "keys/rotate": true, "history/empty": true, "history/filter": true,
	"profiles/add": true, "root/help": true, "root/palette": true,
}

// everySize are the sizes of terminals at which every screen is drawn whole.
var everySize = []size{{60, 16}, {80, 24}, {120, 40}, {200, 60}}

// drawnWhole holds the open screen at every size by its structure.
func drawnWhole(t *testing.T, p *uitest.Whole) {
	t.Helper()
	widest := drawnAt(p, size{200, 60}, "")
	for _, s := range everySize {
		drawnAt(p, s, widest)
	}
}

// drawnAt is the open screen on a terminal of another size, once it is there without a fault: what is seen while a frame
// is being written is half of it. widest is the same screen on the widest terminal, "" for itself.
func drawnAt(p *uitest.Whole, s size, widest string) string {
	p.Resize(s.w, s.h)
	return p.WaitUntil(func(screen string) string {
		rows := strings.Split(screen, "\n")
		if title := ansi.StringWidth(rows[0]); len(rows) < s.h || len(rows) > s.h+1 || title > s.w || title < s.w-2 {
			return fmt.Sprintf("wanted to be drawn at %dx%d", s.w, s.h)
		}
		if faults := uitest.StructureFaults(screen, cmp.Or(widest, screen), s.w, s.h); len(faults) > 0 {
			return fmt.Sprintf("at %dx%d: %s", s.w, s.h, strings.Join(faults, "; "))
		}
		return ""
	})
}

// panes are how many each tab has.
var panes = map[string]int{"1": 4, "2": 2, "3": 4, "4": 2, "5": 1}

func TestEveryPaneIsDrawnWholeWhenZoomed(t *testing.T) {
	for tab, n := range panes {
		t.Run(tab, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.run("request", "http://lab.test/shop", "--zone", "datacenter_demo")
			h.write("inputs.ndjson", `{"url":"http://lab.test/product/1"}`+"\n")
			h.run("jobs", "launch", "gd_products", "--input", filepath.Join(h.dir, "inputs.ndjson"), "--wait")
			p := h.open(120, 40)
			ready(p)
			p.PressFor(tab, "["+tab)
			for range n {
				p.Press("esc", "z") // a row of a form takes letters as text
				p.WaitUntil(func(screen string) string {
					if strings.Count(screen, "╭") != 1 || !strings.Contains(screen, "╭▌") {
						return "wanted one pane"
					}
					return ""
				})
				drawnWhole(t, p)
				p.Press("z", "tab")
			}
		})
	}
}
