package sandbox_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
)

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
