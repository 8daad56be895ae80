package profiles_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
)

func TestTwoKeysSwitchProfiles(t *testing.T) {
	r := newRig(t, before)
	synctest.Test(t, func(t *testing.T) {
		s := r.start(t, 80, 24)
		s.Press("@")
		s.Expect("Use profile", "1", "old", "local  (it is in use)")
		s.Press("0")
		s.Expect("local: it is in use")
		s.ExpectNot("Use profile")
		s.Press("@", "enter") // the cursor stands on old
		if len(r.switched) != 1 || r.switched[0] != "old" {
			t.Errorf("switched to %v, want old", r.switched)
		}
		r.switched = nil
		s.Press("@", "1")
		if len(r.switched) != 1 || r.switched[0] != "old" {
			t.Errorf("switched to %v, want old", r.switched)
		}
	})
}

// A digit stays with its profile when others are added; the palette names it, too.
func TestTheDigitsOfProfilesStay(t *testing.T) {
	r := newRig(t, before)
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"aaa", "zzz"} {
			noerr.Must(t, config.AddProfile(t.Context(), r.config, model.Profile{Name: name, BaseURL: "https://api.example", Verify: true}))
		}
		s := r.start(t, 100, 30)
		s.Press("ctrl+p")
		s.Type("use profile zzz")
		s.Expect("@ and 3 do the same")
		s.Press("esc", "@", "1")
		if len(r.switched) != 1 || r.switched[0] != "old" {
			t.Errorf("switched to %v, want old", r.switched)
		}
	})
}

func TestManyProfilesAreFiltered(t *testing.T) {
	config := ""
	for i := range 12 {
		config += fmt.Sprintf("[profiles.team-%d]\nbase_url = \"https://api.example\"\n", i+1)
	}
	r := newRig(t, config)
	synctest.Test(t, func(t *testing.T) {
		s := r.start(t, 80, 30)
		s.Press("@")
		s.Expect("team-12")
		s.Type("m-12") // the digits are typed, once something else was
		s.ExpectNot("team-3")
		s.Press("enter")
		if len(r.switched) != 1 || r.switched[0] != "team-12" {
			t.Errorf("switched to %v, want team-12", r.switched)
		}
	})
}
