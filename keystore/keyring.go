package keystore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// verdictFor is how long a keyring that did not answer is left alone. If it were longer,
// a user who starts the keyring would have to restart the console as well.
const verdictFor = 30 * time.Second

// systemKeyring is the operating system's keyring: Secret Service on Linux,
// Keychain on macOS, Credential Manager on Windows.
type systemKeyring struct{}

var errNoBus = errors.New("there is no session bus")

// Get reads an entry.
func (systemKeyring) Get(service, name string) (string, error) {
	if err := busThere(); err != nil {
		return "", err
	}
	value, err := keyring.Get(service, name)
	if errors.Is(err, keyring.ErrNotFound) {
		return "", ErrSecretMissing
	}
	return value, err
}

// Set writes an entry.
func (systemKeyring) Set(service, name, value string) error {
	if err := busThere(); err != nil {
		return err
	}
	return keyring.Set(service, name, value)
}

// busThere is an error if there is no session bus. Without that check the D-Bus library
// would start a bus, which would have no keyring and would outlive the console.
func busThere() error {
	if runtime.GOOS != "linux" || os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = fmt.Sprintf("/run/user/%d", os.Getuid())
	}
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	return errNoBus
}

// keyringGate limits how long a keyring call may take. The library takes no context and
// may hang on a machine without a screen. So calls run one at a time, each in its own
// goroutine. After a call has timed out, others are refused at once for verdictFor; at
// most one goroutine hangs. If its call succeeds later, the verdict is lifted.
type keyringGate struct {
	kr      Keyring
	timeout time.Duration // only tests change it
	slot    chan struct{} // held while a call runs

	mu      sync.Mutex
	verdict error // why the keyring is left alone
	until   time.Time
}

func (g *keyringGate) get(ctx context.Context, ref Ref) (string, error) {
	service, name, _ := strings.Cut(ref.Target(), "/")
	return g.call(ctx, ref, func() (string, error) { return g.kr.Get(service, name) })
}

func (g *keyringGate) set(ctx context.Context, ref Ref, s Secret) error {
	service, name, _ := strings.Cut(ref.Target(), "/")
	_, err := g.call(ctx, ref, func() (string, error) { return "", g.kr.Set(service, name, s.Reveal()) })
	return err
}

func (g *keyringGate) remove(ctx context.Context, ref Ref) error {
	service, name, _ := strings.Cut(ref.Target(), "/")
	_, err := g.call(ctx, ref, func() (string, error) { return "", g.kr.Delete(service, name) })
	return err
}

type keyringAnswer struct {
	value string
	err   error
}

var errNoAnswer = errors.New("it does not answer")

func (g *keyringGate) call(ctx context.Context, ref Ref, f func() (string, error)) (string, error) {
	if err := g.standing(); err != nil {
		return "", g.unreachable(ref, err)
	}
	late := time.After(g.timeout)
	select {
	case g.slot <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("resolving %s: %w", ref.Label(), ctx.Err())
	case <-late:
		return "", g.unreachable(ref, errNoAnswer)
	}
	answers := make(chan keyringAnswer, 1)
	go func() {
		defer func() { <-g.slot }()
		value, err := f()
		g.judge(err)
		answers <- keyringAnswer{value, err}
	}()
	select {
	case a := <-answers:
		switch {
		case a.err == nil:
			return a.value, nil
		case errors.Is(a.err, ErrSecretMissing):
			return "", &SecretError{
				Ref: ref.Label(), Problem: "the keyring has no such entry", Kind: ErrSecretMissing,
				Fix: "add it with the system's own tool, as in secret-tool store --label=zonedeck service SERVICE username NAME, or choose another reference",
			}
		default:
			return "", g.unreachable(ref, a.err)
		}
	case <-ctx.Done():
		return "", fmt.Errorf("resolving %s: %w", ref.Label(), ctx.Err())
	case <-late:
		g.condemn(errNoAnswer)
		return "", g.unreachable(ref, errNoAnswer)
	}
}

func (g *keyringGate) unreachable(ref Ref, err error) error {
	return &SecretError{
		Ref: ref.Label(), Problem: "the keyring cannot be used", Kind: ErrSecretUnreachable, Err: err,
		Fix: "unlock or start the keyring, or use file:NAME or env:NAME instead",
	}
}

// standing is the current verdict, or nil.
func (g *keyringGate) standing() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.verdict != nil && time.Now().Before(g.until) {
		return g.verdict
	}
	return nil
}

// judge sets the verdict by the result of a finished call. An answer lifts it, even
// if the entry is missing.
func (g *keyringGate) judge(err error) {
	if err != nil && !errors.Is(err, ErrSecretMissing) {
		g.condemn(err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verdict = nil
}

func (g *keyringGate) condemn(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verdict, g.until = err, time.Now().Add(verdictFor)
}
