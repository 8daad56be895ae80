package keys

import (
	"errors"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/radius"
)

// The history of an ADMIN key says why its rotation was rehearsed. It has nothing about the copy.
func TestARehearsalIsInTheHistoryOfTheKeyItIsOf(t *testing.T) {
	o := newOptions(t, nil)
	o.profile, o.journal, o.caller = model.LocalName, true, Caller{Kind: Command, AdminReason: "it is due"}
	s := open(t, o)
	defer s.close(t)
	if _, err := s.Profile(t.Context()); err != nil { // starts the emulator
		t.Fatal(err)
	}
	k, _ := s.Key("old-admin")
	rehearse := func() error {
		_, err := s.rotations().Rehearse(t.Context(), s.cfg.Emulator, k, keystore.RotateByNewKey)
		return err
	}
	value := noerr.Try(s.Secret(t.Context(), k.Secret)).Must(t)
	s.as(Caller{Kind: Command, AdminReason: "its value is " + value.Reveal()})
	if err := rehearse(); !errors.Is(err, ErrReasonHoldsValue) {
		t.Errorf("a reason that holds the value: %v", err)
	}
	s.as(Caller{Kind: Command, AdminReason: "it is due"})
	noerr.Must(t, rehearse())
	list, err := s.journal.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryKey})
	if err != nil || len(list) != 1 || list[0].Key != "old-admin" || list[0].Text != "rehearsed its rotation, with a copy, as ADMIN by a command, because: it is due" {
		t.Errorf("%+v, %v", list, err)
	}
	uses, err := s.journal.KeyValues(t.Context())
	for _, u := range uses {
		if strings.HasPrefix(u.Key, "rehearsal-") {
			t.Errorf("a copy is among the keys that were used: %+v, %v", u, err)
		}
	}
	id := radius.KeyID{Name: "old-admin", Profile: model.LocalName}
	if used, err := s.Keys.Inventory().Used(t.Context()); err != nil || !used[id].Last.IsZero() {
		t.Errorf("the key itself was sent: %+v, %v", used[id], err)
	}
}
