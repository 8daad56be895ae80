package service

import (
	"context"

	"zonedeck/model"
	"zonedeck/service/config"
)

// OwnRates is why no rates are written for the embedded emulator.
const OwnRates = "the embedded emulator announces the rates of its zones: there is nothing to save"

// SaveRates writes the rates of zones into the profile in use. The embedded emulator's are its
// own and cannot be written.
func (s *Service) SaveRates(ctx context.Context, rates map[model.ZoneName]model.Rate) error {
	return config.SetRates(ctx, s.configFile(), s.Base.Name, rates)
}
