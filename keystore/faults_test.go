package keystore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestACallerWhoLeftGetsNoSecret(t *testing.T) {
	kr := &ring{entries: map[string]string{"a/b": sample}}
	r := NewResolver(ResolverOptions{Keyring: kr, Getenv: func(string) string { return sample }, SecretsDir: t.TempDir()})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ref := range []string{"env:A", "keyring:a/b", "file:a"} {
		if s, err := r.Resolve(ended, ref); !errors.Is(err, context.Canceled) || !s.Empty() || !strings.HasPrefix(err.Error(), "resolving "+ref) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	for _, ref := range []string{"keyring:a/b", "file:a"} {
		if err := r.Store(ended, ref, NewSecret(sample)); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "storing "+ref) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if kr.asked() != 0 {
		t.Errorf("the keyring was asked %d times", kr.asked())
	}
}

func TestWhatKeepsASecretOutOfItsFolderIsSaid(t *testing.T) {
	_, err := NewResolver(ResolverOptions{}).Resolve(t.Context(), "file:a")
	wantSecretError(t, err, ErrSecretUnreachable, "no folder for secrets")

	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	store := func(o ResolverOptions) error {
		return NewResolver(o).Store(t.Context(), "file:a", NewSecret(sample))
	}
	wantSecretError(t, store(ResolverOptions{SecretsDir: filepath.Join(file, "secrets")}), ErrSecretUnreachable, "cannot be made")
	wantSecretError(t, store(ResolverOptions{SecretsDir: t.TempDir(), AgeIdentityFile: filepath.Join(file, "key")}), ErrSecretUnreachable, "in use")
	_, err = NewResolver(ResolverOptions{SecretsDir: filepath.Join(file, "secrets")}).Resolve(t.Context(), "file:a")
	wantSecretError(t, err, ErrSecretUnreachable, "cannot be read")

	dir := filepath.Join(t.TempDir(), "secrets")
	r := NewResolver(ResolverOptions{SecretsDir: dir})
	noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
	noerr.Must(t, os.MkdirAll(filepath.Join(dir, "b.age", "x"), 0o700))
	wantSecretError(t, r.Store(t.Context(), "file:b", NewSecret(sample)), ErrSecretUnreachable, "cannot be written")
	noerr.Must(t, os.WriteFile(filepath.Join(dir, "a.age"), []byte("age-encryption.org/v1\nspoilt"), 0o600))
	_, err = r.Resolve(t.Context(), "file:a")
	wantSecretError(t, err, errSecretUnusable, "cannot be decrypted")
	noerr.Must(t, os.WriteFile(dir+".key", []byte("# a comment\n\n"), 0o600))
	_, err = r.Resolve(t.Context(), "file:a")
	wantSecretError(t, err, ErrSecretUnreachable, "is empty")
}

func TestTheSessionBusIsLookedForWhereItIs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a session bus")
	}
	dir := t.TempDir()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", dir)
	if err := busThere(); !errors.Is(err, errNoBus) {
		t.Errorf("nothing is there: %v", err)
	}
	if _, err := (systemKeyring{}).Get("a", "b"); !errors.Is(err, errNoBus) {
		t.Errorf("get: %v", err)
	}
	if err := (systemKeyring{}).Set("a", "b", "c"); !errors.Is(err, errNoBus) {
		t.Errorf("set: %v", err)
	}
	for _, name := range []string{"bus", "dbus-session"} {
		path := filepath.Join(dir, name)
		noerr.Must(t, os.WriteFile(path, nil, 0o600))
		if err := busThere(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		noerr.Must(t, os.Remove(path))
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x")
	if err := busThere(); err != nil {
		t.Errorf("its address is set: %v", err)
	}
}

func TestACallWaitsForTheKeyringWithinItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kr := &ring{hang: make(chan struct{})}
		r := NewResolver(ResolverOptions{Keyring: kr})
		r.keyring.timeout = 10 * time.Second
		began := time.Now()
		type end struct {
			err   error
			after time.Duration
		}
		resolve := func(ctx context.Context) <-chan end {
			done := make(chan end, 1)
			go func() {
				_, err := r.Resolve(ctx, "keyring:a/b")
				done <- end{err, time.Since(began)}
			}()
			synctest.Wait()
			return done
		}
		first := resolve(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		second := resolve(ctx)
		third := resolve(t.Context())
		cancel()
		if got := <-second; !errors.Is(got.err, context.Canceled) || got.after != 0 {
			t.Errorf("cancelled: %v after %v", got.err, got.after)
		}
		for name, done := range map[string]<-chan end{"the one that hangs": first, "the one that waits": third} {
			got := <-done
			if !errors.Is(got.err, ErrSecretUnreachable) || got.after != 10*time.Second {
				t.Errorf("%s: %v after %v", name, got.err, got.after)
			}
		}
		if kr.asked() != 1 {
			t.Errorf("asked %d times", kr.asked())
		}
		close(kr.hang)
	})
}

func TestALabelOfACommandThatCannotBeReadShowsNothingOfIt(t *testing.T) {
	for ref, want := range map[Ref]string{`cmd:"open`: "cmd:…", "cmd:pass": "cmd:pass", "cmd:pass show x": "cmd:pass …", "env:A": "env:A"} {
		if got := ref.Label(); got != want {
			t.Errorf("%s: %s", ref, got)
		}
	}
}

