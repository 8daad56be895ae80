package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// proofCall is the call that shows whether the service accepts a key: one fetch of the
// profile's test page by API, through the first zone that any page can be fetched through,
// without retries. An error says what the profile lacks for it.
func proofCall(p model.Profile) (model.FetchRequest, error) {
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return model.FetchRequest{}, err
	}
	i := slices.IndexFunc(p.Zones, func(z model.Zone) bool { return fetchesTestPage(p, z) })
	r := model.FetchRequest{URL: d.TestPage(p), Via: model.ViaAPI, Format: model.FormatRaw}
	switch {
	case i < 0:
		return r, fmt.Errorf("profile %s names no zone of a proxy network or the unlocker", p.Name)
	case r.URL == "":
		return r, errors.New(p.LacksTestPage())
	}
	r.Zone = p.Zones[i]
	return r, nil
}

// fetchesTestPage reports whether a zone fetches the test page: any page, or as far as is known that of the profile.
func fetchesTestPage(p model.Profile, z model.Zone) bool {
	return z.Product.Network() || z.Product == model.ProductUnlocker || z.Product == model.ProductUnknown && p.TestURL != ""
}

// ProveKey makes the ProofCall of a profile, which need not be the one in use, with a value that need
// not be where the key's reference leads yet, and through the zone that is named, if any page can be
// fetched through it. Where the profile has no such zone the account's status is asked for. proves is
// the result's Proves; the errors are those of Fetch.
func (ft *Fetcher) ProveKey(ctx context.Context, p model.Profile, zone string, k model.Key, value keystore.Secret, proves string) (model.FetchResult, error) {
	r, err := proofCall(p)
	if z, known := p.Zone(zone); known && err == nil && fetchesTestPage(p, z) {
		r.Zone = z
	}
	switch {
	case err != nil && statusPath(p) != "":
		return ft.proveByStatus(ctx, p, k, value, proves)
	case err != nil:
		return model.FetchResult{}, err
	}
	conf := ft.cfg
	conf.Source = exchange.AsKey(conf.Source, p, k, value)
	r.Key = k.Name
	conf.proves, conf.proof = proves, true
	return New(conf).Fetch(ctx, r, nil)
}

// ProbeDraft makes one call through the proxy of a profile that is not saved yet, to prove a zone's password.
func (ft *Fetcher) ProbeDraft(ctx context.Context, p model.Profile, z model.Zone, password keystore.Secret) (model.ProbeResult, error) {
	draft := New(Config{Source: exchange.Fixed(p, model.Key{}, password), Wire: ft.cfg.Wire, Now: ft.cfg.Now})
	return draft.ProvePasswordAs(ctx, p, z, exchange.LoginProof{Password: password})
}

// ProvePasswordAs makes one call through the proxy with the settings of a profile, which need not be the one in use.
// The result and the errors are those of Probe.
func (ft *Fetcher) ProvePasswordAs(ctx context.Context, p model.Profile, z model.Zone, l exchange.LoginProof) (model.ProbeResult, error) {
	conf := ft.cfg
	if l.Proves == "" {
		conf.Journal = nil
	}
	conf.Source, conf.proof = exchange.AsLogin(conf.Source, p, l.Password), true
	return New(conf).Probe(ctx, ProbeRequest{Zone: z, Rounds: 1, proof: l}, nil)
}
