package keys_test

import (
	"strings"
	"testing"
	"testing/synctest"
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
