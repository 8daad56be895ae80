package account

import (
	"errors"
	"fmt"
	"testing"

	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func TestADeletedZoneLeavesNoSecretInTheFile(t *testing.T) {
	s := folder(t)
	a := open(t, s, &scenario.Scenario{Account: "hl_1", Prefix: "brd", Zones: []scenario.Zone{{Name: "given", Product: "isp", Password: "given-secret"}}})
	if _, err := a.CreateZone(NewZone{Name: "made", Plan: plan(t, `{"type":"unblocker"}`), Passwords: []string{"made-secret"}, AllowIPs: []string{"192.0.2.7"}}); err != nil {
		t.Fatal(err)
	}
	held, err := a.Zone("made")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.DeleteZones(nil); err != nil {
		t.Fatal(err)
	}
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
	if _, err := a.DeleteZones([]string{"given"}); err != nil {
		t.Fatal(err)
	}
	unlocker := plan(t, `{"type":"unblocker"}`)
	// What was deleted in earlier days, as one change.
	err := a.apply(func(v *view, tx *state.Tx) error {
		for i := range MaxZones {
			r := record{Name: fmt.Sprintf("old%d", i), Product: "isp", Settings: Settings{Status: Deleted}}
			v.putZone(&r)
			if err := zonesTable.Put(tx, r.Name, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := a.CreateZone(NewZone{Name: "made", Plan: unlocker}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.DeleteZones([]string{"made"}); err != nil {
			t.Fatal(err)
		}
	}
	a = open(t, s, sc)
	if n := len(a.AllZones()); n != MaxZones {
		t.Errorf("%d zones are remembered", n)
	}
	if _, err := a.Zone("given"); !errors.Is(err, ErrNoSuchZone) {
		t.Errorf("the scenario's deleted zone is back: %v", err)
	}
}
