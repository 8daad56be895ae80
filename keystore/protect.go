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

// The key to the secrets folder is stored next to it, either in plain text or encrypted by age with a
// passphrase. The protection does not affect the files in the folder: to change it, one file is replaced.

// Protection is how the key to the secrets folder is protected.
type Protection string

// The protections. Unprotected leaves the key to the permissions of its file.
const (
	Unprotected  Protection = "none"
	ByPassphrase Protection = "passphrase"
)

const (
	// sshLine marks key files that an earlier version locked with an SSH key.
	sshLine     = "# ssh key: "
	armorBegins = "-----BEGIN AGE ENCRYPTED FILE-----"
	// workFactor is the scrypt cost of one try of a passphrase, as a power of two: about a second.
	// Files of other programs may cost up to maxWorkFactor.
	workFactor, maxWorkFactor = 18, 20
)

// keyFile is the content of the key file.
type keyFile struct {
	protection Protection
	ssh        bool   // locked with an SSH key
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

// Protection says how the key to the secrets folder is protected. If there is no key yet, it is Unprotected and
// the error wraps fs.ErrNotExist.
func (r *Resolver) Protection() (Protection, error) {
	b, err := readKeyFile(r.o.AgeIdentityFile)
	if err != nil {
		return Unprotected, err
	}
	return parseKeyFile(b).protection, nil
}

// identity returns the key to the secrets folder, unlocked. An unlocked key is remembered as long as
// the file does not change.
func (r *Resolver) identity(ctx context.Context) (*age.X25519Identity, error) {
	b, err := readKeyFile(r.o.AgeIdentityFile)
	if err != nil {
		return nil, err
	}
	k := parseKeyFile(b)
	if k.protection == Unprotected {
		return plainIdentity(r.o.AgeIdentityFile, k.text)
	}
	if mayAsk(ctx) { // one question at a time, and none for what the last one has opened
		if err := enter(ctx, r.asking); err != nil {
			return nil, &lockedError{r.o.AgeIdentityFile, err}
		}
		defer func() { <-r.asking }()
	}
	sum := sha256.Sum256(b)
	if u := r.unlocked.Load(); u != nil && u.file == sum {
		return u.id, nil
	}
	phrase, err := r.passphrase(ctx, k)
	if err == nil {
		err = enter(ctx, r.unlocking)
	}
	if err != nil {
		return nil, &lockedError{r.o.AgeIdentityFile, err}
	}
	defer func() { <-r.unlocking }()
	if u := r.unlocked.Load(); u != nil && u.file == sum {
		return u.id, nil
	}
	text, err := openedBy(k, phrase)
	if err != nil {
		return nil, &lockedError{r.o.AgeIdentityFile, err}
	}
	id, err := plainIdentity(r.o.AgeIdentityFile, text)
	if err == nil {
		r.unlocked.Store(&unlocked{id, sum, phrase})
	}
	return id, err
}

// enter takes the one place of a channel, or ends with the context.
func enter(ctx context.Context, place chan struct{}) error {
	select {
	case place <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Passphrase is the one that has opened the key to the secrets folder, empty if none has.
func (r *Resolver) Passphrase() Secret {
	if u := r.unlocked.Load(); u != nil {
		return u.phrase
	}
	return Secret{}
}

type mayAskKey struct{}

// MayAsk is a context in which a person may be asked for a passphrase, or may not: what must not ask does not wait for
// an answer either. In other contexts it may.
func MayAsk(ctx context.Context, may bool) context.Context {
	return context.WithValue(ctx, mayAskKey{}, may)
}

func mayAsk(ctx context.Context) bool { return ctx.Value(mayAskKey{}) != false }

// identityOrNew returns the key to the secrets folder. It makes one only if there is no key file: if the
// passphrase of a protected file is missing, that is an error.
func (r *Resolver) identityOrNew(ctx context.Context) (*age.X25519Identity, error) {
	if !r.hasKeyFile() {
		return makeIdentity(r.o.AgeIdentityFile, r.o.SecretsDir)
	}
	return r.identity(ctx)
}

// hasKeyFile reports whether there is a key file. A symbolic link counts, wherever it leads.
func (r *Resolver) hasKeyFile() bool {
	_, err := os.Lstat(r.o.AgeIdentityFile)
	return !errors.Is(err, fs.ErrNotExist)
}

// Unlock opens a protected key: its passphrase is asked for now and not later. It asks for nothing if
// there is no key, or the key needs no passphrase.
func (r *Resolver) Unlock(ctx context.Context) error {
	if !r.hasKeyFile() {
		return nil
	}
	_, err := r.identity(ctx)
	return err
}

// lockedError says why a protected key file was not unlocked.
type lockedError struct {
	file string
	err  error
}

// Error names the file and the cause.
func (e *lockedError) Error() string { return e.file + " cannot be unlocked: " + e.err.Error() }

// Unwrap gives the cause.
func (e *lockedError) Unwrap() error { return e.err }

var (
	// errLocked: nobody gave a passphrase.
	errLocked = errors.New("it is locked by a passphrase: give it in ZONEDECK_PASSPHRASE, or at a terminal")
	errSSH    = errors.New("it is locked for an SSH key, which this version does not open: unlock it with the version that locked it ('zonedeck secrets protect --by none')")
)

// passphrase asks for the passphrase of a protected key.
func (r *Resolver) passphrase(ctx context.Context, k keyFile) (phrase Secret, err error) {
	switch {
	case k.ssh:
		return phrase, errSSH
	case r.o.Passphrase != nil:
		phrase, err = r.o.Passphrase(ctx, "the passphrase of zonedeck's secrets")
	}
	if err == nil && phrase.Empty() {
		err = errLocked
	}
	return phrase, err
}

// openedBy is the text of a key file that a passphrase protects.
func openedBy(k keyFile, phrase Secret) (string, error) {
	id, err := age.NewScryptIdentity(phrase.Reveal())
	if err != nil {
		return "", err
	}
	id.SetMaxWorkFactor(maxWorkFactor)
	return decrypted(armor.NewReader(strings.NewReader(k.text)), id)
}

// Protect changes how the key to the secrets folder is protected: by a passphrase, or by its file's permissions alone.
// Without a key it makes one. It checks that the new key file opens, then replaces the old one atomically: a killed
// process leaves either the old file or the new one.
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
	if err := opensAgain(text, id, phrase); err != nil {
		return err
	}
	return textfile.Write(r.o.AgeIdentityFile, text)
}

// sealed is the text of the key file for an identity.
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
func opensAgain(text []byte, id *age.X25519Identity, phrase Secret) error {
	k := parseKeyFile(text)
	if k.protection == Unprotected {
		return nil
	}
	if plain, err := openedBy(k, phrase); err != nil || plain != identityText(id) {
		return errors.Join(errors.New("the new key file would not open"), err)
	}
	return nil
}
