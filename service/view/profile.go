package view

import (
	"cmp"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
)

// Profile is one profile (docs/schema/profile.json). Checks is empty where nothing was asked.
type Profile struct {
	SchemaVersion  Version            `json:"schema_version"`
	Profile        string             `json:"profile"`
	Saved          bool               `json:"saved" jsonschema:"it stands in the config file"`
	BaseURL        string             `json:"base_url"`
	Proxy          string             `json:"proxy" jsonschema:"host:port, or empty"`
	Account        string             `json:"account"`
	Dialect        string             `json:"dialect"`
	CA             string             `json:"ca"`
	Key            ProfileKey         `json:"key"`
	Zones          []ProfileZone      `json:"zones"`
	ReadOnly       bool               `json:"read_only"`
	Color          string             `json:"color"`
	AllowedDomains []string           `json:"allowed_domains"`
	Timeouts       map[string]float64 `json:"timeouts_seconds" jsonschema:"seconds by product, where the profile says so"`
	TestURL        string             `json:"test_url" jsonschema:"page by which a rotation proves keys and passwords, or empty: the dialect's, if it knows one"`
	TestText       string             `json:"test_text" jsonschema:"text that the page shows"`
	Checks         []Check            `json:"checks" jsonschema:"what the service said, in the order in which it was asked; empty where nothing was"`
}

// ProfileKey is the key of a profile.
type ProfileKey struct {
	Name      string `json:"name"`
	Level     string `json:"level" jsonschema:"ADMIN, FINANCE, OPS, LIMIT, USER or unknown"`
	Reference string `json:"reference"`
}

// ProfileZone is a zone of a profile; its rates are null where it is unpriced.
type ProfileZone struct {
	Name        string   `json:"name"`
	Product     string   `json:"product"`
	Reference   string   `json:"reference" jsonschema:"where its password is, or empty; of a command the program alone"`
	RatePer1000 *float64 `json:"rate_per_1000" jsonschema:"dollars; null where it is unpriced"`
	RatePerGB   *float64 `json:"rate_per_gb"`
}

func newProfileZone(z model.Zone) ProfileZone {
	return ProfileZone{string(z.Name), z.Product.String(), label(z.Password), known(z.Rate.Per1000, z.Rate.Per1000 > 0), known(z.Rate.PerGB, z.Rate.PerGB > 0)}
}

// Check is what a check of one value said: ok, warning, failed, or unknown where it was not asked.
type Check struct {
	Name  string `json:"name" jsonschema:"key, account, zones, rates, passwords, certificate, proxy, or \"zone NAME\""`
	State string `json:"state" enum:"failed|ok|unknown|warning" jsonschema:"unknown: it was not asked"`
	Text  string `json:"text"`
}

// NewProfile is a profile with its key; found is what was asked about it.
func NewProfile(p model.Profile, key model.Key, found account.Facts, saved bool) Profile {
	out := Profile{
		Profile: p.Name, Saved: saved, BaseURL: p.BaseURL, Proxy: p.ProxyAddr(), Account: string(p.Account),
		Dialect: p.DialectName(), CA: p.CA, Key: ProfileKey{Name: key.Name, Level: key.Level.String(), Reference: label(key.Secret)},
		ReadOnly: p.ReadOnly, Color: p.Color, AllowedDomains: list(p.AllowedDomains), TestURL: p.TestURL, TestText: p.TestText, Timeouts: map[string]float64{}, Checks: []Check{},
		Zones: each(p.Zones, newProfileZone),
	}
	for product, d := range p.Timeouts {
		out.Timeouts[product.String()] = d.Seconds()
	}
	if found.Key.Text != "" {
		out.Checks = newChecks(p, found)
	}
	return out
}

func label(ref string) string {
	if ref == "" {
		return ""
	}
	return keystore.Ref(ref).Label()
}

// newChecks are the verdicts on an account, in the order in which they were asked for.
func newChecks(p model.Profile, found account.Facts) []Check {
	return each(account.Checks(p, found), func(v account.Check) Check {
		return Check{Name: v.Subject, State: cmp.Or(string(v.Verdict.State), "unknown"), Text: v.Verdict.Text}
	})
}

// Profiles are what "profiles list --json" prints (docs/schema/profiles.json).
type Profiles struct {
	SchemaVersion Version   `json:"schema_version"`
	Default       string    `json:"default" jsonschema:"the profile that is used when none is named; empty when there are several and none is the default"`
	Profiles      []Profile `json:"profiles"`
}

// ProfileRemoval is what "profiles remove --json" prints (docs/schema/profiles-remove.json).
type ProfileRemoval struct {
	SchemaVersion Version  `json:"schema_version"`
	Profile       string   `json:"profile"`
	Removed       []string `json:"removed" jsonschema:"what is gone, a phrase each"`
	Orphaned      []string `json:"orphaned" jsonschema:"references whose secrets stay in their stores, although neither a profile nor a key names them now"`
}
