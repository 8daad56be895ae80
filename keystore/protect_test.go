package keystore

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"
)

// sshKey writes a key pair, protected by a passphrase if there is one.
func sshKey(t *testing.T, passphrase string) (path string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(private, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	half, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "id_ed25519")
	for name, b := range map[string][]byte{path: pem.EncodeToMemory(block), path + ".pub": ssh.MarshalAuthorizedKey(half)} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

const phrase = "correct horse battery"

// locked is a resolver over a folder, and how often it asked for a passphrase, which it is given.
// Its passphrases cost next to nothing to try.
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
	open, closed := sshKey(t, ""), sshKey(t, phrase)
	for name, tt := range map[string]struct {
		by     Protection
		sshKey string
		asks   int
	}{
		"by a passphrase":          {ByPassphrase, "", 1},
		"by an SSH key":            {BySSHKey, open, 0},
		"by a protected SSH key":   {BySSHKey, closed, 1},
		"by its permissions alone": {Unprotected, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, _ := locked(dir, phrase)
			if err := r.Store(t.Context(), "file:a", NewSecret(sample)); err != nil {
				t.Fatal(err)
			}
			if err := r.Protect(t.Context(), tt.by, NewSecret(phrase), tt.sshKey); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "secrets.key"))
			if err != nil || strings.Contains(string(text), "AGE-SECRET-KEY") != (tt.by == Unprotected) {
				t.Errorf("%v\n%s", err, text)
			}
			if p, path, err := r.Protection(); err != nil || p != tt.by || path != tt.sshKey {
				t.Errorf("%s %s %v", p, path, err)
			}
			again, asked := locked(dir, phrase)
			for range 3 {
				if s, err := again.Resolve(t.Context(), "file:a"); err != nil || s.Reveal() != sample {
					t.Fatalf("%v", err)
				}
			}
			if err := again.Store(t.Context(), "file:b", NewSecret(sample)); err != nil {
				t.Error(err)
			}
			if *asked != tt.asks {
				t.Errorf("asked %d times, want %d", *asked, tt.asks)
			}
			if err := again.Protect(t.Context(), Unprotected, Secret{}, ""); err != nil {
				t.Fatal(err)
			}
			plain := NewResolver(ResolverOptions{SecretsDir: filepath.Join(dir, "secrets")})
			if s, err := plain.Resolve(t.Context(), "file:b"); err != nil || s.Reveal() != sample {
				t.Errorf("after the protection was taken off: %v", err)
			}
		})
	}
}

func TestAPassphraseCostsASecondToTry(t *testing.T) {
	r, _ := locked(t.TempDir(), phrase)
	r.work = NewResolver(r.o).work
	if err := r.Protect(t.Context(), ByPassphrase, NewSecret(phrase), ""); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.o.AgeIdentityFile)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(armor.NewReader(strings.NewReader(parseKeyFile(text).text)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(plain)) {
		if cost, ok := strings.CutPrefix(line, "-> scrypt "); ok {
			if _, cost, _ = strings.Cut(strings.TrimSpace(cost), " "); cost != "18" {
				t.Errorf("the work factor is %s", cost)
			}
			return
		}
	}
	t.Errorf("no passphrase opens it:\n%q", plain)
}

