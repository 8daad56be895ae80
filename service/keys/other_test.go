package keys

import (
	"context"
	"errors"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
)

// The key of the environment belongs to the profile in use: another account's service never gets it.
func TestOtherProfilesHaveTheKeysOfTheInventoryAlone(t *testing.T) {
	a := newServices(t)
	a.env[config.EnvKey] = "value-of-bbb-0123456789"
	if _, ok := a.Key(config.EnvKey); !ok {
		t.Fatal("the profile in use does not have the key")
	}
	if k, ok := a.OtherProfile("aaa").Key(config.EnvKey); ok {
		t.Errorf("got %+v", k)
	}
	if k, ok := a.OtherProfile("aaa").Key("acme"); !ok || k.Secret != "env:ACME_KEY" {
		t.Errorf("got %+v", k)
	}
}

func TestAReasonForAnAdminKeyDoesNotHoldForOtherProfiles(t *testing.T) {
	a := newServices(t)
	noerr.Must(t, a.Inventory.Update(t.Context(), "acme", func(k model.Key) (model.Key, error) {
		k.Level = model.LevelAdmin
		return k, nil
	}))
	a.as(Caller{Kind: Command, AdminReason: "the nightly run of bbb"})
	p := a.profile(t, "aaa")
	taken := false
	_, err := a.OtherProfile("aaa").Permit(t.Context(), p, a.key(t, "acme"), func() (keystore.Secret, error) {
		taken = true
		return a.Resolver.Resolve(context.WithoutCancel(t.Context()), "env:ACME_KEY")
	})
	var refused *AdminError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "in a run with --profile aaa --admin-reason") || taken {
		t.Errorf("%v; the value was taken: %t", err, taken)
	}
}

// The reason does not cover background work, which asks nobody.
func TestAReasonForAnAdminKeyDoesNotHoldForWhatNobodyIsAskedFor(t *testing.T) {
	a := newServices(t)
	a.as(Caller{Kind: Command, AdminReason: "the nightly run"})
	k := model.Key{Name: "boss", Level: model.LevelAdmin, Secret: "env:BOSS"}
	taken := 0
	permit := func(ctx context.Context) error {
		_, err := a.Permit(ctx, a.inUse.Profile(), k, func() (keystore.Secret, error) {
			taken++
			return keystore.NewSecret("value-of-boss-0123456789"), nil
		})
		return err
	}
	if err := permit(ask.By(t.Context(), ask.Nobody)); !errors.As(err, new(*AdminError)) || taken != 0 {
		t.Errorf("%v; the value was taken %d times", err, taken)
	}
	if err := permit(t.Context()); errors.As(err, new(*AdminError)) || taken != 1 {
		t.Errorf("%v; the value was taken %d times", err, taken)
	}
}

// The value of a variable belongs to the run, and so to the profile in use.
func TestAVariableThatGivesTheKeyOfAnotherAccountIsNotUsedForOtherProfiles(t *testing.T) {
	for name, c := range map[string]struct {
		ref     string // of the key of profile aaa
		same    bool   // the profiles are of one account
		refused string
	}{
		"its own":             {"env:ACME_KEY", false, ""},
		"that of bbb's key":   {"env:OTHER", false, "env:OTHER gives the key of profile bbb ("},
		"the environment's":   {"env:" + config.EnvKey, false, "env:" + config.EnvKey + " gives the key of profile bbb ("},
		"no variable":         {"cmd:echo value-of-all", false, ""},
		"of the same account": {"env:OTHER", true, ""},
		"the same account's":  {"env:" + config.EnvKey, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newServices(t)
			a.env["OTHER"], a.env[config.EnvKey] = "value-of-bbb-0123456789", "value-of-bbb-0123456789"
			noerr.Must(t, a.Inventory.Update(t.Context(), "acme", func(k model.Key) (model.Key, error) {
				k.Secret = c.ref
				return k, nil
			}))
			if c.same {
				a.edit(t, a.profile(t, "aaa").BaseURL, a.inUse.Profile().BaseURL)
				a.reload(t)
			}
			p := a.profile(t, "aaa")
			_, err := a.OtherProfile("aaa").Permit(t.Context(), p, a.key(t, "acme"), func() (keystore.Secret, error) {
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

// The person at the terminal works with another profile.
func TestNobodyIsAskedForTheSecretsOfOtherProfiles(t *testing.T) {
	a := newServices(t)
	values := &asking{}
	a.cfg.Values = values
	for ask, source := range map[bool]exchange.Source{true: a.Keys, false: a.OtherProfile("aaa")} {
		if _, err := source.Secret(t.Context(), "env:ACME_KEY"); err != nil || values.may != ask {
			t.Errorf("somebody may be asked: %t, want %t (%v)", values.may, ask, err)
		}
	}
}

// asking notes whether a passphrase could have been asked for.
type asking struct{ may bool }

func (a *asking) Resolve(ctx context.Context, _ string) (keystore.Secret, error) {
	a.may = ask.MayAsk(ctx)
	return keystore.NewSecret("value-0123456789"), nil
}

func TestAProfileThatIsNotConfiguredIsNoSource(t *testing.T) {
	a := newServices(t)
	if p, err := a.OtherProfile("aaa").Profile(t.Context()); err != nil || p.Name != "aaa" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, name := range []string{"bbb", "ccc"} { // the one in use, and none
		if p, err := a.OtherProfile(name).Profile(t.Context()); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
