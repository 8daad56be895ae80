package servicetest

import (
	"context"
	"errors"

	"zonedeck/keystore"
	"zonedeck/model"
)

// Source is the exchange.Source of a test. A function that is set answers, else Base, else there is nothing. Without
// a Base every key is permitted. To change one, make another with it as Base.
type Source struct {
	Base interface {
		Profile(ctx context.Context) (model.Profile, error)
		Secret(ctx context.Context, ref string) (keystore.Secret, error)
		Key(name string) (model.Key, bool)
		Permit(ctx context.Context, p model.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error)
	}
	ProfileBy func(ctx context.Context) (model.Profile, error)
	SecretBy  func(ctx context.Context, ref string) (keystore.Secret, error)
	KeyBy     func(name string) (model.Key, bool)
}

// SourceFor has a profile, and the keys and secrets of the tests.
func SourceFor(p model.Profile) Source {
	return Source{ProfileBy: func(context.Context) (model.Profile, error) { return p, nil }, SecretBy: Secret, KeyBy: Key}
}

// Source has the demo account's keys and secrets, and a profile.
func (d Demo) Source(p model.Profile) Source {
	return Source{Base: SourceFor(p), SecretBy: d.Secret, KeyBy: d.Key}
}

// Profile gives the profile in use.
func (s Source) Profile(ctx context.Context) (model.Profile, error) {
	switch {
	case s.ProfileBy != nil:
		return s.ProfileBy(ctx)
	case s.Base != nil:
		return s.Base.Profile(ctx)
	default:
		return model.Profile{}, nil
	}
}

// Secret resolves a reference.
func (s Source) Secret(ctx context.Context, ref string) (keystore.Secret, error) {
	switch {
	case s.SecretBy != nil:
		return s.SecretBy(ctx, ref)
	case s.Base != nil:
		return s.Base.Secret(ctx, ref)
	default:
		return keystore.Secret{}, errors.New("the test has no secrets")
	}
}

// Key gives a key by name.
func (s Source) Key(name string) (model.Key, bool) {
	switch {
	case s.KeyBy != nil:
		return s.KeyBy(name)
	case s.Base != nil:
		return s.Base.Key(name)
	default:
		return model.Key{}, false
	}
}

// Permit is the Base's.
func (s Source) Permit(ctx context.Context, p model.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	if s.Base == nil {
		return take()
	}
	return s.Base.Permit(ctx, p, k, take)
}
