package whole

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/ui/uitest"
)

// mainScreens are the screens that have a golden at every size: the main states of each tab. Every other one has
// a golden at 80x24, and what is drawn of it on a larger terminal is held by its structure alone.
var mainScreens = map[string]bool{
	"sandbox/first-run": true, "sandbox/ok": true, "sandbox/captcha": true, "sandbox/forbidden": true, "sandbox/zones-used": true, "sandbox/comparison": true, "sandbox/code": true,
	"jobs/empty": true, "jobs/ready": true, "jobs/may-have-started": true, "jobs/new": true, "jobs/drift": true, "jobs/inbox": true, "jobs/batch": true,
	"proxy/tested": true, "keys/list": true, "keys/rotate": true, "history/empty": true, "history/filter": true,
	"profiles/add": true, "root/help": true, "root/palette": true,
}

// drawnWhole waits until the open screen is drawn whole on a terminal of w×h cells.
func drawnWhole(p *uitest.Whole, w, h int) {
	p.Resize(200, 60)
	widest := p.WaitUntil(func(screen string) string {
		if rows := strings.Split(screen, "\n"); len(rows) < 60 || ansi.StringWidth(rows[0]) <= 120 {
			return "wanted to be drawn at 200x60"
		}
		return ""
	})
	p.Resize(w, h)
	p.WaitUntil(func(screen string) string { return strings.Join(uitest.StructureFaults(screen, widest, w, h), "\n") })
}
