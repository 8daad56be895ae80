package session

import (
	"context"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// SaveRates writes the rates of zones into the profile in use. The embedded emulator's are its
// own and cannot be written.
func (s *Session) SaveRates(ctx context.Context, rates map[model.ZoneName]model.Rate) error {
	return profile.SetRates(ctx, s.configFile(), s.Base.Name, rates)
}
