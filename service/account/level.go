package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// KeyLevels are those that fit what a key may see of one zone of a profile, its cost and its passwords
// (service.md 5.3): two calls, which change nothing. An error says why nothing could be measured.
func (cfg Config) KeyLevels(ctx context.Context, p model.Profile, key keystore.Secret) ([]model.Level, error) {
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
		path       string
		query      url.Values
		capability model.Capability
	}{{costs, billing, model.CapBilling}, {passwords, settings, model.CapSettings}} {
		may, err := r.may(ctx, ask.path, ask.query)
		if err != nil {
			why = append(why, err)
		}
		if may != notAsked {
			levels = slices.DeleteFunc(levels, func(l model.Level) bool { return unfit(l, ask.capability, may) })
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
	return notAsked, errors.New(a.describe())
}

// levels are those that what the key was seen to be allowed leaves (service.md 5.3).
func (r *reader) levels() []model.Level {
	if r.seesCosts == notAsked && r.seesPasswords == notAsked {
		return nil
	}
	return slices.DeleteFunc(model.Levels(), func(l model.Level) bool {
		return unfit(l, model.CapBilling, r.seesCosts) || unfit(l, model.CapSettings, r.seesPasswords)
	})
}

// unfit reports whether a key of a level would have been answered otherwise.
func unfit(l model.Level, c model.Capability, may allowed) bool {
	return may != notAsked && (l.Permission(c) == model.PermNo) != (may == no)
}

// Level is the key's level where only one is left, and empty otherwise.
func (f Facts) Level() model.Level {
	if len(f.Levels) != 1 {
		return ""
	}
	return f.Levels[0]
}

// JudgeLevel is the verdict on a level by what the key was seen to be allowed.
func (f Facts) JudgeLevel(l model.Level) Verdict {
	switch {
	case len(f.Levels) == 0:
		return Verdict{}
	case l == "":
		return open("it is %s (contract 5.3): choose which", f.LevelNames())
	case !slices.Contains(f.Levels, l):
		return bad("the account shows that it is %s: choose that", f.LevelNames())
	case len(f.Levels) > 1:
		return open("the account shows that it is %s, but not which of them (contract 5.3)", f.LevelNames())
	}
	return good("by what the key is allowed to do (contract 5.3)")
}

// LevelNames are the levels that are left, in words.
func (f Facts) LevelNames() string {
	words := make([]string, len(f.Levels))
	for i, l := range f.Levels {
		words[i] = l.String()
	}
	return strings.Join(words, " or ")
}

// LevelError says that a key is called by a level that what it was seen to be allowed leaves out.
type LevelError struct {
	Key    model.Key
	Allows string // the levels that are left, in words
}

func (e *LevelError) Error() string {
	return fmt.Sprintf("key %s is called %s, and the account shows that it is %s: by what it is allowed to see (contract 5.3)", e.Key.Name, e.Key.Level, e.Allows)
}

// Disputes is a *LevelError where a key is given a level that what it was seen to be allowed leaves out, or nil.
func (f Facts) Disputes(k model.Key) error {
	if f.JudgeLevel(k.Level).State != Failed {
		return nil
	}
	return &LevelError{k, f.LevelNames()}
}
