package keys_test

import (
	"testing"
	"testing/synctest"

	"zonedeck/keystore"
)

// TestAReferenceThatLostTheNewValueIsSetAgain has the old value written back before the test, and before
// the old key is deleted.
func TestAReferenceThatLostTheNewValueIsSetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		back := func() {
			if err := r.service.Store(t.Context(), "keyring:acme/prod", keystore.NewSecret("old-value-of-prod-1111")); err != nil {
				t.Fatal(err)
			}
		}
		s.Press("R", "enter", "enter")
		s.Expect("[✓] set keyring:acme/prod · measured")
		back()
		s.Press("enter")
		s.Expect("written and read back; it gave the old value (••••1111) at", "[✓] test profile acme · measured")
		back()
		s.Press("enter", "y")
		s.Expect("the rotation of prod is done", "accepted; it gave the old value (••••1111) at")
		if got, _ := r.service.Resolve(t.Context(), "keyring:acme/prod"); got.Last4() != "9f91" {
			t.Errorf("the reference gives ••••%s", got.Last4())
		}
	})
}
