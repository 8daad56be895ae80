//go:build unix

package rotate_test

import (
	"fmt"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// TestKilledWhileItIsTakenBack kills a process before and after each action of giving up a new
// password. Given up again it is taken back; gone on with it is taken back or comes to its end.
func TestKilledWhileItIsTakenBack(t *testing.T) {
	t.Parallel()
	demo := start(t)
	for _, way := range []string{giveUp, aPassword} {
		kills := 0
		for n := 0; ; n++ {
			p := newPlace(t, demo, fmt.Sprintf("back%d%s", n, way[:1])).withPassword(t)
			plan, fresh := p.created(t)
			if !p.killed(t, giveUp, n) {
				break
			}
			kills++
			told := p.goOn(way)
			plan = noerr.Try(p.records().Get(plan.ID)).Must(t)
			t.Run(fmt.Sprint(way, " after kill ", n), func(t *testing.T) {
				switch {
				case told == "" && way == aPassword && !plan.Undone:
					p.wantPasswordDone(t, plan)
				case told == "" || way == aPassword && strings.Contains(told, "was taken back"):
					p.wantTakenBack(t, plan, fresh)
				default:
					t.Error(told)
				}
			})
		}
		if kills < 10 {
			t.Errorf("%d kills: giving up has more actions", kills)
		}
		t.Logf("%d kills", kills)
	}
}
