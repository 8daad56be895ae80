package keystore

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
)

func TestAStoredSecretIsDeleted(t *testing.T) {
	kr := &ring{entries: map[string]string{}}
	r := NewResolver(ResolverOptions{Keyring: kr, SecretsDir: filepath.Join(t.TempDir(), "secrets")})
	for _, ref := range []string{"keyring:acme/unlocker1", "file:unlocker1"} {
		if err := r.Remove(t.Context(), ref); err != nil {
			t.Errorf("%s, which is not there: %v", ref, err)
		}
		noerr.Must(t, r.Store(t.Context(), ref, NewSecret(sample)))
		noerr.Want(t, r.Remove(t.Context(), ref))
		_, err := r.Resolve(t.Context(), ref)
		wantSecretError(t, err, ErrSecretMissing, "no such")
	}
	for _, ref := range []string{"env:A", "cmd:a", "demo:a"} {
		wantSecretError(t, r.Remove(t.Context(), ref), ErrNotStorable, "cannot remove secrets")
	}
	wantSecretError(t, r.Remove(t.Context(), "nonsense"), errRefForm, "")
	kr.fail = errors.New("no bus")
	wantSecretError(t, r.Remove(t.Context(), "keyring:a/b"), ErrSecretUnreachable, "no bus")
}

// A secret is removed only if it is still the one that was checked: every other console waits from the
// check to the removal.
func TestASecretIsRemovedWhileItIsTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	kr := &ring{entries: map[string]string{}}
	looks := &lookingRing{ring: kr}
	r, other := NewResolver(ResolverOptions{Keyring: looks, SecretsDir: dir}), NewResolver(ResolverOptions{Keyring: kr, SecretsDir: dir})
	old, fresh := NewSecret(sample), NewSecret(sample+"-new")
	for _, ref := range []string{"keyring:acme/etl", "file:etl"} {
		if err := r.RemoveIf(t.Context(), ref, old); err != nil {
			t.Errorf("%s, which is not there: %v", ref, err)
		}
		noerr.Must(t, other.Store(t.Context(), ref, fresh))
		wantSecretError(t, r.RemoveIf(t.Context(), ref, old), ErrOtherSecret, "another secret is there now")
		if got, err := r.Resolve(t.Context(), ref); err != nil || !got.Equal(fresh) {
			t.Errorf("%s gives %s, %v", ref, got, err)
		}
		noerr.Want(t, r.RemoveIf(t.Context(), ref, fresh))
		_, err := r.Resolve(t.Context(), ref)
		wantSecretError(t, err, ErrSecretMissing, "no such")
	}

	noerr.Must(t, other.Store(t.Context(), "keyring:acme/etl", old))
	kr.entries["acme/free"] = "x"
	for _, write := range []func(ctx context.Context) error{
		func(ctx context.Context) error { return other.Store(ctx, "keyring:acme/etl", fresh) },
		func(ctx context.Context) error { return other.Store(ctx, "file:etl", fresh) },
		func(ctx context.Context) error { return other.Remove(ctx, "keyring:acme/free") },
	} {
		wrote := make(chan error, 1)
		looks.removed.Store(false)
		looks.then = func() {
			unlock, free, err := textfile.TryLock(r.o.AgeIdentityFile)
			if free {
				unlock()
			}
			if free || err != nil {
				t.Errorf("nothing keeps others out between the look and the removal (%v)", err)
			}
			go func() {
				err := write(t.Context())
				if err == nil && !looks.removed.Load() {
					err = errors.New("another process wrote between the look and the removal")
				}
				wrote <- err
			}()
			select { // without the lock it gets its chance here
			case err := <-wrote:
				wrote <- err
			case <-time.After(20 * time.Millisecond):
			}
		}
		noerr.Want(t, r.RemoveIf(t.Context(), "keyring:acme/etl", old))
		looks.then = nil
		noerr.Want(t, <-wrote)
		noerr.Must(t, other.Store(t.Context(), "keyring:acme/etl", old))
	}
}

// lookingRing calls then after each read.
type lookingRing struct {
	*ring
	then    func()
	removed atomic.Bool
}

func (l *lookingRing) Delete(service, name string) error {
	l.removed.Store(true)
	return l.ring.Delete(service, name)
}

func (l *lookingRing) Get(service, name string) (string, error) {
	value, err := l.ring.Get(service, name)
	if l.then != nil {
		l.then()
	}
	return value, err
}

func TestAKeyringIsProbedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kr := &ring{fail: errors.New("no bus")}
		r := NewResolver(ResolverOptions{Keyring: kr})
		for range 3 {
			wantSecretError(t, r.ProbeKeyring(t.Context()), ErrSecretUnreachable, "no bus")
		}
		if n := kr.asked(); n != 1 {
			t.Errorf("a keyring that fails was asked %d times", n)
		}
		kr.fail = nil
		<-time.After(verdictFor)
		for range 3 {
			noerr.Want(t, r.ProbeKeyring(t.Context()))
		}
		if n := kr.asked(); n != 2 {
			t.Errorf("a keyring that answers was asked %d times", n)
		}
	})
}
