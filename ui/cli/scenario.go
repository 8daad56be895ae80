package cli

import (
	"fmt"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/scenario"
)

// scenarioFile is a TOML file that describes the account an emulator plays. Ages
// are relative to its start, so that a test sees the same states on every day.
// Keys and passwords in it are test values and stand there in plain text; those
// left out are derived from the scenario's name.
type scenarioFile struct {
	Name      string         `toml:"name"`
	Account   string         `toml:"account"`
	Prefix    string         `toml:"username_prefix"`
	PageDelay string         `toml:"page_delay"`
	Keys      []scenarioKey  `toml:"keys"`
	Zones     []scenarioZone `toml:"zones"`
}

type scenarioKey struct {
	Name       string `toml:"name"`
	Level      string `toml:"level"`
	Duty       string `toml:"duty"`
	ExpiresIn  string `toml:"expires_in"`  // like 7d, -3d for what has expired, or Unlimited
	RotatedAgo string `toml:"rotated_ago"` // like 52d; left out: unknown
	Value      string `toml:"value"`
}

type scenarioZone struct {
	Name             string `toml:"name"`
	Product          string `toml:"product"`
	IdentityVerified bool   `toml:"identity_verified"`
	Password         string `toml:"password"`
}

// scenarioFault is a mistake in a field, before its place in the file is known.
type scenarioFault struct {
	at, msg, expected string
}

// readScenario reads a scenario strictly: every mistake is named with its line.
func readScenario(path string) (*scenario.Scenario, error) {
	var f scenarioFile
	doc, err := textfile.Read(path, &f)
	if err != nil {
		return nil, err
	}
	sc, fault := f.scenario()
	if fault != nil {
		return nil, doc.Fault(fault.at, fault.msg, fault.expected)
	}
	return sc, nil
}

func (f scenarioFile) scenario() (*scenario.Scenario, *scenarioFault) {
	demo := scenario.Demo()
	sc := &scenario.Scenario{
		Name: firstOf(f.Name, demo.Name), Account: firstOf(f.Account, demo.Account), Prefix: firstOf(f.Prefix, demo.Prefix),
		PageDelay: demo.PageDelay,
	}
	if _, err := model.ParseAccountID(sc.Account); err != nil {
		return nil, &scenarioFault{textfile.At("account"), err.Error(), "an identifier like hl_1234abcd"}
	}
	if strings.ContainsAny(sc.Prefix, "-: \t") {
		return nil, &scenarioFault{textfile.At("username_prefix"), fmt.Sprintf("%q cannot begin a username", sc.Prefix), "one word without - and :"}
	}
	if f.PageDelay != "" {
		d, err := parseDuration(f.PageDelay)
		if err != nil {
			return nil, &scenarioFault{textfile.At("page_delay"), err.Error(), "a duration like 40ms"}
		}
		sc.PageDelay = d
	}
	seen := map[string]bool{}
	for i, k := range f.Keys {
		key, fault := k.key(func(field string) string { return textfile.At("keys", i, field) })
		if fault == nil && seen[key.Name] {
			fault = &scenarioFault{textfile.At("keys", i, "name"), fmt.Sprintf("a second key is named %q", key.Name), "every key once"}
		}
		if fault != nil {
			return nil, fault
		}
		seen[key.Name] = true
		sc.Keys = append(sc.Keys, key)
	}
	seen = map[string]bool{}
	for i, z := range f.Zones {
		zone, fault := z.zone(func(field string) string { return textfile.At("zones", i, field) })
		if fault == nil && seen[zone.Name] {
			fault = &scenarioFault{textfile.At("zones", i, "name"), fmt.Sprintf("a second zone is named %q", zone.Name), "every zone once"}
		}
		if fault != nil {
			return nil, fault
		}
		seen[zone.Name] = true
		sc.Zones = append(sc.Zones, zone)
	}
	if f.Keys == nil {
		sc.Keys = demo.Keys
	}
	if f.Zones == nil {
		sc.Zones = demo.Zones
	}
	return sc, nil
}

func (k scenarioKey) key(at func(string) string) (scenario.Key, *scenarioFault) {
	none := scenario.Key{}
	lv, err := model.ParseLevel(k.Level)
	switch {
	case k.Name == "":
		return none, &scenarioFault{at("name"), "the key has no name", "a name"}
	case err != nil || k.Level == "":
		return none, &scenarioFault{at("level"), fmt.Sprintf("%q is no level", k.Level), "one of ADMIN, FINANCE, OPS, LIMIT, USER"}
	}
	out := scenario.Key{Name: k.Name, Level: level.Level(lv.String()), Duty: k.Duty, Value: k.Value, RotatedAgo: -1}
	switch {
	case k.ExpiresIn == "" || strings.EqualFold(k.ExpiresIn, "unlimited"):
		out.Unlimited = true
	default:
		if out.ExpiresIn, err = signedDuration(k.ExpiresIn); err != nil {
			return none, &scenarioFault{at("expires_in"), err.Error(), "a duration like 7d, or Unlimited"}
		}
	}
	if k.RotatedAgo != "" {
		if out.RotatedAgo, err = parseDuration(k.RotatedAgo); err != nil {
			return none, &scenarioFault{at("rotated_ago"), err.Error(), "a duration like 52d, or no line when it is unknown"}
		}
	}
	return out, nil
}

// signedDuration takes a leading minus, for what lies in the past.
func signedDuration(s string) (time.Duration, error) {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		d, err := parseDuration(rest)
		return -d, err
	}
	return parseDuration(s)
}

func (z scenarioZone) zone(at func(string) string) (scenario.Zone, *scenarioFault) {
	none := scenario.Zone{}
	if _, err := model.ParseZoneName(z.Name); err != nil {
		return none, &scenarioFault{at("name"), err.Error(), "the name of a zone"}
	}
	product, err := model.ParseProduct(z.Product)
	if err != nil || product == model.ProductUnknown {
		return none, &scenarioFault{at("product"), fmt.Sprintf("%q is no product", z.Product), "a product, like unlocker"}
	}
	return scenario.Zone{Name: z.Name, Product: string(product), IdentityVerified: z.IdentityVerified, Password: z.Password}, nil
}
