package session

import (
	"context"
	"errors"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/model"
)

// The key of the environment belongs to the profile in use: another account's service never gets it.
func TestOtherProfilesHaveTheKeysOfTheInventoryAlone(t *testing.T) {
	a := newServices(t)
	a.env[EnvKey] = "value-of-bbb-0123456789"
	o := a.others()
	if got := o.Profiles(); len(got) != 1 || got[0].Name != "aaa" {
		t.Errorf("other profiles %+v", got)
	}
	if _, ok := a.Key(EnvKey); !ok {
		t.Fatal("the profile in use does not have the key")
	}
	if k, ok := o.Key(EnvKey); ok {
		t.Errorf("got %+v", k)
	}
	if k, ok := o.Key("acme"); !ok || k.Secret != "env:ACME_KEY" {
		t.Errorf("got %+v", k)
	}
}

func TestAReasonForAnAdminKeyDoesNotHoldForOtherProfiles(t *testing.T) {
	a := newServices(t)
	if err := a.Inventory.Update(t.Context(), "acme", func(k model.Key) (model.Key, error) {
		k.Level = model.LevelAdmin
		return k, nil
	}); err != nil {
		t.Fatal(err)
	}
	a.o.Unattended, a.o.AdminReason = true, "the nightly run of bbb"
	p := a.others().Profiles()[0]
	taken := false
	_, err := a.others().Permit(t.Context(), p, a.key(t, "acme"), func() (keystore.Secret, error) {
		taken = true
		return a.Resolver.Resolve(context.WithoutCancel(t.Context()), "env:ACME_KEY")
	})
	var refused *AdminError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "in a run with --profile aaa --admin-reason") || taken {
		t.Errorf("%v; the value was taken: %t", err, taken)
	}
}
