package exchange

import (
	"cmp"
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

// Source is where a call's profile, key and secrets come from. It is safe for concurrent use.
type Source interface {
	// Profile gives the profile in use as it is now. If that is the embedded emulator's,
	// it makes sure that the emulator runs.
	Profile(ctx context.Context) (model.Profile, error)
	// Secret gives the value that a reference stands for.
	Secret(ctx context.Context, ref string) (keystore.Secret, error)
	// Key gives a key by name.
	Key(name string) (model.Key, bool)
	// Permit decides whether a key may be used with a profile, and returns its value, which it gets from
	// take. For a key refused by its record take is not called; for one without a reference take fails. An
	// error ends the call before anything is sent.
	Permit(ctx context.Context, p model.Profile, k model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error)
}

// As is s with another profile. s still decides whether a key may be used with it.
func As(s Source, p model.Profile) Source { return as{s, p} }

type as struct {
	Source
	profile model.Profile
}

func (a as) Profile(context.Context) (model.Profile, error) { return a.profile, nil }

// AsLogin is As with the same value for every reference.
func AsLogin(s Source, p model.Profile, value keystore.Secret) Source {
	return asLogin{as{s, p}, value}
}

type asLogin struct {
	as
	value keystore.Secret
}

func (a asLogin) Secret(context.Context, string) (keystore.Secret, error) { return a.value, nil }

// AsKey is AsLogin with the same key for every name.
func AsKey(s Source, p model.Profile, k model.Key, value keystore.Secret) Source {
	return asKey{asLogin{as{s, p}, value}, k}
}

type asKey struct {
	asLogin
	key model.Key
}

func (a asKey) Key(string) (model.Key, bool) { return a.key, a.key.Name != "" }

// Fixed is a Source of one profile, key and value that permits every use. A key without a name is none.
func Fixed(p model.Profile, k model.Key, value keystore.Secret) Source {
	return fixed{asKey{asLogin{as{nil, p}, value}, k}}
}

type fixed struct{ asKey }

func (fixed) Permit(_ context.Context, _ model.Profile, _ model.Key, take func() (keystore.Secret, error)) (keystore.Secret, error) {
	return take()
}

// Current gives the profile with its dialect.
func Current(ctx context.Context, s Source) (model.Profile, dialect.Dialect, error) {
	p, err := s.Profile(ctx)
	if err != nil {
		return model.Profile{}, dialect.Dialect{}, fmt.Errorf("profile: %w", err)
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return model.Profile{}, dialect.Dialect{}, model.BadField("profile", "%w", err)
	}
	return p, d, nil
}

// KeyFor gives the key to use and its value. An empty name means the key that the
// profile names. It refuses a key that is not in the inventory or has no reference. An
// error of Permit is returned unchanged.
func KeyFor(ctx context.Context, s Source, p model.Profile, name string) (model.Key, keystore.Secret, error) {
	if name == "" {
		name = p.Key
	}
	if name == "" {
		return model.Key{}, keystore.Secret{}, model.BadField("key", "profile %s names no key; pick one", p.Name)
	}
	k, ok := s.Key(name)
	if !ok {
		return model.Key{}, keystore.Secret{}, model.BadField("key", "%q is not in the key inventory", name)
	}
	value, err := s.Permit(ctx, p, k, func() (keystore.Secret, error) {
		if k.Secret == "" {
			return keystore.Secret{}, model.BadField("key", "%w", OnlyTracked(name))
		}
		return Resolve(ctx, s, "key", k.Secret)
	})
	if err != nil {
		return k, keystore.Secret{}, err
	}
	return k, value, nil
}

// OnlyTracked says that a key has no reference to its value.
func OnlyTracked(name string) error {
	return fmt.Errorf("%s is only tracked; give it a reference to its value (env:, keyring:, file:, cmd:) to use it", name)
}

// LoginFor makes a zone's proxy login from the profile and the password's reference.
func LoginFor(ctx context.Context, s Source, p model.Profile, z model.Zone, params []model.Param) (Login, error) {
	name, err := Username(p, z.Name, params)
	if err = cmp.Or(err, config.RefuseLogin(p, z)); err != nil {
		return Login{}, err
	}
	password, err := Resolve(ctx, s, "password", z.Password)
	return Login{Username: name, Password: password}, err
}

// Variables returns the values of a request's secrets by variable name.
func Variables(ctx context.Context, s Source, r model.FetchRequest) (map[string]keystore.Secret, error) {
	values := map[string]keystore.Secret{}
	for _, name := range slices.Sorted(maps.Keys(r.Secrets)) {
		value, err := s.Secret(ctx, r.Secrets[name])
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && errors.Is(err, context.Canceled):
			return nil, err
		case err != nil:
			return nil, model.BadField(r.VariableField(name), "{{%s}}: %w", name, err)
		case value.Empty():
			return nil, model.BadField(r.VariableField(name), "{{%s}}: %s is empty", name, r.Secrets[name])
		}
		values[name] = value
	}
	return values, nil
}

// Resolve gives a reference's value. Its errors name the field of the form.
func Resolve(ctx context.Context, s Source, field, ref string) (keystore.Secret, error) {
	value, err := s.Secret(ctx, ref)
	switch {
	case err == nil && value.Empty():
		return value, model.BadField(field, "%s is empty", ref)
	case err == nil:
		return value, nil
	case ctx.Err() != nil:
		return value, context.Cause(ctx)
	case errors.Is(err, context.Canceled):
		return value, err
	default:
		return value, model.BadField(field, "%w", err)
	}
}

// Username is the name of a proxy login (service.md 5.2).
func Username(p model.Profile, zone model.ZoneName, params []model.Param) (string, error) {
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
