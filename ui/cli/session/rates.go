package session

import (
	"context"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/ui/kit"
	"zonedeck/ui/rates"
)

// OwnRates is why no rates are written for the embedded emulator.
const OwnRates = "the embedded emulator announces the rates of its zones: there is nothing to save"

// SaveRates writes the rates of zones into the profile in use. The embedded emulator's are its
// own and cannot be written.
func (s *Session) SaveRates(ctx context.Context, rates map[model.ZoneName]model.Rate) error {
	return config.SetRates(ctx, s.configFile(), s.Base.Name, rates)
}

// ratesCommands are the palette's entries about the rates of zones.
func (c *Console) ratesCommands(theme *kit.Theme) []kit.Binding {
	s := c.session
	p := s.CurrentProfile()
	d := rates.Deps{Ctx: c.ctx, Theme: theme, Profile: p, Keys: s.Keys.Inventory().AllNow(), Measure: s.Client.MeasureRates, Save: s.SaveRates}
	if err := p.Refuse("write rates"); err != nil {
		d.Refused = err.Error()
	} else if p.Local {
		d.Refused = OwnRates
	}
	return rates.Commands(d)
}
