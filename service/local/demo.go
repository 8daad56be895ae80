package local

import (
	"context"
	"fmt"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/scenario"
)

// DemoKey is the demo account's key that the console uses by default.
const DemoKey = "batch-user"

// Profile is the profile of the demo account at the addresses of a live emulator, which is started if necessary.
func (e *Emulator) Profile(ctx context.Context) (model.Profile, error) {
	ready, err := e.ensure(ctx)
	if err != nil {
		return model.Profile{}, err
	}
	return demoProfile(ready)
}

// Keys are the demo account's keys as inventory entries, and when the emulator's folder was first used; none before
// the emulator was found.
func (e *Emulator) Keys() (keys []model.Key, firstStart time.Time) {
	e.mu.Lock()
	ready, known := e.ready, e.known
	e.mu.Unlock()
	if !known {
		return nil, firstStart
	}
	return demoKeys(ready), ready.FirstStart
}

// demoProfile is the profile of the demo account at the given addresses.
func demoProfile(r emulator.Ready) (model.Profile, error) {
	host, port, err := config.SplitPort(r.Proxy)
	if err != nil {
		return model.Profile{}, fmt.Errorf("proxy address of the emulator: %w", err)
	}
	account, err := model.ParseAccountID(r.Account)
	if err != nil {
		return model.Profile{}, fmt.Errorf("account of the emulator: %w", err)
	}
	zones, err := demoZones(r.Zones)
	return model.Profile{
		Name: model.LocalName, BaseURL: r.API, ProxyHost: host, ProxyPort: port, AgentURL: r.API + "/mcp", BrowserURL: r.CDP,
		UsernamePrefix: r.UsernamePrefix, Account: account, Dialect: dialect.Embedded().Name(), Can: dialect.Abilities(dialect.Embedded().Name()),
		Key: DemoKey, APIVersion: "v3", CA: r.CA, Verify: true, Local: true, Zones: zones,
	}, err
}

// demoZones are the demo account's zones as those of a profile.
func demoZones(all []account.Zone) (zones []model.Zone, err error) {
	for _, z := range all {
		product, err := model.ParseProduct(z.Product)
		if err != nil {
			return nil, fmt.Errorf("zone %s of the emulator: %w", z.Name, err)
		}
		zones = append(zones, model.Zone{
			Name: model.ZoneName(z.Name), Product: product,
			IdentityVerified: z.IdentityVerified, Password: "demo:zone/" + z.Name,
			Rate: model.Rate{Per1000: z.RatePer1000, PerGB: z.RatePerGB},
		})
	}
	return zones, nil
}

// Announced are the zones and keys of the demo account as an emulator has announced them or, if none has, as a new one
// has them. No emulator is started or asked.
func (e *Emulator) Announced() ([]model.Zone, []model.Key) {
	a, found := e.readAnnouncement()
	if demo := scenario.Demo(); !found {
		for _, z := range demo.Zones {
			a.Zones = append(a.Zones, account.Zone{Name: z.Name, Product: z.Product})
		}
		for _, k := range demo.Keys {
			a.Keys = append(a.Keys, account.Key{Name: k.Name, Level: k.Level})
		}
	}
	zones, _ := demoZones(a.Zones) // those of another build may have a product that is unknown here
	return zones, demoKeys(a.Ready)
}

// Datasets are the data sets of every emulator.
func Datasets() (all []model.Dataset) {
	for _, d := range jobs.Datasets() {
		all = append(all, model.Dataset{ID: d.ID, Name: d.Name, Domain: d.Domain})
	}
	return all
}

// KeyUsers is what uses the keys of the demo account besides what the console finds: as in an
// inventory, by name or as a reference, which can be proved.
func KeyUsers(key string) []string {
	return map[string][]string{
		"etl-main": {"demo:key/etl-main"}, "ci-fetch": {"CI nightly"}, "finance-review": {"demo:key/finance-review"},
		"limit-lists": {"allow lists"}, "expired-user": {"old crawler"}, "ops-zones": {"demo:key/ops-zones"}, "old-admin": {"demo:key/old-admin"},
	}[key]
}

// demoKeys are the demo account's keys as inventory entries.
func demoKeys(r emulator.Ready) []model.Key {
	keys := make([]model.Key, 0, len(r.Keys))
	for _, k := range r.Keys {
		level, _ := model.ParseLevel(string(k.Level))
		expires, _ := model.ParseExpiry(k.Expires)
		key := model.Key{Name: k.Name, Level: level, Duty: model.Duty(k.Duty), Expires: expires, UsedBy: KeyUsers(k.Name)}
		if k.Value == "" {
			key.Note = "the emulator showed its value once, when it was made: record the key under this name, with a reference to the value, to use it"
		} else {
			secret := keystore.NewSecret(k.Value)
			key.Fingerprint, key.Last4, key.Secret = secret.Fingerprint(), secret.Last4(), "demo:key/"+k.Name
		}
		key.Rotation.Last, _ = time.Parse(time.RFC3339, k.Rotated) // empty is unknown, which a zero time is, too
		key.Created, _ = time.Parse(time.RFC3339, k.Created)
		keys = append(keys, key)
	}
	return keys
}

// Secret resolves "demo:" references from the emulator's announcement.
func (e *Emulator) Secret(name string) (keystore.Secret, bool) {
	e.mu.Lock()
	r, known := e.ready, e.known
	e.mu.Unlock()
	if !known {
		return keystore.Secret{}, false
	}
	for _, k := range r.Keys {
		if name == "key/"+k.Name && k.Value != "" {
			return keystore.NewSecret(k.Value), true
		}
	}
	for _, z := range r.Zones {
		if name == "zone/"+z.Name {
			return keystore.NewSecret(z.Password), true
		}
	}
	return keystore.Secret{}, false
}
