package keys_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/service/rehearsal"
)

// TestAnEndedRotationIsOpenedAgain looks for uses of the old value after the end.
func TestAnEndedRotationIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		s.Press("o")
		s.Expect("no rotation of prod has ended")
		s.Press("R", "enter", "enter", "enter", "enter", "y")
		s.Expect("the rotation of prod is done")
		s.Press("esc")
		s.Expect("the last rotation ended 2000-01-01 00:00 UTC")
		s.After(time.Minute)
		s.Press("o")
		s.Expect("Rotation of prod by new key · done", "✓ no use of the old value was seen since it ended", "enter look for uses")
		r.service.mu.Lock()
		r.service.refuse(rehearsal.Request{Point: "api", Status: http.StatusUnauthorized, Time: time.Now(), Method: "POST", URL: "/request", Remote: "192.0.2.7"})
		r.service.values["keyring:acme/prod"] = "old-value-of-prod-1111"
		r.service.mu.Unlock()
		s.Press("enter")
		s.Expect("! refused since it ended: one call, at 00:01:0", "from 192.0.2.7", "! profile acme gives the old value again (••••1111)")
		s.Looks("rotation-late")
		r.service.byHand = true
		s.Press("enter")
		s.Expect("? not looked at: calls of others: the service shows no journal of them")
	})
}
