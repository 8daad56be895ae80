package console

import (
	"context"

	"zonedeck/model"
	"zonedeck/service"
	servicerates "zonedeck/service/rates"
	"zonedeck/ui/kit"
	"zonedeck/ui/rates"
)

// ratesCommands are the palette's entries about the rates of zones.
func (c *Console) ratesCommands(theme *kit.Theme) []kit.Binding {
	s := c.service
	p := s.CurrentProfile()
	d := rates.Deps{Ctx: c.ctx, Theme: theme, Profile: p.Name, Zones: len(p.Zones), Keys: s.Keys.Inventory().AllNow(), Account: billing{s}}
	if err := s.Profiles.RefuseRates(); err != nil {
		d.Refused = err.Error()
	}
	return rates.Commands(d)
}

// billing is what the account of the profile in use says of its costs.
type billing struct{ service *service.Service }

func (b billing) Refusal(k model.Key) error {
	return servicerates.Refusal(b.service.CurrentProfile(), k)
}

func (b billing) Measure(ctx context.Context, key string) ([]model.ZoneCost, error) {
	return b.service.Overview.MeasureRates(ctx, key)
}

func (b billing) Save(ctx context.Context, rates map[model.ZoneName]model.Rate) error {
	return b.service.Profiles.SaveRates(ctx, rates)
}
