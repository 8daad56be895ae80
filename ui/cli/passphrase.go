package cli

import (
	"context"

	"zonedeck/keystore"
)

// unlockTries is how often the passphrase is asked for at the start.
const unlockTries = 3

// unlock asks for the passphrase of the secrets before the console takes the screen, and again if it is wrong.
// Without it the console still opens, and asks when it needs a secret behind a file: reference.
func (a *app) unlock(ctx context.Context) {
	for try := 1; ; try++ {
		err := a.options(needs{}).Unlock(ctx)
		if err == nil {
			return
		}
		typed := !a.typed.Empty()
		a.typed = keystore.Secret{}
		if !typed || try == unlockTries {
			a.warn("the encrypted files of secrets stay locked: %s", err)
			return
		}
		a.warn("this passphrase does not open the encrypted files: %s", err)
	}
}
