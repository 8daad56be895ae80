package keys_test

import (
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/journal"
	"zonedeck/service/radius"
	"zonedeck/ui/keys"
)

// skewed is a service whose clock is ahead.
type skewed exchange.Skew

func (s skewed) Skew() (exchange.Skew, bool) { return exchange.Skew(s), true }

func TestTheClockOfARealServiceStandsBesideTheDatesOfAKey(t *testing.T) {
	for _, local := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			session := demoSession()
			session.Local = local
			s := newRig(t).open(t, session, 100, 40, func(d *keys.Deps) { d.Service = skewed{By: 90 * time.Second, Give: time.Second} })
			s.Expect("Expiry    ")
			if local {
				s.ExpectNot("Clock ") // the emulator runs by this machine's
			} else {
				s.Expect("Clock     the service's clock is 1m30s ahead")
			}
		})
	}
}

// When a key was first seen and last used is told by the history alone: without one it is not known.
func TestWhenAKeyWasSeenAndUsedHere(t *testing.T) {
	at := time.Date(1999, 12, 31, 8, 0, 0, 0, time.UTC)
	for want, use := range map[string]journal.KeyUse{
		"first seen 1999-12-31 08:00 · last used 1999-12-31 23:30": {First: at, Last: at.Add(15*time.Hour + 30*time.Minute)},
		"first seen 1999-12-31 08:00 · not used from here":         {First: at},
		"first seen and last used are not known":                   {},
	} {
		synctest.Test(t, func(t *testing.T) {
			session := demoSession()
			session.ProfileName, session.Local = "acme", false
			session.ProfileKeys = []model.Key{{Name: "given", Level: model.LevelUser}}
			s := newRig(t).open(t, session, 80, 40, func(d *keys.Deps) {
				if !use.First.IsZero() {
					d.Uses = fakeUses{used: map[radius.KeyID]journal.KeyUse{{Name: "given"}: use}}
				}
			})
			s.Expect("Seen      " + want)
		})
	}
}
