package service

import (
	"context"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
)

// Diagnose is fetch.Diagnose with the operator's rules.
func (s *Service) Diagnose(ctx context.Context, saved fetch.Saved) (model.FetchResult, error) {
	added, err := s.added.For(s.Base.Name)
	if err != nil {
		return model.FetchResult{}, err
	}
	saved.Rules, saved.Bodies, saved.Now = added, exchange.Bodies{Dir: s.Paths.BodiesDir()}, s.o.Now
	return fetch.Diagnose(ctx, saved)
}
