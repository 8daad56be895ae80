package keystore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"filippo.io/age"

	"zonedeck/keystore/textfile"
)

// The files behind file: references are age files (age-encryption.org/v1). The console makes one X25519
// identity for them and keeps it next to the folder. That keeps the values out of backups of the folder,
// out of searches and off the screen. It does not protect them from a program that runs as the same user,
// unless Protect has locked the identity with a passphrase.

const ageSuffix = ".age"

func (r *Resolver) fromFile(ctx context.Context, ref Ref) (string, error) {
	if r.o.SecretsDir == "" {
		return "", noSecretsDir(ref)
	}
	sealed, err := readInside(r.o.SecretsDir, ref.Target()+ageSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &SecretError{
			Ref: ref.Label(), Problem: "no such file in " + r.o.SecretsDir, Kind: ErrSecretMissing,
			Fix: "write it there with age, encrypted for the identity in " + r.o.AgeIdentityFile + ", or choose another reference",
		}
	case err != nil:
		return "", &SecretError{Ref: ref.Label(), Problem: "the file cannot be read", Kind: ErrSecretUnreachable, Err: err}
	}
	id, err := r.identity(ctx)
	if err != nil {
		e := &SecretError{Ref: ref.Label(), Problem: "the key to the secrets folder cannot be used", Kind: ErrSecretUnreachable, Err: err}
		if _, locked := errors.AsType[*lockedError](err); !locked {
			e.Fix = "restore it from a backup; without it the folder's files cannot be opened"
		}
		return "", e
	}
	value, err := decrypted(bytes.NewReader(sealed), id)
	if err != nil {
		return "", &SecretError{
			Ref: ref.Label(), Problem: "the file cannot be decrypted with " + r.o.AgeIdentityFile, Kind: errSecretUnusable, Err: err,
			Fix: "store the secret again",
		}
	}
	return value, nil
}

// decrypted is a text that age has encrypted, or so much of it that it is too long for a secret.
func decrypted(sealed io.Reader, id age.Identity) (string, error) {
	plain, err := age.Decrypt(sealed, id)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(plain, maxSecret+1))
	return string(b), err
}

// toFile encrypts and replaces the file in one step.
func (r *Resolver) toFile(ctx context.Context, ref Ref, s Secret) error {
	if r.o.SecretsDir == "" {
		return noSecretsDir(ref)
	}
	fault := func(what string, err error) error {
		return &SecretError{Ref: ref.Label(), Problem: what, Kind: ErrSecretUnreachable, Err: err}
	}
	if err := os.MkdirAll(r.o.SecretsDir, 0o700); err != nil {
		return fault("the secrets folder cannot be made", err)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return fault("the secrets folder is in use", err)
	}
	defer unlock()
	id, err := r.identityOrNew(ctx)
	if err != nil {
		return fault("the key to the secrets folder cannot be used", err)
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, id.Recipient())
	if err != nil {
		return fault("the secret cannot be encrypted", err)
	}
	_, err = io.WriteString(w, s.Reveal())
	if err := errors.Join(err, w.Close()); err != nil {
		return fault("the secret cannot be encrypted", err)
	}
	if err := writeInside(r.o.SecretsDir, ref.Target()+ageSuffix, sealed.Bytes()); err != nil {
		return fault("the file cannot be written", err)
	}
	return nil
}

func noSecretsDir(ref Ref) error {
	return &SecretError{
		Ref: ref.Label(), Problem: "there is no folder for secrets", Kind: ErrSecretUnreachable,
		Fix: "use env:NAME or keyring:service/name",
	}
}

// readInside reads a file in the folder, which is trusted. The name cannot lead out of it.
func readInside(dir, name string) ([]byte, error) {
	if err := textfile.TrustedSecret(filepath.Join(dir, name)); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSecret+(4<<10))) // age adds a header and 16 bytes per 64 KiB
}

// writeInside replaces a file in the folder atomically.
func writeInside(dir, name string, b []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a folder's handle; nothing was written through it
	return textfile.WriteIn(root, name, b)
}

// readKeyFile reads the key file. It refuses a file that other users can read or may have written, and a link.
func readKeyFile(path string) ([]byte, error) {
	f, err := textfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by other users: run chmod 600 on it", path)
	}
	if err := textfile.TrustedSecret(path); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, 64<<10))
}

// plainIdentity parses the key in an unencrypted key file.
func plainIdentity(path, text string) (*age.X25519Identity, error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, err := age.ParseX25519Identity(line)
		if err != nil {
			// The library's error may repeat part of the line.
			return nil, fmt.Errorf("%s holds no X25519 identity (AGE-SECRET-KEY-1…)", path)
		}
		return id, nil
	}
	return nil, fmt.Errorf("%s is empty", path)
}

// makeIdentity makes the key. If the folder already holds files, their key was lost: a new key
// would hide that they can no longer be opened.
func makeIdentity(path, dir string) (*age.X25519Identity, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ageSuffix) {
			return nil, fmt.Errorf("%s is missing, and %s holds files that were made with it: restore it, or move them away", path, dir)
		}
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	if err := textfile.Write(path, []byte(identityText(id))); err != nil {
		return nil, err
	}
	return id, nil
}

// identityText is the text of an unencrypted key file.
func identityText(id *age.X25519Identity) string {
	return "# The key to zonedeck's secret files (age, X25519). Keep it private; without it they cannot be opened.\n" +
		"# public key: " + id.Recipient().String() + "\n" + id.String() + "\n"
}
