package keystore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"zonedeck/keystore/textfile"
)

// ErrOtherSecret is wrapped where a reference gives another secret than it was said to.
var ErrOtherSecret = errors.New("another secret is there now")

// Remove takes away the secret behind a keyring: or file: reference. One that is not there is no error.
func (r *Resolver) Remove(ctx context.Context, ref string) error {
	return r.remove(ctx, ref, func() error { return nil })
}

// RemoveIf is Remove as long as the reference gives value: else the error wraps ErrOtherSecret, and what is
// there stays. No process of the console writes between the look and the removal; the keyring's own
// programs are not kept out.
func (r *Resolver) RemoveIf(ctx context.Context, ref string, value Secret) error {
	return r.remove(ctx, ref, func() error {
		there, err := r.Resolve(ctx, ref)
		switch {
		case errors.Is(err, ErrSecretMissing):
			return nil
		case err == nil && !there.Equal(value):
			return &SecretError{Ref: Ref(ref).Label(), Problem: "it stays", Kind: ErrOtherSecret, Err: ErrOtherSecret}
		}
		return err
	})
}

// remove takes a secret away if the check, which nobody writes beside, has no objection.
func (r *Resolver) remove(ctx context.Context, ref string, check func() error) error {
	parsed, err := ParseRef(ref)
	if err != nil {
		return &SecretError{Problem: err.Error(), Kind: errRefForm}
	}
	if !parsed.Storable() || parsed.Scheme() == SchemeFile && r.o.SecretsDir == "" {
		return &SecretError{
			Ref: parsed.Label(), Problem: "the console removes nothing there", Kind: ErrNotStorable,
			Fix: "remove it where it lives",
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("removing %s: %w", parsed.Label(), err)
	}
	fault := func(err error) error {
		return &SecretError{Ref: parsed.Label(), Problem: "it cannot be removed", Kind: ErrSecretUnreachable, Err: err}
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return fault(err)
	}
	defer unlock()
	if err := check(); err != nil {
		return err
	}
	if parsed.Scheme() == SchemeKeyring {
		if err := r.keyring.remove(ctx, parsed); !errors.Is(err, ErrSecretMissing) {
			return err
		}
		return nil
	}
	if err := removeInside(r.o.SecretsDir, parsed.Target()+ageSuffix); err != nil {
		return fault(err)
	}
	return nil
}

// lock keeps every other writer of secrets out, in this process and in others. Without a folder for
// secrets there is no place for a lock, and this process alone is kept in order.
func (r *Resolver) lock(ctx context.Context) (unlock func(), err error) {
	r.files.Lock()
	if r.o.SecretsDir == "" {
		return r.files.Unlock, nil
	}
	release, err := textfile.Lock(ctx, r.o.AgeIdentityFile)
	if err != nil {
		r.files.Unlock()
		return nil, err
	}
	return func() { release(); r.files.Unlock() }, nil
}

// removeInside removes a file of the folder; the name cannot lead out of it.
func removeInside(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a folder's handle; nothing was written through it
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
