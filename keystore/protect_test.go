package keystore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age/armor"

	"zonedeck/internal/noerr"
)

const phrase = "correct horse battery"

// locked is a resolver over a folder that counts how often it asks for its passphrase. Passphrases cost
// next to nothing to try.
func locked(dir, given string) (r *Resolver, asked *int) {
	asked = new(int)
	r = NewResolver(ResolverOptions{SecretsDir: filepath.Join(dir, "secrets"), Passphrase: func(context.Context, string) (Secret, error) {
		*asked++
		return NewSecret(given), nil
	}})
	r.work = 6
	return r, asked
}

func TestTheKeyOfTheSecretsFolderIsProtectedAndUnlocked(t *testing.T) {
	for name, tt := range map[string]struct {
		by   Protection
		asks int
	}{
		"by a passphrase":          {ByPassphrase, 1},
		"by its permissions alone": {Unprotected, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, _ := locked(dir, phrase)
			noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
			noerr.Must(t, r.Protect(t.Context(), tt.by, NewSecret(phrase)))
			text, err := os.ReadFile(filepath.Join(dir, "secrets.key"))
			if err != nil || strings.Contains(string(text), "AGE-SECRET-KEY") != (tt.by == Unprotected) {
				t.Errorf("%v\n%s", err, text)
			}
			if p, err := r.Protection(); err != nil || p != tt.by {
				t.Errorf("%s %v", p, err)
			}
			again, asked := locked(dir, phrase)
			for range 3 {
				if s, err := again.Resolve(t.Context(), "file:a"); err != nil || s.Reveal() != sample {
					t.Fatalf("%v", err)
				}
			}
			noerr.Want(t, again.Store(t.Context(), "file:b", NewSecret(sample)))
			if *asked != tt.asks {
				t.Errorf("asked %d times, want %d", *asked, tt.asks)
			}
			noerr.Must(t, again.Protect(t.Context(), Unprotected, Secret{}))
			plain := NewResolver(ResolverOptions{SecretsDir: filepath.Join(dir, "secrets")})
			if s, err := plain.Resolve(t.Context(), "file:b"); err != nil || s.Reveal() != sample {
				t.Errorf("after the protection was taken off: %v", err)
			}
		})
	}
}

// While a question is open, what must not ask fails at once, a wait ends with its context, and the answer serves all.
func TestAnOpenQuestionHoldsUpOnlyWhatMayAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r, _ := locked(dir, phrase)
		noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
		noerr.Must(t, r.Protect(t.Context(), ByPassphrase, NewSecret(phrase)))
		asked, answer := 0, make(chan Secret)
		r = NewResolver(ResolverOptions{SecretsDir: filepath.Join(dir, "secrets"), Passphrase: func(ctx context.Context, _ string) (Secret, error) {
			if !mayAsk(ctx) {
				return Secret{}, nil
			}
			asked++
			return <-answer, nil
		}})
		results := make(chan error, 3)
		resolve := func(ctx context.Context) {
			go func() {
				s, err := r.Resolve(ctx, "file:a")
				if err == nil && s.Reveal() != sample {
					err = errors.New("another secret")
				}
				results <- err
			}()
			synctest.Wait()
		}
		resolve(t.Context())
		resolve(MayAsk(t.Context(), false))
		wantSecretError(t, <-results, ErrSecretUnreachable, "ZONEDECK_PASSPHRASE")
		ctx, cancel := context.WithCancel(t.Context())
		resolve(ctx)
		cancel()
		resolve(t.Context())
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("a wait whose context has ended: %v", err)
		}
		if !r.Passphrase().Empty() {
			t.Error("nothing is unlocked, and there is a passphrase")
		}
		answer <- NewSecret(phrase)
		for range 2 {
			noerr.Want(t, <-results)
		}
		resolve(MayAsk(t.Context(), false))
		if noerr.Want(t, <-results); asked != 1 || r.Passphrase().Reveal() != phrase {
			t.Errorf("asked %d times; the passphrase is %q", asked, r.Passphrase().Reveal())
		}
	})
}

func TestAPassphraseCostsASecondToTry(t *testing.T) {
	r, _ := locked(t.TempDir(), phrase)
	if cost := NewResolver(r.o).work; cost != 18 {
		t.Errorf("the work factor is %d", cost)
	}
	noerr.Must(t, r.Protect(t.Context(), ByPassphrase, NewSecret(phrase)))
	text, err := os.ReadFile(r.o.AgeIdentityFile)
	noerr.Must(t, err)
	plain, err := io.ReadAll(armor.NewReader(strings.NewReader(parseKeyFile(text).text)))
	noerr.Must(t, err)
	for line := range strings.Lines(string(plain)) {
		if cost, ok := strings.CutPrefix(line, "-> scrypt "); ok {
			if _, cost, _ = strings.Cut(strings.TrimSpace(cost), " "); cost != fmt.Sprint(r.work) {
				t.Errorf("the key is locked with the work factor %s, want %d", cost, r.work)
			}
			return
		}
	}
	t.Errorf("no passphrase opens it:\n%q", plain)
}

