package keystore_test

import (
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
)

func TestWhatARecordHasAgainstTheUsesOfAKey(t *testing.T) {
	now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	const (
		expired = "key etl: expired on 2026-11-28: requests are rejected (contract 2.1); refresh it, or create a new key and delete this one"
		noUse   = "key etl: FINANCE has no proxy and API use (contract 5.3); pick a key of level USER or OPS"
		noMoney = "key etl: OPS has no access to billing (contract 5.3); pick a key of level FINANCE or ADMIN"
	)
	for name, c := range map[string]struct {
		level   model.Level
		expires string
		uses    []model.Capability
		want    []string
	}{
		"nothing is known":               {model.LevelUnknown, "", []model.Capability{model.CapUse, model.CapBilling}, nil},
		"it expires soon":                {model.LevelUser, "2026-11-30", []model.Capability{model.CapUse}, nil},
		"it has expired":                 {model.LevelUser, "2026-11-28", nil, []string{expired}},
		"it has expired, and may not":    {model.LevelFinance, "2026-11-28", []model.Capability{model.CapUse}, []string{expired, noUse}},
		"what it may is not asked of it": {model.LevelFinance, "", nil, nil},
		"it may do one of them":          {model.LevelOps, "", []model.Capability{model.CapUse, model.CapBilling}, []string{noMoney}},
		"it may do a part":               {model.LevelLimit, "", []model.Capability{model.CapSettings}, nil},
		"ADMIN may do all":               {model.LevelAdmin, "", model.Capabilities(), nil},
	} {
		k := model.Key{Name: "etl", Level: c.level, Expires: noerr.Try(model.ParseExpiry(c.expires)).Must(t)}
		if got := keystore.Objections(k, now, c.uses...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
