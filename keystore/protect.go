package keystore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"zonedeck/keystore/textfile"
)

// The key to the secrets folder lies beside it: as it is, or encrypted with age itself for a
// passphrase. The files of the folder stay the same whatever protects the key, so that only one file
// changes, at once.

// Protection is what the key to the secrets folder is protected by.
type Protection string

// The protections. Unprotected leaves the key to the permissions of its file.
const (
	Unprotected  Protection = "none"
	ByPassphrase Protection = "passphrase"
)

const (
	// sshLine stands in key files of versions that locked them for an SSH key.
	sshLine     = "# ssh key: "
	armorBegins = "-----BEGIN AGE ENCRYPTED FILE-----"
	// workFactor is what the passphrase of a file costs to try, as a power of two: a second or so.
	// What another program wrote may cost up to maxWorkFactor.
	workFactor, maxWorkFactor = 18, 20
)

// keyFile is the key file as it lies there.
type keyFile struct {
	protection Protection
	ssh        bool   // it is locked for an SSH key
	text       string // plain or armored
}

func parseKeyFile(b []byte) keyFile {
	k := keyFile{protection: Unprotected, text: string(b)}
	i := bytes.Index(b, []byte(armorBegins))
	if i < 0 {
		return k
	}
	k.protection, k.text = ByPassphrase, string(b[i:])
	k.ssh = bytes.Contains(b[:i], []byte(sshLine))
	return k
}

// Protection says what the key to the secrets folder is protected by. Without a key yet it is Unprotected, and the
// error wraps fs.ErrNotExist.
func (r *Resolver) Protection() (Protection, error) {
	b, err := readKeyFile(r.o.AgeIdentityFile)
	if err != nil {
		return Unprotected, err
	}
	return parseKeyFile(b).protection, nil
}

// identity is the key to the secrets folder, unlocked. What was unlocked is remembered as long as
// the file stays the same.
func (r *Resolver) identity(ctx context.Context) (*age.X25519Identity, error) {
	b, err := readKeyFile(r.o.AgeIdentityFile)
	if err != nil {
		return nil, err
	}
	k := parseKeyFile(b)
	if k.protection == Unprotected {
		return plainIdentity(r.o.AgeIdentityFile, k.text)
	}
	sum := sha256.Sum256(b)
	r.unlocking.Lock()
	defer r.unlocking.Unlock()
	if r.unlocked != nil && r.unlockedOf == sum {
		return r.unlocked, nil
	}
	opens, err := r.opener(ctx, k)
	if err != nil {
		return nil, &lockedError{r.o.AgeIdentityFile, err}
	}
	plain, err := age.Decrypt(armor.NewReader(strings.NewReader(k.text)), opens)
	if err != nil {
		return nil, &lockedError{r.o.AgeIdentityFile, err}
	}
	text, err := io.ReadAll(io.LimitReader(plain, 64<<10))
	if err != nil {
		return nil, &lockedError{r.o.AgeIdentityFile, err}
	}
	id, err := plainIdentity(r.o.AgeIdentityFile, string(text))
	if err == nil {
		r.unlocked, r.unlockedOf = id, sum
	}
	return id, err
}

// identityOrNew is the key to the secrets folder, made where there is no key file. The file alone
// decides that: what opens a protected one may be missing as well.
func (r *Resolver) identityOrNew(ctx context.Context) (*age.X25519Identity, error) {
	if !r.hasKeyFile() {
		return makeIdentity(r.o.AgeIdentityFile, r.o.SecretsDir)
	}
	return r.identity(ctx)
}

// hasKeyFile reports whether there is a key file, or a link in its place wherever it leads.
func (r *Resolver) hasKeyFile() bool {
	_, err := os.Lstat(r.o.AgeIdentityFile)
	return !errors.Is(err, fs.ErrNotExist)
}

// Unlock opens a protected key, so that its passphrase is asked for now and not later. Without a key,
// or with one that needs no passphrase, it does nothing.
func (r *Resolver) Unlock(ctx context.Context) error {
	if !r.hasKeyFile() {
		return nil
	}
	_, err := r.identity(ctx)
	return err
}

