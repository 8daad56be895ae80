package account

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/profile"
)

// Levels are those that fit what a key may see of one zone of a profile, its cost and its passwords
// (service.md 5.3): two calls, which change nothing. An error says why nothing could be measured.
func Levels(ctx context.Context, cfg Config, p profile.Profile, key keystore.Secret) ([]model.Level, error) {
	if err := Refusal(p); err != nil {
		return nil, err
	}
	d, err := dialect.Find(p.Dialect)
	switch {
	case err != nil:
		return nil, err
	case len(p.Zones) == 0:
		return nil, errors.New("the profile names no zone to ask about")
	}
	defer cfg.Wire.Begin()()
	r := reader{cfg: cfg, p: p, d: d, key: key, mask: exchange.MaskOf(key, exchange.Login{})}
	zone := p.Zones[max(0, slices.IndexFunc(p.Zones, func(z model.Zone) bool { return z.Product.NativeAccess() }))].Name
	costs, billing := d.Costs(zone)
	passwords, settings := d.AccountPasswords(zone)
	levels, why := model.Levels(), []error(nil)
	for _, ask := range []struct {
		path  string
		query url.Values
		of    model.Capability
	}{{costs, billing, model.CapBilling}, {passwords, settings, model.CapSettings}} {
		may, err := r.may(ctx, ask.path, ask.query)
		if err != nil {
			why = append(why, err)
		}
		if may != notAsked {
			levels = slices.DeleteFunc(levels, func(l model.Level) bool { return (l.Permission(ask.of) == model.PermNo) != (may == no) })
		}
	}
	if len(levels) == len(model.Levels()) {
		return nil, errors.Join(why...)
	}
	return levels, nil
}

// may tells by a call that shows something whether the key may see it.
func (r *reader) may(ctx context.Context, path string, query url.Values) (allowed, error) {
	if path == "" {
		return notAsked, nil
	}
	a, err := r.get(ctx, path, query)
	switch {
	case err != nil:
		return notAsked, err
	case a.ok() && !json.Valid(a.body):
		return notAsked, errors.New("the answer is not JSON")
	case a.ok():
		return yes, nil
	case a.status == http.StatusForbidden:
		return no, nil
	}
	return notAsked, errors.New(a.said())
}
