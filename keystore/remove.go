package keystore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"zonedeck/keystore/textfile"
)

// Remove takes away the secret behind a keyring: or file: reference. One that is not there is no error.
func (r *Resolver) Remove(ctx context.Context, ref string) error {
	parsed, err := ParseRef(ref)
	if err != nil {
		return &SecretError{What: err.Error(), Kind: ErrRefForm}
	}
	if !parsed.Storable() || parsed.Scheme() == SchemeFile && r.o.SecretsDir == "" {
		return &SecretError{
			Ref: parsed.Label(), What: "the console removes nothing there", Kind: ErrNotStorable,
			Fix: "remove it where it lives",
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("removing %s: %w", parsed.Label(), err)
	}
	if parsed.Scheme() == SchemeKeyring {
		err := r.keyring.remove(ctx, parsed)
		if errors.Is(err, ErrSecretMissing) {
			return nil
		}
		return err
	}
	r.files.Lock()
	defer r.files.Unlock()
	unlock, err := textfile.Lock(ctx, r.o.AgeIdentityFile)
	if err == nil {
		defer unlock()
		err = removeInside(r.o.SecretsDir, parsed.Target()+ageSuffix)
	}
	if err != nil {
		return &SecretError{Ref: parsed.Label(), What: "the file cannot be removed", Kind: ErrSecretUnreachable, Err: err}
	}
	return nil
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
