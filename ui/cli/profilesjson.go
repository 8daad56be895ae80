package cli

import (
	"zonedeck/keystore"
	"zonedeck/service/account"
	"zonedeck/service/config"
)

// profileJSON is one profile (docs/schema/profile.json). Checks is empty where nothing was asked.
type profileJSON struct {
	SchemaVersion  int               `json:"schema_version"`
	Profile        string            `json:"profile"`
	Saved          bool              `json:"saved"`
	BaseURL        string            `json:"base_url"`
	Proxy          string            `json:"proxy"`
	Account        string            `json:"account"`
	Dialect        string            `json:"dialect"`
	CA             string            `json:"ca"`
	Key            profileKeyJSON    `json:"key"`
	Zones          []profileZoneJSON `json:"zones"`
	ReadOnly       bool              `json:"read_only"`
	Color          string            `json:"color"`
	AllowedDomains []string          `json:"allowed_domains"`
	Checks         []checkJSON       `json:"checks"`
}

type profileKeyJSON struct {
	Name      string `json:"name"`
	Level     string `json:"level"`
	Reference string `json:"reference"`
}

type profileZoneJSON struct {
	Name        string  `json:"name"`
	Product     string  `json:"product"`
	Reference   string  `json:"reference"`
	RatePer1000 float64 `json:"rate_per_1000"`
	RatePerGB   float64 `json:"rate_per_gb"`
}

// checkJSON is what a check of one value said: ok, warning, failed, or unknown where it was not asked.
type checkJSON struct {
	What  string `json:"what"`
	State string `json:"state"`
	Text  string `json:"text"`
}

func profileJSONOf(d account.Draft, found account.Found, saved bool) profileJSON {
	p := d.Profile
	out := profileJSON{
		SchemaVersion: schemaVersion, Profile: p.Name, Saved: saved, BaseURL: p.BaseURL, Proxy: p.ProxyAddr(), Account: string(p.Account),
		Dialect: p.DialectName(), CA: p.CA, Key: profileKeyJSON{Name: d.Key.Name, Level: d.Key.Level.String(), Reference: label(d.Key.Secret)},
		Zones: []profileZoneJSON{}, ReadOnly: p.ReadOnly, Color: p.Color, AllowedDomains: append([]string{}, p.AllowedDomains...), Checks: []checkJSON{},
	}
	for _, z := range p.Zones {
		out.Zones = append(out.Zones, profileZoneJSON{
			Name: string(z.Name), Product: z.Product.String(), Reference: label(z.Password), RatePer1000: z.Rate.Per1000, RatePerGB: z.Rate.PerGB,
		})
	}
	if found.Key.Text != "" {
		out.Checks = checks(p, found)
	}
	return out
}

func label(ref string) string {
	if ref == "" {
		return ""
	}
	return keystore.Ref(ref).Label()
}

// checks are the verdicts on an account, in the order in which they were asked for.
func checks(p config.Profile, found account.Found) []checkJSON {
	out := []checkJSON{}
	for _, v := range account.Checks(p, found) {
		state := string(v.Verdict.State)
		if v.Verdict.State == account.Unknown {
			state = "unknown"
		}
		out = append(out, checkJSON{What: v.What, State: state, Text: v.Verdict.Text})
	}
	return out
}

// printProfile prints a profile and what was checked.
func (t *task) printProfile(f profileFlags, out profileJSON) error {
	if f.json {
		return t.app.printJSON(out)
	}
	rows := [][]string{{"profile", out.Profile}, {"base URL", out.BaseURL}, {"proxy", out.Proxy}, {"account", out.Account}, {"dialect", out.Dialect}, {"CA", out.CA}}
	rows = append(rows, []string{"key", out.Key.Name + ", " + out.Key.Level + ", " + out.Key.Reference})
	for _, z := range out.Zones {
		rows = append(rows, []string{"zone", z.Name + ", " + z.Product + ", " + z.Reference})
	}
	for _, c := range out.Checks {
		rows = append(rows, []string{c.State, c.What + ": " + c.Text})
	}
	for i := range rows {
		for j := range rows[i] {
			rows[i][j] = sanitizeLine(rows[i][j])
		}
	}
	if err := printColumns(t.app.Stdout, rows); err != nil {
		return err
	}
	if out.Saved {
		t.app.say("zonedeck: profile %s is saved", out.Profile)
	} else {
		t.app.say("zonedeck: profile %s is not saved", out.Profile)
	}
	return nil
}
