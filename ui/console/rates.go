package console

import (
	"context"
	"slices"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/exchange"
	servicerates "zonedeck/service/rates"
	"zonedeck/ui/kit"
	"zonedeck/ui/rates"
)

// ratesDeps are the parts of what asks the account of its money.
func (c *Console) ratesDeps() rates.Deps {
	s := c.service
	p := s.CurrentProfile()
	d := rates.Deps{Ctx: c.ctx, Theme: c.theme, Profile: p.Name, Keys: s.Keys.Inventory().AllNow(), Account: billing{s}, Typed: servicerates.Typed}
	if err := s.Profiles.RefuseRates(); err != nil {
		d.Refused = err.Error()
	}
	return d
}

// spending is what is spent: by the calls of this session, and by the account.
type spending struct {
	*exchange.Wire
	console *Console
}

func (s spending) Balance() kit.Overlay { return rates.Balance(s.console.ratesDeps()) }

// billing is what the account of the profile in use says of its costs.
type billing struct{ service *service.Service }

// Money is asked for by a key that may be the account's.
func (b billing) Money(ctx context.Context) (model.Money, error) {
	others := b.service.State().OtherAccounts
	return b.service.Overview.GetMoney(ctx, slices.DeleteFunc(b.service.Keys.Inventory().AllNow(), func(k model.Key) bool { return others[k.Name] != "" }))
}

func (b billing) Refusal(k model.Key) error {
	return servicerates.Refusal(b.service.CurrentProfile(), k)
}

func (b billing) Measure(ctx context.Context, key string) ([]model.ZoneCost, error) {
	return b.service.Overview.MeasureRates(ctx, key)
}

func (b billing) Save(ctx context.Context, rates map[model.ZoneName]model.Rate) error {
	return b.service.Profiles.SaveRates(ctx, rates)
}
