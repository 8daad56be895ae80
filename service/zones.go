package service

import (
	"context"
	"fmt"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
)

// Lookups by name: keys, zones, and their secrets.

// ZonePassword returns a zone's proxy password.
func (s *Service) ZonePassword(ctx context.Context, z model.Zone) (keystore.Secret, error) {
	if z.Password == "" {
		return keystore.Secret{}, fmt.Errorf("zone %q has no password reference: set password in the config file, or %s in the environment", z.Name, EnvPassword)
	}
	return s.Resolver.Resolve(ctx, z.Password)
}

// Skew is how far the service's clock is ahead, as last measured.
func (s *Service) Skew() (exchange.Skew, bool) { return s.Client.Skew(s.CurrentProfile()) }

func (s *Service) demoSecret(name string) (keystore.Secret, bool) {
	if s.Local == nil {
		return keystore.Secret{}, false
	}
	return s.Local.Secret(name)
}

// Zone finds the zone that a command names. A profile without a list of zones
// accepts every valid name.
func (s *Service) Zone(p model.Profile, name string) (model.Zone, error) {
	if z, ok := p.Zone(name); ok {
		return z, nil
	}
	if len(p.Zones) > 0 {
		return model.Zone{}, config.Mistake("zone %q is not in profile %q: it has %s", name, p.Name, zoneNames(p.Zones))
	}
	zone, err := model.ParseZoneName(name)
	if err != nil {
		return model.Zone{}, config.Mistake("%w", err)
	}
	z := model.Zone{Name: zone}
	if s.o.Getenv(EnvPassword) != "" {
		z.Password = "env:" + EnvPassword
	}
	return z, nil
}

func zoneNames(zones []model.Zone) string {
	names := ""
	for i, z := range zones {
		if i > 0 {
			names += ", "
		}
		names += string(z.Name)
	}
	return names
}
