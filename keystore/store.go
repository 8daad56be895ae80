package keystore

import (
	"context"
	"errors"

	"github.com/zalando/go-keyring"
)

// Delete deletes an entry.
func (systemKeyring) Delete(service, name string) error {
	if err := busThere(); err != nil {
		return err
	}
	err := keyring.Delete(service, name)
	if errors.Is(err, keyring.ErrNotFound) {
		return ErrSecretMissing
	}
	return err
}

// ProbeKeyring reports whether the keyring answers: nil, or why not. It asks for an entry that nobody
// has, once: an answer is remembered, a failure for as long as a failure of any call.
func (r *Resolver) ProbeKeyring(ctx context.Context) error {
	r.probe.Lock()
	defer r.probe.Unlock()
	if r.answered {
		return nil
	}
	_, err := r.keyring.get(ctx, "keyring:zonedeck/probe-of-the-keyring")
	if err == nil || errors.Is(err, ErrSecretMissing) {
		r.answered = true
		return nil
	}
	return err
}
