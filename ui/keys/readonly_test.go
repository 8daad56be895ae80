package keys_test

import (
	"testing"
	"testing/synctest"
)

func TestAReadOnlyProfileChangesNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := demoSession()
		session.Profile.Name, session.Profile.ReadOnly = "prod", true
		s := newRig(t).start(t, session, 160, 30) // wide enough for a message on one line
		for key, refused := range map[string]string{
			"a": "add: profile prod is read-only: it does not change the key inventory",
			"e": "edit: profile prod is read-only: it does not change the key inventory",
			"X": "forget: profile prod is read-only: it does not change the key inventory",
			"R": "rotate: profile prod is read-only: it does not rotate keys",
			"!": "refresh: profile prod is read-only: it does not rotate keys",
		} {
			s.Press(key)
			s.Expect(refused, "use another profile", "allow it with")
			s.ExpectNot("Record a key", "Forget the key?", "Begin a refresh?")
		}
	})
}