func TestAKeyThatIsNotThereIsNotChanged(t *testing.T) {
	v := openIn(t, filepath.Join(t.TempDir(), "keys.toml"))
	if k, ok := v.Get("none"); ok || k.Name != "" {
		t.Errorf("%+v", k)
	}
	same := func(k model.Key) (model.Key, error) { return k, nil }
	for what, err := range map[string]error{"update": v.Update(t.Context(), "none", same), "remove": v.Remove(t.Context(), model.Key{Name: "none"})} {
		if !errors.Is(err, errNoKey) || !strings.Contains(err.Error(), `"none"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	blocked := LaterInventory(filepath.Join(file, "keys.toml"), nil)
	if err := blocked.Add(t.Context(), fullKey()); err == nil || !strings.HasPrefix(err.Error(), `adding key "etl-main": `) || len(blocked.List()) != 0 {
		t.Errorf("no place for the lock: %v", err)
	}
	if v.Path() == "" || blocked.Path() != filepath.Join(file, "keys.toml") {
		t.Errorf("paths %q, %q", v.Path(), blocked.Path())
	}
}

func TestTheEdgesOfAKeysName(t *testing.T) {
	for name, want := range map[string]string{
		"": "no name", "a": "", strings.Repeat("a", 100): "", strings.Repeat("a", 101): "longer than 100", " a": "space", "a ": "space", "a b": "", "a\tb": "control",
	} {
		if got := keyNameProblem(name); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestAnExpiryIsKeptInWholeSeconds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.toml")
	v := openIn(t, path)
	k := fullKey()
	at := time.Date(2026, 12, 1, 10, 0, 0, 123_456_789, time.FixedZone("", 3600))
	k.Expires, k.Rotation.Last = model.ExpiresAt(at), at
	noerr.Must(t, v.Add(t.Context(), k))
	want := at.UTC().Truncate(time.Second)
	for _, got := range []model.Key{v.List()[0], openIn(t, path).List()[0]} {
		if !got.Expires.At.Equal(want) || !got.Rotation.Last.Equal(want) || got.Rotation.Last.Location() != time.UTC {
			t.Errorf("%v, %v; want %v", got.Expires.At, got.Rotation.Last, want)
		}
	}
}

func TestRecordsOfRotationsThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	r := OpenRotations(dir)
	p := proven(RotateByNewKey)
	noerr.Must(t, r.Start(t.Context(), p))
	same := p
	same.Key = "another"
	if err := r.Start(t.Context(), same); !errors.Is(err, ErrRotationNow) || !strings.Contains(err.Error(), "the same moment") {
		t.Errorf("the same moment: %v", err)
	}
	same.ID = "../x"
	if err := r.Start(t.Context(), same); !errors.Is(err, errNoRotation) {
		t.Errorf("an id that leads elsewhere: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, p.ID+".json"))
	noerr.Must(t, err)
	noerr.Must(t, os.WriteFile(filepath.Join(dir, "copy.json"), b, 0o600))
	if got, err := r.Get("copy"); !errors.Is(err, ErrRotationFile) || !strings.Contains(err.Error(), "its id is not the file's name") || got.ID != "" {
		t.Errorf("a copy: %v", err)
	}
	noerr.Must(t, os.WriteFile(filepath.Join(dir, "two.json"), append(b, b...), 0o600))
	if _, err := r.Get("two"); !errors.Is(err, ErrRotationFile) || !strings.Contains(err.Error(), "something follows the record") {
		t.Errorf("two records in one file: %v", err)
	}
	later := PlanRotation(model.Key{Name: "third", Secret: "env:A"}, RotateByNewKey, nil, today)
	if err := r.Start(t.Context(), later); !errors.Is(err, ErrRotationFile) {
		t.Errorf("beside a record that cannot be read: %v", err)
	}
	noerr.Must(t, os.Mkdir(filepath.Join(dir, "folder.json"), 0o700))
	if _, err := r.Get("folder"); !errors.Is(err, ErrRotationFile) {
		t.Errorf("a folder: %v", err)
	}
	nowhere := OpenRotations(filepath.Join(dir, "copy.json"))
	if list, err := nowhere.List(); err == nil || list != nil || !strings.HasPrefix(err.Error(), "listing rotations: ") {
		t.Errorf("a folder that is a file: %v", err)
	}
	if _, err := nowhere.Get("x"); !errors.Is(err, ErrRotationFile) {
		t.Errorf("in a folder that is a file: %v", err)
	}
	if err := nowhere.Start(t.Context(), p); err == nil || !strings.HasPrefix(err.Error(), "starting the rotation of ") {
		t.Errorf("start in a folder that is a file: %v", err)
	}
}

func TestASecretIsMaskedHoweverItIsPrinted(t *testing.T) {
	s := NewSecret(sample)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, s); got != s.String() {
			t.Errorf("%s: %s", verb, got)
		}
	}
}

func TestTheFolderOfSecretsIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not kept on Windows")
	}
	dir := filepath.Join(t.TempDir(), "secrets")
	noerr.Must(t, NewResolver(ResolverOptions{SecretsDir: dir}).Store(t.Context(), "file:a", NewSecret(sample)))
	for path, want := range map[string]os.FileMode{dir: 0o700, dir + ".key": 0o600, filepath.Join(dir, "a.age"): 0o600} {
		if at, err := os.Stat(path); err != nil || at.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, at, err)
		}
	}
}
