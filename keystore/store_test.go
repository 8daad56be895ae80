package keystore

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestAStoredSecretIsDeleted(t *testing.T) {
	kr := &ring{entries: map[string]string{}}
	r := NewResolver(ResolverOptions{Keyring: kr, SecretsDir: filepath.Join(t.TempDir(), "secrets")})
	for _, ref := range []string{"keyring:acme/unlocker1", "file:unlocker1"} {
		if err := r.Remove(t.Context(), ref); err != nil {
			t.Errorf("%s, which is not there: %v", ref, err)
		}
		if err := r.Store(t.Context(), ref, NewSecret(sample)); err != nil {
			t.Fatal(err)
		}
		if err := r.Remove(t.Context(), ref); err != nil {
			t.Error(err)
		}
		_, err := r.Resolve(t.Context(), ref)
		wantSecretError(t, err, ErrSecretMissing, "no such")
	}
	for _, ref := range []string{"env:A", "cmd:a", "demo:a"} {
		wantSecretError(t, r.Remove(t.Context(), ref), ErrNotStorable, "removes nothing")
	}
	wantSecretError(t, r.Remove(t.Context(), "nonsense"), ErrRefForm, "")
	kr.fail = errors.New("no bus")
	wantSecretError(t, r.Remove(t.Context(), "keyring:a/b"), ErrSecretUnreachable, "no bus")
}

func TestAKeyringIsProbedOnce(t *testing.T) {
	kr := &ring{fail: errors.New("no bus")}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := NewResolver(ResolverOptions{Keyring: kr, Now: func() time.Time { return now }})
	for range 3 {
		wantSecretError(t, r.ProbeKeyring(t.Context()), ErrSecretUnreachable, "no bus")
	}
	if n := kr.asked(); n != 1 {
		t.Errorf("a keyring that fails was asked %d times", n)
	}
	kr.fail, now = nil, now.Add(verdictFor)
	for range 3 {
		if err := r.ProbeKeyring(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := kr.asked(); n != 2 {
		t.Errorf("a keyring that answers was asked %d times", n)
	}
}
