package console

import (
	"zonedeck/service"
	"zonedeck/ui/kit"
	"zonedeck/ui/rates"
)

// ratesCommands are the palette's entries about the rates of zones.
func (c *Console) ratesCommands(theme *kit.Theme) []kit.Binding {
	s := c.service
	p := s.CurrentProfile()
	d := rates.Deps{Ctx: c.ctx, Theme: theme, Profile: p, Keys: s.Keys.Inventory().AllNow(), Measure: s.Client.MeasureRates, Save: s.SaveRates}
	if err := p.Refuse("write rates"); err != nil {
		d.Refused = err.Error()
	} else if p.Local {
		d.Refused = service.OwnRates
	}
	return rates.Commands(d)
}
