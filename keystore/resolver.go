package keystore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/age"

	"zonedeck/model"
)

// The errors that callers may check for when a reference gives no secret. An error of
// Resolve or Store is a *SecretError that wraps one of them (or errRefForm), or it
// wraps the context's error.
var (
	// ErrSecretMissing: the back end answered, and there is no secret.
	ErrSecretMissing = errors.New("secret missing")
	// ErrSecretUnreachable: the back end gave no answer, or not in time.
	ErrSecretUnreachable = errors.New("secret back end does not answer")
	// errSecretUnusable: there is a value, but it cannot be a key or a password.
	errSecretUnusable = errors.New("secret unusable")
	// ErrNotStorable: the reference's scheme takes no secrets.
	ErrNotStorable = errors.New("secrets cannot be stored there")
)

// SecretError says what happened, to which reference, and what to do. It never
// holds a value or the output of a command.
type SecretError struct {
	Ref     string // the reference's label, or empty when the form was wrong
	Problem string // what happened
	Fix     string // what to do
	Kind    error  // one of the sentinels above
	Err     error  // the back end's error, if it may be shown
}

// Error is the problem and its fix in one line.
func (e *SecretError) Error() string {
	var b strings.Builder
	if e.Ref != "" {
		b.WriteString(e.Ref)
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if e.Fix != "" {
		b.WriteString("; ")
		b.WriteString(e.Fix)
	}
	return b.String()
}

// Unwrap gives the kind and the cause.
func (e *SecretError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// maxSecret limits a secret, in bytes, wherever it comes from.
const maxSecret = 64 << 10

// Keyring is the part of the operating system's keyring that the console uses. Errors of Get and
// Delete wrap ErrSecretMissing if there is no such entry. Calls may hang.
type Keyring interface {
	Get(service, name string) (string, error)
	Set(service, name, value string) error
	Delete(service, name string) error
}

// ResolverOptions are what a Resolver works with. Every field is optional.
type ResolverOptions struct {
	// Getenv reads the environment; nil means os.Getenv. An empty variable counts
	// as missing.
	Getenv func(name string) string
	// Demo finds the embedded emulator's secrets; nil means none.
	Demo func(name string) (Secret, bool)
	// SecretsDir holds the encrypted files of file: references (0700), and
	// AgeIdentityFile the key to them (0600; empty means SecretsDir + ".key").
	// An empty SecretsDir turns file: off.
	SecretsDir      string
	AgeIdentityFile string
	// Passphrase asks for the passphrase of a protected key; what names the key. It returns an empty Secret if nobody
	// can be asked. Nil means the same.
	Passphrase func(ctx context.Context, what string) (Secret, error)
	// Trimmed names a reference, and the marks that were taken off the ends of its value; nil if nobody wants to know.
	Trimmed func(ref, marks string)
	// Keyring replaces the operating system's, for tests.
	Keyring Keyring
}

// The limits of one call to the keyring and of one command.
const (
	keyringTimeout = 3 * time.Second
	commandTimeout = 10 * time.Second
)

// Resolver finds the secrets behind references. It keeps none of them, only the
// unlocked key to the secrets folder with its passphrase.
type Resolver struct {
	o       ResolverOptions
	keyring *keyringGate
	files   sync.Mutex // one writer of secrets at a time in this process; see lock

	asking, unlocking chan struct{} // one place each: to ask for the passphrase, and to try it
	unlocked          atomic.Pointer[unlocked]

	probe    sync.Mutex
	answered bool // the keyring has answered a probe; guarded by probe

	patience time.Duration // for a command; only tests change it
	work     int           // the scrypt cost of a passphrase, as a power of two; only tests lower it
}

// unlocked is the key to the secrets folder, once a protected key file was opened.
type unlocked struct {
	id     *age.X25519Identity
	file   [32]byte // the SHA-256 of that key file
	phrase Secret
}

// NewResolver makes a Resolver. It touches neither the disk nor a keyring.
func NewResolver(o ResolverOptions) *Resolver {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Keyring == nil {
		o.Keyring = systemKeyring{}
	}
	if o.AgeIdentityFile == "" && o.SecretsDir != "" {
		o.AgeIdentityFile = o.SecretsDir + ".key"
	}
	return &Resolver{o: o, asking: make(chan struct{}, 1), unlocking: make(chan struct{}, 1), keyring: &keyringGate{kr: o.Keyring, timeout: keyringTimeout, slot: make(chan struct{}, 1)}, patience: commandTimeout, work: workFactor}
}

// Resolve returns the secret behind a reference. The value is never empty and has no
// control characters: it fits into a header and a login.
func (r *Resolver) Resolve(ctx context.Context, ref string) (Secret, error) {
	parsed, err := ParseRef(ref)
	if err != nil {
		return Secret{}, &SecretError{Problem: err.Error(), Kind: errRefForm}
	}
	if err := ctx.Err(); err != nil {
		return Secret{}, fmt.Errorf("resolving %s: %w", parsed.Label(), err)
	}
	var value string
	switch parsed.Scheme() {
	case SchemeEnv:
		value, err = r.fromEnv(parsed)
	case SchemeCmd:
		value, err = r.fromCommand(ctx, parsed)
	case SchemeKeyring:
		value, err = r.keyring.get(ctx, parsed)
	case SchemeFile:
		value, err = r.fromFile(ctx, parsed)
	case SchemeDemo:
		value, err = r.fromDemo(parsed)
	}
	if err != nil {
		return Secret{}, err
	}
	if err := checkValue(parsed, value); err != nil {
		return Secret{}, err
	}
	value, marks := model.TrimMarks(value)
	if marks != "" && r.o.Trimmed != nil {
		r.o.Trimmed(parsed.Label(), marks)
	}
	return NewSecret(value), checkValue(parsed, value)
}

// Store puts a secret where a keyring: or file: reference points, replacing what
// was there.
func (r *Resolver) Store(ctx context.Context, ref string, s Secret) error {
	parsed, err := ParseRef(ref)
	if err != nil {
		return &SecretError{Problem: err.Error(), Kind: errRefForm}
	}
	if !parsed.Storable() {
		return &SecretError{
			Ref: parsed.Label(), Problem: "a secret cannot be stored there by the console", Kind: ErrNotStorable,
			Fix: "set it where it lives, or use keyring:service/name or file:NAME",
		}
	}
	if err := checkValue(parsed, s.Reveal()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("storing %s: %w", parsed.Label(), err)
	}
	if parsed.Scheme() == SchemeFile {
		return r.toFile(ctx, parsed, s)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return &SecretError{Ref: parsed.Label(), Problem: "the secret cannot be stored", Kind: ErrSecretUnreachable, Err: err}
	}
	defer unlock()
	return r.keyring.set(ctx, parsed, s)
}

func (r *Resolver) fromEnv(ref Ref) (string, error) {
	value := r.o.Getenv(ref.Target())
	if value == "" {
		return "", &SecretError{
			Ref: ref.Label(), Problem: "the environment variable is not set", Kind: ErrSecretMissing,
			Fix: "export it before you start zonedeck, or choose another reference",
		}
	}
	return value, nil
}

func (r *Resolver) fromDemo(ref Ref) (string, error) {
	if r.o.Demo != nil {
		if s, ok := r.o.Demo(ref.Target()); ok {
			return s.Reveal(), nil
		}
	}
	return "", &SecretError{
		Ref: ref.Label(), Problem: "the embedded emulator has no such key or zone", Kind: ErrSecretMissing,
		Fix: "demo: works with the local emulator's own names only",
	}
}

// checkValue refuses a value that cannot be a key or a password. A line break would end
// a header, and usually means that the wrong thing was stored.
func checkValue(ref Ref, value string) error {
	var what string
	switch {
	case value == "":
		return &SecretError{
			Ref: ref.Label(), Problem: "the value is empty", Kind: ErrSecretMissing,
			Fix: "store the key or the password there",
		}
	case len(value) > maxSecret:
		what = "the value is longer than 64 KiB"
	case !printable(value):
		what = "the value holds a line break or another control character"
	default:
		return nil
	}
	return &SecretError{
		Ref: ref.Label(), Problem: what, Kind: errSecretUnusable,
		Fix: "store the key or the password alone",
	}
}
