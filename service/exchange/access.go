package exchange

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
)

// Access is where a call's profile, key and secrets come from. All functions but
// Permit must be set; they are safe for concurrent use.
type Access struct {
	// Profile gives the profile in use, as valid now. For the embedded emulator it
	// makes sure that the emulator runs.
	Profile func(ctx context.Context) (config.Profile, error)
	// Secret gives the value that a reference stands for.
	Secret func(ctx context.Context, ref string) (keystore.Secret, error)
	// Key gives a key of the inventory by name.
	Key func(name string) (model.Key, bool)
	// Permit decides whether a key may be used with a profile and gives its value, which it gets from
	// take: a key that is refused is not asked for, and one without a reference has no value to take. Its
	// error ends the call before anything is sent. Nil permits every key.
	Permit func(ctx context.Context, p config.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error)
}

// Current gives the profile with its dialect.
func (a Access) Current(ctx context.Context) (config.Profile, dialect.Dialect, error) {
	p, err := a.Profile(ctx)
	if err != nil {
		return config.Profile{}, dialect.Dialect{}, fmt.Errorf("profile: %w", err)
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return config.Profile{}, dialect.Dialect{}, model.BadField("profile", "%w", err)
	}
	return p, d, nil
}

// KeyFor gives the key to use and its value. An empty name means the key that the
// profile names. It refuses a key that is not in the inventory, that has no reference, or
// that Permit refuses, whose error is returned as it is.
func (a Access) KeyFor(ctx context.Context, p config.Profile, name string) (model.Key, keystore.Secret, error) {
	if name == "" {
		name = p.Key
	}
	if name == "" {
		return model.Key{}, keystore.Secret{}, model.BadField("key", "profile %s names no key; pick one", p.Name)
	}
	k, ok := a.Key(name)
	if !ok {
		return model.Key{}, keystore.Secret{}, model.BadField("key", "%q is not in the key inventory", name)
	}
	take := func() (keystore.Secret, error) {
		if k.Secret == "" {
			return keystore.Secret{}, model.BadField("key", "%s is only tracked; give it a reference to its value (env:, keyring:, file:, cmd:) to use it", name)
		}
		return a.Resolve(ctx, "key", k.Secret)
	}
	var s keystore.Secret
	var err error
	if a.Permit == nil {
		s, err = take()
	} else {
		s, err = a.Permit(ctx, p, k, take)
	}
	if err != nil {
		return k, keystore.Secret{}, err
	}
	return k, s, nil
}

// Login takes a zone's proxy login from the profile and the password's reference.
func (a Access) Login(ctx context.Context, p config.Profile, z model.Zone, params []model.Param) (Login, error) {
	name, err := Username(p, z.Name, params)
	if err != nil {
		return Login{}, err
	}
	password, err := a.Resolve(ctx, "password", z.Password)
	return Login{Username: name, Password: password}, err
}

// Variables are the values of the secrets in a request, by the names of their variables.
func (a Access) Variables(ctx context.Context, r model.FetchRequest) (map[string]keystore.Secret, error) {
	values := map[string]keystore.Secret{}
	for _, name := range slices.Sorted(maps.Keys(r.Secrets)) {
		s, err := a.Secret(ctx, r.Secrets[name])
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && errors.Is(err, context.Canceled):
			return nil, err
		case err != nil:
			return nil, model.BadField(r.SecretField(name), "{{%s}}: %w", name, err)
		case s.Empty():
			return nil, model.BadField(r.SecretField(name), "{{%s}}: %s is empty", name, r.Secrets[name])
		}
		values[name] = s
	}
	return values, nil
}

// Resolve gives a reference's value for a field of the form.
func (a Access) Resolve(ctx context.Context, field, ref string) (keystore.Secret, error) {
	s, err := a.Secret(ctx, ref)
	switch {
	case err == nil && s.Empty():
		return s, model.BadField(field, "%s is empty", ref)
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return s, context.Cause(ctx)
	case errors.Is(err, context.Canceled):
		return s, err
	default:
		return s, model.BadField(field, "%w", err)
	}
}

// Username is the name of a proxy login (service.md 5.2).
func Username(p config.Profile, zone model.ZoneName, params []model.Param) (string, error) {
	name, err := model.Credential{Prefix: p.UsernamePrefix, Account: p.Account, Zone: zone, Params: params}.Username()
	if err == nil {
		return name, nil
	}
	field := "profile"
	var ue *model.UsernameError
	if errors.As(err, &ue) && ue.Part != "prefix" && ue.Part != "account" {
		field = ue.Part
	}
	return "", model.BadField(field, "username: %w", err)
}
