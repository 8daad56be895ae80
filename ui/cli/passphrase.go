package cli

import (
	"context"

	"zonedeck/keystore"
	"zonedeck/service"
	"zonedeck/service/config"
)

// passphrase gives the passphrase of a protected key: of the environment, as it was typed before,
// or, at a terminal, typed now.
func (a *app) passphrase(ctx context.Context, what string) (keystore.Secret, error) {
	switch env := a.Getenv(service.EnvPassphrase); {
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

// unlockTries is how often a passphrase that does not open the secrets is asked for at the start.
const unlockTries = 3

// unlock asks for the passphrase of the secrets before the screen is the console's, and again where it is a wrong
// one. Without one the console opens all the same: what is behind a file: reference then says that it is locked.
func (a *app) unlock(ctx context.Context) {
	for try := 1; ; try++ {
		r := keystore.NewResolver(keystore.ResolverOptions{SecretsDir: config.FindPaths(a.Getenv).SecretsDir(), Passphrase: a.passphrase})
		err := r.Unlock(ctx)
		if err == nil {
			break
		}
		typed := !a.typed.Empty()
		a.typed = keystore.Secret{}
		if !typed || try == unlockTries {
			a.warn("the encrypted files of secrets stay locked: %s", oneLine(err))
			break
		}
		a.warn("it does not open them: %s", oneLine(err))
	}
	a.screen = true
}
