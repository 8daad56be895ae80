package keys

import (
	"errors"
	"strings"
	"testing"

	"zonedeck/model"
)

// A person at the console is asked first: without an answer nothing is sent, whatever chose the key.
func TestAKeyOfAnotherAccountIsSentOnlyWhenConfirmed(t *testing.T) {
	a := newServices(t)
	r := model.FetchRequest{URL: "http://lab.test/", Via: model.ViaAPI, Zone: model.Zone{Name: "unl", Product: model.ProductUnlocker}, Format: model.FormatRaw, Key: "acme"}
	_, err := a.fetcher.Fetch(t.Context(), r, nil)
	var refused *OtherAccountError
	if !errors.As(err, &refused) || !errors.Is(err, ErrOtherAccount) || len(a.seen) > 0 {
		t.Fatalf("%v; the services were sent %q", err, a.seen)
	}
	said := a.Owners().OtherAccounts(a.inUse.Profile(), a.Keys.Inventory().Recorded())
	if len(said) != 1 || !strings.HasPrefix(said["acme"], "profile aaa (http://") {
		t.Errorf("the views are told %q", said)
	}
	for _, kind := range []CallerKind{Person, Agent} { // an agent has no flags
		a.as(Caller{Kind: kind})
		if err := a.Owners().Refuse(a.inUse.Profile(), a.key(t, "acme")); err == nil || strings.Contains(err.Error(), "--profile") != (kind == Person) {
			t.Errorf("caller %v is told: %v", kind, err)
		}
	}
	a.Owners().Confirm("acme")
	if _, err := a.fetcher.Fetch(t.Context(), r, nil); err != nil || len(a.seen["B"]) != 1 {
		t.Errorf("%v; the services were sent %q", err, a.seen)
	}
}
