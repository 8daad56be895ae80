package account

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/scenario"
)

// A key that has expired is to be refreshed (service.md 5.4), so the new value has to work.
func TestARefreshedKeyIsUsableAlsoAfterItsExpiry(t *testing.T) {
	at := start
	s := folder(t)
	sc := &scenario.Scenario{Account: "hl_1", Keys: []scenario.Key{
		{Name: "expired", Level: level.User, ExpiresIn: -3 * 24 * time.Hour, RotatedAgo: 33 * 24 * time.Hour},
		{Name: "of unknown age", Level: level.User, ExpiresIn: -time.Hour, RotatedAgo: -1},
		{Name: "ahead", Level: level.User, ExpiresIn: time.Hour},
		{Name: "unlimited", Level: level.User, Unlimited: true},
	}}
	a, err := Open(sc, s, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	// Made with a date that had passed already: how long it should have lived is not said.
	if _, err := a.CreateKey("born late", level.User, "", start.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	for name, expires := range map[string]string{
		"expired":        "2027-04-13T12:00:00Z", // 30 days, as before
		"of unknown age": "2027-06-12T12:00:00Z", // 90 days
		"born late":      "2027-06-12T12:00:00Z",
		"ahead":          "2027-03-14T13:00:00Z",
		"unlimited":      "Unlimited",
	} {
		k, err := a.RefreshKey(name)
		if err != nil || k.Expires != expires || k.Rotated != "2027-03-14T12:00:00Z" {
			t.Errorf("%s: %+v, %v, want %s", name, k, err, expires)
		}
		if _, err := a.Authenticate(k.Value); err != nil {
			t.Errorf("%s: its new value: %v", name, err)
		}
		if name == "ahead" {
			at = at.Add(time.Hour)
			if _, err := a.Authenticate(k.Value); !errors.Is(err, ErrKeyExpired) {
				t.Errorf("its date did not stay: %v", err)
			}
			at = start
		}
	}
}

func TestTheDefaultKeyIsShownToOneOnly(t *testing.T) {
	a := open(t, folder(t), &scenario.Scenario{Account: "hl_1"})
	var mu sync.Mutex
	var shown []string
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, k := range a.HandOut() {
				if k.Value != "" {
					mu.Lock()
					shown = append(shown, k.Value)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if len(shown) != 1 {
		t.Errorf("it was shown %d times", len(shown))
	}
	before := a.Moment()
	if a.HandOut(); a.Moment() != before {
		t.Error("to look changed the account")
	}
}

func TestAPasswordThatIsRemovedIsGoneHoweverOftenItWasThere(t *testing.T) {
	a := open(t, folder(t), &scenario.Scenario{Account: "hl_1", Zones: []scenario.Zone{
		{Name: "given", Product: "isp", Password: "twice", MorePasswords: []string{"other", "twice"}},
	}})
	z, err := a.RemovePasswords("given", []string{"twice"})
	if err != nil || !slices.Equal(z.Passwords(), []string{"other"}) || z.Accepts("twice") {
		t.Errorf("%q, %v", z.Passwords(), err)
	}
}