func TestALockedKeyStaysLocked(t *testing.T) {
	dir := t.TempDir()
	r, _ := locked(dir, phrase)
	noerr.Must(t, r.Protect(t.Context(), ByPassphrase, NewSecret(phrase)))
	noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
	wrong, _ := locked(dir, "another passphrase")
	_, err := wrong.Resolve(t.Context(), "file:a")
	wantSecretError(t, err, ErrSecretUnreachable, "cannot be unlocked")
	nobody := NewResolver(ResolverOptions{SecretsDir: filepath.Join(dir, "secrets")})
	_, err = nobody.Resolve(t.Context(), "file:a")
	wantSecretError(t, err, ErrSecretUnreachable, "ZONEDECK_PASSPHRASE")
	if err := nobody.Protect(t.Context(), Unprotected, Secret{}); !errors.Is(err, errLocked) {
		t.Errorf("taking the protection off: %v", err)
	}
}

// A try of a passphrase takes a second of a processor, and most of the machine's memory if many are made at once.
func TestOnePassphraseIsTriedAtATime(t *testing.T) {
	r, _ := locked(t.TempDir(), phrase)
	noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
	noerr.Must(t, r.Protect(t.Context(), ByPassphrase, NewSecret(phrase)))
	again, asked := locked(filepath.Dir(r.o.SecretsDir), phrase)
	again.unlocking <- struct{}{} // another try is under way
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := again.Resolve(ctx, "file:a"); !errors.Is(err, context.DeadlineExceeded) || *asked != 1 {
		t.Errorf("beside another try: %v, asked %d times", err, *asked)
	}
	<-again.unlocking
	if got, err := again.Resolve(t.Context(), "file:a"); err != nil || got.Reveal() != sample {
		t.Errorf("after it: %v", err)
	}
}

// TestAKeyWhoseLockCannotBeOpenedIsNeverReplaced has no passphrase, or a lock of an older version: before the first
// secret, where a new key could pass for it, and beside one.
func TestAKeyWhoseLockCannotBeOpenedIsNeverReplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		mark, want string
	}{
		"the passphrase": {"", "it is locked by a passphrase: give it in ZONEDECK_PASSPHRASE"},
		"an SSH key":     {sshLine + "/home/ops/.ssh/id_ed25519\n", "it is locked for an SSH key, which this version does not open"},
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, before the first secret %v", name, first), func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, "secrets.key")
				r, _ := locked(dir, phrase)
				if !first {
					noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
				}
				noerr.Must(t, r.Protect(t.Context(), ByPassphrase, NewSecret(phrase)))
				before, err := os.ReadFile(file)
				noerr.Must(t, err)
				before = append([]byte(tt.mark), before...)
				noerr.Must(t, os.WriteFile(file, before, 0o600))
				again, _ := locked(dir, "")
				_, read := again.Resolve(t.Context(), "file:a")
				tries := map[string]error{
					"storing":                    again.Store(t.Context(), "file:a", NewSecret(sample)),
					"taking the protection off":  again.Protect(t.Context(), Unprotected, Secret{}),
					"protecting in another way":  again.Protect(t.Context(), ByPassphrase, NewSecret(phrase)),
					"unlocking before the start": again.Unlock(t.Context()),
				}
				if !first {
					tries["reading"] = read
				}
				for what, err := range tries {
					if err == nil {
						t.Errorf("%s: it was done", what)
						continue
					}
					if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "is missing") || strings.Contains(err.Error(), "backup") {
						t.Errorf("%s: %v", what, err)
					}
				}
				if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
					t.Errorf("the key file has changed (%v):\n%s", err, after)
				}
			})
		}
	}
}

func TestAKeyFileBehindALinkThatLeadsNowhereIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	away := filepath.Join(dir, "unmounted", "secrets.key")
	if err := os.Symlink(away, filepath.Join(dir, "secrets.key")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skipf("symbolic links need a right that may be missing on Windows: %v", err)
		}
		t.Fatal(err)
	}
	r, _ := locked(dir, phrase)
	err := r.Store(t.Context(), "file:a", NewSecret(sample))
	wantSecretError(t, err, ErrSecretUnreachable, "the key to the secrets folder cannot be used")
	if to, err := os.Readlink(filepath.Join(dir, "secrets.key")); err != nil || to != away {
		t.Errorf("it leads to %q, %v", to, err)
	}
}

func TestAProtectionThatWouldNotOpenIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	r, _ := locked(dir, phrase)
	noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
	before, err := os.ReadFile(filepath.Join(dir, "secrets.key"))
	noerr.Must(t, err)
	for name, err := range map[string]error{
		"a short passphrase":  r.Protect(t.Context(), ByPassphrase, NewSecret("short")),
		"something else":      r.Protect(t.Context(), "prayer", Secret{}),
		"no folder for files": NewResolver(ResolverOptions{}).Protect(t.Context(), Unprotected, Secret{}),
	} {
		if err == nil {
			t.Errorf("%s: it was protected", name)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, "secrets.key")); err != nil || string(after) != string(before) {
		t.Errorf("the key has changed: %v", err)
	}
}

func FuzzKeyFile(f *testing.F) {
	f.Add("AGE-SECRET-KEY-1")
	f.Add("# ssh key: /x\n" + armorBegins + "\n")
	f.Add(armorBegins)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "key")
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		r := NewResolver(ResolverOptions{SecretsDir: dir, AgeIdentityFile: path})
		if id, err := r.identity(t.Context()); err == nil && !strings.Contains(text, id.String()) {
			t.Error("a key came from nowhere")
		}
	})
}
