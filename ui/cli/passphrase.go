package cli

import (
	"context"

	"zonedeck/keystore"
)

// unlockTries is how often a passphrase that does not open the secrets is asked for at the start.
const unlockTries = 3

// unlock asks for the passphrase of the secrets before the screen is the console's, and again where it is a wrong
// one. Without one the console opens all the same, and asks when something is behind a file: reference.
func (a *app) unlock(ctx context.Context) {
	for try := 1; ; try++ {
		err := a.options(needs{}).Unlock(ctx)
		if err == nil {
			return
		}
		typed := !a.typed.Empty()
		a.typed = keystore.Secret{}
		if !typed || try == unlockTries {
			a.warn("the encrypted files of secrets stay locked: %s", oneLine(err))
			return
		}
		a.warn("it does not open them: %s", oneLine(err))
	}
}
