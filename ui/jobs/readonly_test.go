package jobs_test

import (
	"testing"
	"testing/synctest"

	"zonedeck/service/config"
	"zonedeck/ui/kit"
)

func TestAReadOnlyProfileOffersNoLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, &fakeLedger{}, "brightdata", 100, 30)
		s.Send(kit.SessionChanged{Session: kit.Session{
			ProfileName: "prod", Ready: true, Keys: testKeys(), Key: testKeys()[0], Profile: config.Profile{Name: "prod", ReadOnly: true},
		}})
		s.Press("n")
		s.Expect("profile prod is read-only: it does not launch jobs")
		s.ExpectNot("New job")
		s.Paste("https://a.test/1\nhttps://a.test/2\n")
		s.ExpectNot("New job")
	})
}