func TestALockedKeyStaysLocked(t *testing.T) {
	dir := t.TempDir()
	r, _ := locked(dir, phrase)
	if err := r.Protect(t.Context(), ByPassphrase, NewSecret(phrase), ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Store(t.Context(), "file:a", NewSecret(sample)); err != nil {
		t.Fatal(err)
	}
	wrong, _ := locked(dir, "another passphrase")
	_, err := wrong.Resolve(t.Context(), "file:a")
	wantSecretError(t, err, ErrSecretUnreachable, "cannot be unlocked")
	nobody := NewResolver(ResolverOptions{SecretsDir: filepath.Join(dir, "secrets")})
	_, err = nobody.Resolve(t.Context(), "file:a")
	wantSecretError(t, err, ErrSecretUnreachable, "ZONEDECK_PASSPHRASE")
	if err := nobody.Protect(t.Context(), Unprotected, Secret{}, ""); !errors.Is(err, errLocked) {
		t.Errorf("taking the protection off: %v", err)
	}
}

// TestAKeyWhoseLockCannotBeOpenedIsNeverReplaced takes away what opens a protected key: before the
// first secret, where a new key could pass for it, and beside one.
func TestAKeyWhoseLockCannotBeOpenedIsNeverReplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		by        Protection
		sshKey    string // the passphrase of the SSH key
		gone      string // the half that is taken away
		unasked   bool
		want, fix string
	}{
		"the SSH key":                          {by: BySSHKey, want: "the SSH key PATH cannot be read", fix: "put it back"},
		"a protected SSH key":                  {by: BySSHKey, sshKey: phrase, want: "the SSH key PATH cannot be read", fix: "put it back"},
		"the public half":                      {by: BySSHKey, sshKey: phrase, gone: ".pub", want: "the SSH key PATH.pub cannot be read", fix: "put it back"},
		"the passphrase":                       {by: ByPassphrase, unasked: true, want: "it is locked by a passphrase", fix: "ZONEDECK_PASSPHRASE"},
		"the passphrase of the SSH key itself": {by: BySSHKey, sshKey: phrase, unasked: true, want: "PATH is locked by a passphrase", fix: "ZONEDECK_PASSPHRASE"},
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, before the first secret %v", name, first), func(t *testing.T) {
				dir, private := t.TempDir(), sshKey(t, tt.sshKey)
				r, _ := locked(dir, phrase)
				if !first {
					if err := r.Store(t.Context(), "file:a", NewSecret(sample)); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.Protect(t.Context(), tt.by, NewSecret(phrase), private); err != nil {
					t.Fatal(err)
				}
				given := phrase
				if tt.unasked {
					given = ""
				} else if err := os.Rename(private+tt.gone, private+tt.gone+".away"); err != nil {
					t.Fatal(err)
				}
				before, err := os.ReadFile(filepath.Join(dir, "secrets.key"))
				if err != nil {
					t.Fatal(err)
				}
				again, _ := locked(dir, given)
				_, read := again.Resolve(t.Context(), "file:a")
				tries := map[string]error{
					"storing":                    again.Store(t.Context(), "file:a", NewSecret(sample)),
					"taking the protection off":  again.Protect(t.Context(), Unprotected, Secret{}, ""),
					"protecting in another way":  again.Protect(t.Context(), ByPassphrase, NewSecret(phrase), ""),
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
					for _, w := range []string{strings.ReplaceAll(tt.want, "PATH", private), tt.fix} {
						if !strings.Contains(err.Error(), w) {
							t.Errorf("%s: no %q in %v", what, w, err)
						}
					}
					if strings.Contains(err.Error(), "is missing") || strings.Contains(err.Error(), "backup") {
						t.Errorf("%s: the key file is there: %v", what, err)
					}
				}
				if after, err := os.ReadFile(filepath.Join(dir, "secrets.key")); err != nil || string(after) != string(before) {
					t.Errorf("the key file has changed (%v):\n%s", err, after)
				}
			})
		}
	}
}

func TestThePathOfAnSSHKeyThatMovedIsWrittenAnew(t *testing.T) {
	dir, before, now := t.TempDir(), sshKey(t, ""), filepath.Join(t.TempDir(), "id")
	file := filepath.Join(dir, "secrets.key")
	r, _ := locked(dir, "")
	if err := r.Protect(t.Context(), BySSHKey, Secret{}, before); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(before, now); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), sshLine+before, sshLine+now, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Store(t.Context(), "file:a", NewSecret(sample)); err != nil {
		t.Error(err)
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
	if err := r.Store(t.Context(), "file:a", NewSecret(sample)); err != nil {
		t.Fatal(err)
	}
	mixed, other := sshKey(t, ""), sshKey(t, "")
	public, err := os.ReadFile(other + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mixed+".pub", public, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "secrets.key"))
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"halves of two keys":  r.Protect(t.Context(), BySSHKey, Secret{}, mixed),
		"no SSH key":          r.Protect(t.Context(), BySSHKey, Secret{}, filepath.Join(dir, "gone")),
		"a short passphrase":  r.Protect(t.Context(), ByPassphrase, NewSecret("short"), ""),
		"something else":      r.Protect(t.Context(), "prayer", Secret{}, ""),
		"no folder for files": NewResolver(ResolverOptions{}).Protect(t.Context(), Unprotected, Secret{}, ""),
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
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := NewResolver(ResolverOptions{SecretsDir: dir, AgeIdentityFile: path})
		if id, err := r.identity(t.Context()); err == nil && !strings.Contains(text, id.String()) {
			t.Error("a key came from nowhere")
		}
	})
}
