package account

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
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
	a, err := Open(sc, s, func() time.Time { return at }, at)
	noerr.Must(t, err)
	// Made with a date that had passed already: how long it should have lived is not said.
	noerr.Must(t, noerr.From(a.CreateKey("born late", level.User, "", start.Add(-time.Hour))))
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
	if err != nil || !slices.Equal(z.Settings().Passwords, []string{"other"}) || z.Accepts("twice") {
		t.Errorf("%q, %v", z.Settings().Passwords, err)
	}
}

// A client that was not told goes on sending the value that it had.
func TestAValueStaysMaskedAfterItIsReplaced(t *testing.T) {
	at := start
	s := folder(t)
	sc := &scenario.Scenario{Account: "hl_1", Keys: []scenario.Key{
		{Name: "refreshed", Level: level.User, Value: "value-refreshed", ExpiresIn: time.Hour},
		{Name: "deleted", Level: level.User, Value: "value-deleted", Unlimited: true},
		{Name: "expired", Level: level.User, Value: "value-expired", ExpiresIn: time.Hour},
		{Name: "untouched", Level: level.User, Value: "value-untouched", Unlimited: true},
	}, Zones: []scenario.Zone{
		{Name: "zone", Product: "isp", Password: "password-replaced"},
		{Name: "gone", Product: "isp", Password: "password-deleted"},
	}}
	a, err := Open(sc, s, func() time.Time { return at }, at)
	noerr.Must(t, err)
	made, err := a.AddPasswords("zone", []string{"password-added"})
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(a.RefreshKey("refreshed")))
	replaced, err := a.NewPassword("zone")
	noerr.Must(t, errors.Join(err, a.DeleteKey("deleted"), noerr.From(a.DeleteZones([]string{"gone"}))))
	at = at.Add(2 * time.Hour)
	demo := []string{
		"password-deleted", "password-replaced", "value-deleted", "value-expired", "value-refreshed", "value-untouched",
	}
	want := append([]string{"password-added", replaced.Password}, demo...)
	slices.Sort(want)
	if got := a.Secrets(); !slices.Equal(got, want) || len(made.Settings().Passwords) != 2 {
		t.Errorf("masked: %q, want %q", got, want)
	}
	// The next start knows the scenario's, and what is valid.
	want = append([]string{replaced.Password}, demo...)
	slices.Sort(want)
	if got := open(t, s, sc).Secrets(); !slices.Equal(got, want) {
		t.Errorf("masked after a restart: %q, want %q", got, want)
	}
}

func TestTheDefaultKeyStaysMaskedAfterItIsHandedOut(t *testing.T) {
	a := open(t, folder(t), &scenario.Scenario{Account: "hl_1"})
	value := a.HandOut()[0].Value
	if got := a.Secrets(); !slices.Equal(got, []string{value}) {
		t.Errorf("masked: %q", got)
	}
}

func TestWhatIsRememberedForMaskingIsBounded(t *testing.T) {
	a := open(t, folder(t), &scenario.Scenario{Account: "hl_1"})
	for i := range maxRetired + 5 {
		v := a.view.Load().clone()
		v.keys[0].plain = "value-" + strconv.Itoa(i)
		v.retired = a.view.Load().retired
		a.publish(v)
	}
	got := a.Secrets()
	if len(got) != maxRetired+1 || slices.Contains(got, "value-3") || !slices.Contains(got, "value-4") || !slices.Contains(got, "value-"+strconv.Itoa(maxRetired+4)) {
		t.Errorf("%d values", len(got))
	}
}

func TestADeletedZoneLeavesNoSecretInTheFile(t *testing.T) {
	s := folder(t)
	a := open(t, s, &scenario.Scenario{Account: "hl_1", Prefix: "brd", Zones: []scenario.Zone{{Name: "given", Product: "isp", Password: "given-secret"}}})
	noerr.Must(t, noerr.From(a.CreateZone(NewZone{Name: "made", Plan: plan(t, `{"type":"unblocker"}`), Passwords: []string{"made-secret"}, AllowIPs: []string{"192.0.2.7"}})))
	held, err := a.Zone("made")
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(a.DeleteZones(nil)))
	for _, secret := range []string{"given-secret", "made-secret", "192.0.2.7"} {
		if statetest.Holds(t, s, secret) {
			t.Errorf("%s is still on disk", secret)
		}
	}
	a = open(t, s, &scenario.Scenario{Account: "hl_1", Prefix: "brd", Zones: []scenario.Zone{{Name: "given", Product: "isp", Password: "given-secret"}}})
	all := a.AllZones()
	if len(all) != 2 || len(s.Notes()) > 0 {
		t.Fatalf("zones after a restart %v, notes %v", all, s.Notes())
	}
	for _, z := range all {
		if z.Settings().Status != Deleted || z.Accepts("") || z.Accepts("given-secret") || z.Accepts("made-secret") {
			t.Errorf("%s is %s", z.Name, z.Settings().Status)
		}
	}
	if !held.Accepts("made-secret") {
		t.Error("a zone that was asked for earlier changed")
	}
}

// A test suite that makes a zone, uses it and deletes it has to be able to do so for ever.
func TestZonesCanBeMadeAndDeletedWithoutEnd(t *testing.T) {
	sc := &scenario.Scenario{Account: "hl_1", Prefix: "brd", Zones: []scenario.Zone{{Name: "given", Product: "isp"}}}
	s := folder(t)
	a := open(t, s, sc)
	noerr.Must(t, noerr.From(a.DeleteZones([]string{"given"})))
	unlocker := plan(t, `{"type":"unblocker"}`)
	// What was deleted in earlier days, as one change.
	err := a.apply(func(v *view, tx *state.Tx) error {
		for i := range maxZones {
			r := record{Name: fmt.Sprintf("old%d", i), Product: "isp", Settings: Settings{Status: Deleted}}
			v.putZone(&r)
			if err := zonesTable.Put(tx, r.Name, r); err != nil {
				return err
			}
		}
		return nil
	})
	noerr.Must(t, err)
	for range 3 {
		noerr.Must(t, noerr.From(a.CreateZone(NewZone{Name: "made", Plan: unlocker})))
		noerr.Must(t, noerr.From(a.DeleteZones([]string{"made"})))
	}
	a = open(t, s, sc)
	if n := len(a.AllZones()); n != maxZones {
		t.Errorf("%d zones are remembered", n)
	}
	if _, err := a.Zone("given"); !errors.Is(err, ErrNoSuchZone) {
		t.Errorf("the scenario's deleted zone is back: %v", err)
	}
}
