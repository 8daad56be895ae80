package session

import (
	"context"
	"fmt"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
)

// source is the exchange.Source of the profile in use.
type source struct{ *Session }

func (s source) Secret(ctx context.Context, ref string) (keystore.Secret, error) {
	return s.secret(ctx, ref)
}

func (s source) Permit(ctx context.Context, p config.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	return s.permit(ctx, p, k, take)
}

// otherSource is the exchange.Source of another profile of the configuration. A key from the environment belongs to
// the profile in use only. Nobody is asked for a passphrase: the person at the terminal works with another profile.
type otherSource struct {
	*Session
	name string
}

func (s otherSource) Profile(context.Context) (config.Profile, error) {
	if err := s.readKeys(); err != nil {
		return config.Profile{}, err
	}
	for _, p := range s.otherProfiles() {
		if p.Name == s.name {
			return p, nil
		}
	}
	return config.Profile{}, fmt.Errorf("profile %s is not in the config file", s.name)
}

func (s otherSource) Secret(ctx context.Context, ref string) (keystore.Secret, error) {
	return s.secret(keystore.Unasked(ctx), ref)
}

func (s otherSource) Key(name string) (model.Key, bool) {
	k := named(s.recorded(), name)
	return k, k.Name != ""
}

func (s otherSource) Permit(ctx context.Context, p config.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	return s.permitOther(ctx, p, k, take)
}

// otherProfiles are the profiles of the configuration besides the one in use.
func (s *Session) otherProfiles() []config.Profile {
	profiles, _ := s.Configured()
	return slices.DeleteFunc(profiles, func(p config.Profile) bool { return p.Name == s.Base.Name })
}

// others are the accounts besides the one in use, whose jobs are followed too.
func (s *Session) others() *service.Others {
	return &service.Others{
		Profiles: s.otherProfiles, Source: func(profile string) exchange.Source { return otherSource{s, profile} }, Now: s.o.Now,
	}
}
