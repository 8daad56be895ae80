package keys_test

import (
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/service/exchange"
	"zonedeck/ui"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

func TestTheClockOfARealServiceStandsBesideTheDatesOfAKey(t *testing.T) {
	for _, local := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, session, theme := newRig(t), demoSession(), kit.NewTheme(true, false)
			session.Local = local
			view := keys.New(keys.Deps{
				Ctx: t.Context(), Now: time.Now, Theme: theme, Inventory: r.inventory, Rotations: r.rotations, Engine: r.service.engine(r), Resolve: r.service.Resolve, Rehearse: r.service.rehearse, Save: r.service.save,
				Skew: func() (exchange.Skew, bool) { return exchange.Skew{By: 90 * time.Second, Give: time.Second}, true },
			})
			s := uitest.Start(t, ui.New(ui.Deps{
				Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Keys, View: view}}, Session: session,
			}), 100, 40)
			s.Expect("Expiry    ")
			if local {
				s.ExpectNot("Clock ") // the emulator runs by this machine's
			} else {
				s.Expect("Clock     the service's clock is 1m30s ahead")
			}
		})
	}
}
