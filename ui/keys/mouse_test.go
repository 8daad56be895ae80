package keys_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestAClickPicksTheKeyAndThePaneUnderIt(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}, {60, 16}} {
		synctest.Test(t, func(t *testing.T) {
			s := newRig(t).start(t, demoSession(), size[0], size[1])
			s.Click("ci-fetch")
			if row := cursorRow(s); !strings.Contains(row, "ci-fetch") {
				t.Errorf("the cursor is on %q", row)
			}
			s.Click("Rotation  ")
			s.Expect("▌Details")
			s.Click("etl-main")
			s.Expect("▌Keys")
			if row := cursorRow(s); !strings.Contains(row, "etl-main") {
				t.Errorf("the cursor is on %q", row)
			}
		})
	}
}

func TestTheDetailsGrowWithTheFocus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 12 {
			noerr.Must(t, r.inventory.Add(t.Context(), model.Key{Name: fmt.Sprint("more-", i), Level: model.LevelUser}))
		}
		s := r.start(t, demoSession(), 80, 24)
		at := func(words string) int { return strings.Count(strings.SplitN(s.Screen(), words, 2)[0], "\n") }
		low := at("╭ Details")
		s.Press("tab")
		high := at("╭▌Details")
		s.Press("tab")
		s.Click("Rotation  ")
		if clicked := at("╭▌Details"); high >= low || clicked != high {
			t.Errorf("the details begin at line %d, at %d with the focus, at %d after a click", low, high, clicked)
		}
	})
}