// lockedError says why a protected key file, which is there, was not unlocked.
type lockedError struct {
	file string
	err  error
}

// Error names the file and what its lock lacks.
func (e *lockedError) Error() string { return e.file + " cannot be unlocked: " + e.err.Error() }

// Unwrap gives the cause.
func (e *lockedError) Unwrap() error { return e.err }

var (
	// errLocked says that nobody was there to give a passphrase.
	errLocked = errors.New("it is locked by a passphrase: give it in ZONEDECK_PASSPHRASE, or at a terminal")
	errSSH    = errors.New("it is locked for an SSH key, which this version does not open: unlock it by the version that locked it ('zonedeck secrets protect --by none')")
)

// opener is what decrypts a protected key.
func (r *Resolver) opener(ctx context.Context, k keyFile) (age.Identity, error) {
	if k.ssh {
		return nil, errSSH
	}
	var phrase Secret
	if r.o.Passphrase != nil {
		var err error
		if phrase, err = r.o.Passphrase(ctx, "the passphrase of zonedeck's secrets"); err != nil {
			return nil, err
		}
	}
	if phrase.Empty() {
		return nil, errLocked
	}
	id, err := age.NewScryptIdentity(phrase.Reveal())
	if err == nil {
		id.SetMaxWorkFactor(maxWorkFactor)
	}
	return id, err
}

// Protect protects the key to the secrets folder in another way: by a passphrase, or by its file's permissions alone.
// Without a key it makes one. The key file is replaced at once, after its replacement was opened as a check: a process
// that is killed leaves the old one or the new one.
func (r *Resolver) Protect(ctx context.Context, p Protection, phrase Secret) error {
	if r.o.SecretsDir == "" {
		return noSecretsDir("file:")
	}
	if err := os.MkdirAll(r.o.SecretsDir, 0o700); err != nil {
		return err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	id, err := r.identityOrNew(ctx)
	if err != nil {
		return err
	}
	text, err := r.sealed(id, p, phrase)
	if err != nil {
		return err
	}
	if err := r.opensAgain(ctx, text, id, phrase); err != nil {
		return err
	}
	return textfile.Write(r.o.AgeIdentityFile, text)
}

// sealed is the key file for an identity.
func (r *Resolver) sealed(id *age.X25519Identity, p Protection, phrase Secret) ([]byte, error) {
	plain := identityText(id)
	var to age.Recipient
	head := "# The key to zonedeck's secret files (age, X25519), encrypted; without it they cannot be opened.\n# public key: " + id.Recipient().String() + "\n"
	switch p {
	case Unprotected:
		return []byte(plain), nil
	case ByPassphrase:
		if len(phrase.Reveal()) < 8 {
			return nil, errors.New("a passphrase has at least eight characters")
		}
		scrypt, err := age.NewScryptRecipient(phrase.Reveal())
		if err != nil {
			return nil, err
		}
		scrypt.SetWorkFactor(r.work)
		to = scrypt
	default:
		return nil, fmt.Errorf("%q protects nothing: write none or passphrase", p)
	}
	var out bytes.Buffer
	out.WriteString(head)
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, to)
	if err == nil {
		_, err = io.WriteString(w, plain)
		err = errors.Join(err, w.Close(), armored.Close())
	}
	return out.Bytes(), err
}

// opensAgain checks that a key file gives the identity back.
func (r *Resolver) opensAgain(ctx context.Context, text []byte, id *age.X25519Identity, phrase Secret) error {
	k := parseKeyFile(text)
	if k.protection == Unprotected {
		return nil
	}
	probe := &Resolver{o: r.o}
	probe.o.Passphrase = func(context.Context, string) (Secret, error) { return phrase, nil }
	opens, err := probe.opener(ctx, k)
	if err != nil {
		return err
	}
	plain, err := age.Decrypt(armor.NewReader(strings.NewReader(k.text)), opens)
	if err != nil {
		return fmt.Errorf("the new key file would not open: %w", err)
	}
	b, err := io.ReadAll(plain)
	if err != nil || string(b) != identityText(id) {
		return errors.Join(errors.New("the new key file would not open"), err)
	}
	return nil
}
