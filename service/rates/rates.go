// Package rates asks an account what its zones cost. The call is a dialect's; the contract
// shows none. The client calls it, when the operator asks for it and never by itself.
package rates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// Config is what Measure needs.
type Config struct {
	Source exchange.Source
	Wire   *exchange.Wire
}

var (
	// ErrRefused says that the service did not show the costs to the key.
	ErrRefused = errors.New("the account does not show its costs")
	// ErrNoAnswer says that a call broke; asking again does no harm.
	ErrNoAnswer = errors.New("there was no answer")
)

// Typed is what is left where no key may see costs.
const Typed = "type the rates: zonedeck zones rates --set ZONE=DOLLARS"

// Refusal says why costs cannot be asked for through a profile and a key, or is nil. Nothing
// is asked or sent for it.
func Refusal(p model.Profile, k model.Key) error {
	d, err := dialect.Find(p.Dialect)
	switch {
	case err != nil:
		return err
	case !d.ShowsCosts():
		return model.BadField("profile", "the contract shows no call that tells a cost; the dialect %s knows one", dialect.WithCosts())
	case p.BaseURL == "":
		return model.BadField("profile", "profile %s has no base_url, and costs are asked for by the API", p.Name)
	case len(p.Zones) == 0:
		return model.BadField("profile", "profile %s names no zones", p.Name)
	}
	return RefuseKey(k)
}

// RefuseKey says why a key cannot ask for money, or is nil.
func RefuseKey(k model.Key) error {
	if k.Name != "" && k.Level.Permission(model.CapBilling) == model.PermNo {
		return model.BadField("key", "%s is %s, which has no access to billing: FINANCE or ADMIN has it (contract 5.3)", k.Name, k.Level)
	}
	return nil
}

// KeyFor is the key that money is asked for by: the profile's or, where it has none or one whose level has no access
// to billing, the first FINANCE key. An ADMIN key is chosen by the operator, never for them.
func KeyFor(own model.Key, keys []model.Key) model.Key {
	finance := slices.IndexFunc(keys, func(k model.Key) bool { return k.Level == model.LevelFinance })
	if own.Name != "" && RefuseKey(own) == nil || finance < 0 {
		return own
	}
	return keys[finance]
}

// Measure asks for the cost of every zone of the profile in use, one call for each whose product
// has a rate, by a key of
// the inventory or, without a name, the profile's. A zone of which no rate can be told has a
// Problem. An error ends it: it is a model.ErrRequest when nothing was sent, wraps ErrRefused
// after a 401 or 403, and ErrNoAnswer when a call broke.
func Measure(ctx context.Context, cfg Config, keyName string) ([]model.ZoneCost, error) {
	defer cfg.Wire.Begin()()
	p, d, err := exchange.Current(ctx, cfg.Source)
	if err != nil {
		return nil, err
	}
	if keyName == "" {
		keyName = p.Key
	}
	k, _ := cfg.Source.Key(keyName)
	if err := Refusal(p, k); err != nil {
		return nil, err
	}
	k, secret, err := exchange.KeyFor(ctx, cfg.Source, p, keyName)
	if err != nil {
		return nil, err
	}
	mask := exchange.MaskOf(secret, exchange.Login{})
	var out []model.ZoneCost
	for _, z := range p.Zones {
		if problem := model.Measurable(z.Product); problem != "" {
			out = append(out, model.ZoneCost{Zone: z, Problem: problem})
			continue
		}
		path, query := d.Costs(z.Name)
		status, kind, body, err := ask(ctx, cfg.Wire, exchange.Call{Profile: p, KeyName: k.Name, Key: secret, Method: http.MethodGet, Path: path, Query: query})
		if err != nil {
			return nil, fmt.Errorf("the cost of zone %s: %w: %s", z.Name, ErrNoAnswer, mask.Text(err.Error()))
		}
		one := model.ZoneCost{Zone: z}
		text := mask.Text(dialect.ErrorText(kind, body))
		switch {
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return nil, fmt.Errorf("%w to key %s (%d: %s). Take a FINANCE or ADMIN key or, without one, %s", ErrRefused, k.Name, status, strings.TrimSuffix(text, "."), Typed)
		case status < 200 || status > 299:
			one.Problem = fmt.Sprintf("the service answered %d: %s", status, text)
		default:
			if one, err = d.ZoneCost(z, body); err != nil {
				one = model.ZoneCost{Zone: z, Problem: err.Error()}
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// callTimeout and answerBytes bound a call.
const (
	callTimeout = 30 * time.Second
	answerBytes = 1 << 20
)

func ask(ctx context.Context, w *exchange.Wire, c exchange.Call) (status int, kind string, body []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, exchange.ErrTimeout)
	defer cancel()
	resp, _, err := w.API(ctx, c)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, answerBytes))
	return resp.StatusCode, resp.Header.Get("Content-Type"), body, err
}
