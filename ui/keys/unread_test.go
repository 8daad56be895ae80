package keys_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/kit"
)

// While the inventory is read for the first time, or cannot be, nothing is said of its keys.
func TestKeysThatAreNotReadAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := ownKey()
		r := newRig(t)
		session := demoSession()
		session.Unread = keystore.ErrKeysUnread
		s := r.start(t, session, 120, 40)
		s.Expect("[1 Keys ?]", "Keys (5) · reading keys…", "Next 90 days · reading keys…", "Lint (", "the keys are still being read")
		s.ExpectNot("due ─")
		s.Press("/")
		s.Type("prod")
		s.Expect("nothing matches so far: the keys are still being read")
		s.ExpectNot("esc shows all keys")
		s.Press("esc")
		s.Send(kit.Addressed{View: kit.Keys, Msg: kit.OpenKey{Name: late.Name}})
		s.ExpectNot("is not recorded")

		session.Unread = errors.New("keys.toml:3:1: it is cut short")
		s.Send(kit.SessionChanged{Session: session})
		s.Expect("[1 Keys ?]", "Keys (5) · the inventory could not be read", "keys.toml:3:1: it is cut short")
		s.Send(kit.Addressed{View: kit.Keys, Msg: kit.OpenKey{Name: "other"}})
		s.ExpectNot("is not recorded")

		noerr.Must(t, r.inventory.Add(t.Context(), late))
		s.Press("ctrl+r")
		if r.changed.Load() == 0 {
			t.Error("the rest of the console does not hear that it can be read")
		}
		session.Unread = nil
		s.Send(kit.SessionChanged{Session: session})
		s.Expect("Keys (6) · ", " due ─")
		s.ExpectNot("reading keys", "not read")
	})
}

// A key that another tab opens while the inventory is read is shown once it was.
func TestAKeyThatIsOpenedWhileTheyAreReadIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		session := demoSession()
		session.Unread = keystore.ErrKeysUnread
		s := r.start(t, session, 120, 40)
		s.Send(kit.Addressed{View: kit.Keys, Msg: kit.OpenKey{Name: "prod"}})
		s.Send(kit.SessionChanged{Session: session})
		noerr.Must(t, r.inventory.Add(t.Context(), ownKey()))
		session.Unread = nil
		s.Send(kit.SessionChanged{Session: session})
		s.Expect("›✗ overdue     prod ")
	})
}

// The form of a key says what the rules find beside the other keys.
func TestTheFormNamesTheKeysOfTheSameReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := ownKey()
		other.Name = "second"
		s := newRig(t, ownKey(), other).start(t, demoSession(), 80, 24)
		s.Press("j", "v", "e")
		s.Expect("! the same secret reference stands in ")
	})
}

// A digit in the calendar says how many clocks run out on a day; without one it is not explained.
func TestTheLegendOfTheCalendarHasTheDigitWhereThereIsOne(t *testing.T) {
	other := ownKey()
	other.Name = "other"
	for _, keys := range [][]model.Key{{ownKey()}, {ownKey(), other}} {
		synctest.Test(t, func(t *testing.T) {
			s := newRig(t, keys...).start(t, demoSession(), 120, 40)
			s.Expect("E expires · R rotation due")
			if strings.Contains(s.Screen(), " · a digit: so many") != (len(keys) == 2) {
				t.Errorf("with %d keys that expire on a day:\n%s", len(keys), s.Screen())
			}
		})
	}
}
