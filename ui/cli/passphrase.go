package cli

import (
	"context"

	"zonedeck/keystore"
	"zonedeck/service/profile"
	"zonedeck/ui/cli/session"
)

// passphrase gives the passphrase of a protected key: of the environment, as it was typed before,
// or, at a terminal, typed now.
func (a *app) passphrase(ctx context.Context, what string) (keystore.Secret, error) {
	switch env := a.Getenv(session.EnvPassphrase); {
	case env != "":
		return keystore.NewSecret(env), nil
	case !a.typed.Empty() || a.screen || !a.StdinTTY || a.flags.noInput || !keystore.MayAsk(ctx):
		return a.typed, nil
	}
	s, err := a.readSecret(what)
	if err == nil {
		a.typed = s
	}
	return s, err
}

// unlock asks for the passphrase of the secrets before the screen is the console's. Without one the
// console opens all the same: what is behind a file: reference then says that it is locked.
func (a *app) unlock(ctx context.Context) {
	r := keystore.NewResolver(keystore.ResolverOptions{SecretsDir: profile.FindPaths(a.Getenv).SecretsDir(), Passphrase: a.passphrase})
	if err := r.Unlock(ctx); err != nil {
		a.warn("the encrypted files of secrets stay locked: %s", oneLine(err))
		a.typed = keystore.Secret{}
	}
	a.screen = true
}
