package keystore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/zalando/go-keyring"
)

// Remove deletes the secret that a keyring: or file: reference points to. That there is none is
// fine. Errors are as for Store.
func (r *Resolver) Remove(ctx context.Context, ref string) error {
	parsed, err := ParseRef(ref)
	if err != nil {
		return &SecretError{What: err.Error(), Kind: ErrRefForm}
	}
	if !parsed.Storable() {
		return &SecretError{
			Ref: parsed.Label(), What: "the console did not store it and does not delete it", Kind: ErrNotStorable,
			Fix: "delete it where it lives",
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("deleting %s: %w", parsed.Label(), err)
	}
	if parsed.Scheme() == SchemeKeyring {
		err := r.keyring.remove(ctx, parsed)
		if errors.Is(err, ErrSecretMissing) {
			return nil
		}
		return err
	}
	return r.removeFile(parsed)
}

func (r *Resolver) removeFile(ref Ref) error {
	if r.o.SecretsDir == "" {
		return noSecretsDir(ref)
	}
	r.files.Lock()
	defer r.files.Unlock()
	root, err := os.OpenRoot(r.o.SecretsDir)
	if err == nil {
		defer func() { _ = root.Close() }() // a folder's handle
		err = root.Remove(ref.Target() + ageSuffix)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &SecretError{Ref: ref.Label(), What: "the file cannot be deleted", Kind: ErrSecretUnreachable, Err: err}
	}
	return nil
}

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
