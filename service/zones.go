package service

import (
	"context"
	"fmt"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
)

// Lookups by name: keys, zones, and their secrets.

// ZonePassword returns a zone's proxy password.
func (s *Service) ZonePassword(ctx context.Context, z model.Zone) (keystore.Secret, error) {
	if z.Password == "" {
		return keystore.Secret{}, fmt.Errorf("zone %q has no password reference: set password in the config file, or %s in the environment", z.Name, EnvPassword)
	}
	if err := config.RefuseLogin(s.CurrentProfile(), z); err != nil {
		return keystore.Secret{}, err
	}
	return s.Resolver.Resolve(ctx, z.Password)
}

// Skew is how far the service's clock is ahead, as last measured.
func (s *Service) Skew() (exchange.Skew, bool) { return s.Overview.Wire.Skew(s.CurrentProfile()) }

func (s *Service) demoSecret(name string) (keystore.Secret, bool) {
	if s.Local == nil {
		return keystore.Secret{}, false
	}
	return s.Local.Secret(name)
}

// Known is what a request by a profile is checked by, without keys and variables.
func (s *Service) Known(p model.Profile) fetch.Known {
	k := fetch.Known{Profile: p, Now: s.Now()}
	if len(p.Zones) == 0 && s.o.Getenv(EnvPassword) != "" {
		k.Password = "env:" + EnvPassword
	}
	return k
}

// Zone finds the zone that a command names.
func (s *Service) Zone(p model.Profile, name string) (model.Zone, error) {
	z, err := s.Known(p).Zone(model.ZoneName(name))
	if err != nil {
		return z, config.Mistake("%w", err)
	}
	return z, nil
}
