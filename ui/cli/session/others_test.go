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
	if k, ok := o.Source("aaa").Key(EnvKey); ok {
		t.Errorf("got %+v", k)
	}
	if k, ok := o.Source("aaa").Key("acme"); !ok || k.Secret != "env:ACME_KEY" {
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
	_, err := a.others().Source("aaa").Permit(t.Context(), p, a.key(t, "acme"), func() (keystore.Secret, error) {
		taken = true
		return a.Resolver.Resolve(context.WithoutCancel(t.Context()), "env:ACME_KEY")
	})
	var refused *AdminError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "in a run with --profile aaa --admin-reason") || taken {
		t.Errorf("%v; the value was taken: %t", err, taken)
	}
}

// What is done meanwhile, without asking anybody, is not what the reason was given for.
func TestAReasonForAnAdminKeyDoesNotHoldForWhatNobodyIsAskedFor(t *testing.T) {
	a := newServices(t)
	a.o.Unattended, a.o.AdminReason = true, "the nightly run"
	k := model.Key{Name: "boss", Level: model.LevelAdmin, Secret: "env:BOSS"}
	taken := 0
	permit := func(ctx context.Context) error {
		_, err := a.permit(ctx, a.CurrentProfile(), k, func() (keystore.Secret, error) {
			taken++
			return keystore.NewSecret("value-of-boss-0123456789"), nil
		})
		return err
	}
	if err := permit(keystore.Unasked(t.Context())); !errors.As(err, new(*AdminError)) || taken != 0 {
		t.Errorf("%v; the value was taken %d times", err, taken)
	}
	if err := permit(t.Context()); errors.As(err, new(*AdminError)) || taken != 1 {
		t.Errorf("%v; the value was taken %d times", err, taken)
	}
}

// What a variable holds belongs to the run, and so to the profile in use.
func TestAVariableThatGivesTheKeyOfAnotherAccountIsNotUsedForOtherProfiles(t *testing.T) {
	for name, c := range map[string]struct {
		ref     string // of the key of profile aaa
		same    bool   // the profiles are of one account
		refused string
	}{
		"its own":             {"env:ACME_KEY", false, ""},
		"that of bbb's key":   {"env:OTHER", false, "env:OTHER gives the key of profile bbb ("},
		"the environment's":   {"env:" + EnvKey, false, "env:" + EnvKey + " gives the key of profile bbb ("},
		"no variable":         {"cmd:echo value-of-all", false, ""},
		"of the same account": {"env:OTHER", true, ""},
		"the same account's":  {"env:" + EnvKey, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newServices(t)
			a.env["OTHER"], a.env[EnvKey] = "value-of-bbb-0123456789", "value-of-bbb-0123456789"
			if err := a.Inventory.Update(t.Context(), "acme", func(k model.Key) (model.Key, error) {
				k.Secret = c.ref
				return k, nil
			}); err != nil {
				t.Fatal(err)
			}
			if c.same {
				a.edit(t, a.others().Profiles()[0].BaseURL, a.CurrentProfile().BaseURL)
				a.reload(t.Context())
			}
			p := a.others().Profiles()[0]
			_, err := a.others().Source("aaa").Permit(t.Context(), p, a.key(t, "acme"), func() (keystore.Secret, error) {
				return a.Resolver.Resolve(t.Context(), c.ref)
			})
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && (!errors.Is(err, ErrOtherAccount) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("%v", err)
			}
		})
	}
}
