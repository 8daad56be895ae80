package keystore

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
)

const envCommand = "KEYSTORE_TEST_COMMAND"

// TestMain lets the test binary stand in for the commands of cmd: references and
// for the second process of the inventory's test.
func TestMain(m *testing.M) {
	switch os.Getenv(envCommand) {
	case "":
		os.Exit(m.Run())
	case "args":
		os.Stdout.WriteString(strings.Join(os.Args[1:], "|") + "\n")
	case "crlf":
		os.Stdout.WriteString("value-from-windows\r\n")
	case "two-lines":
		os.Stdout.WriteString("first\nsecond\n")
	case "nothing":
	case "fail":
		os.Stdout.WriteString(sample)
		os.Stderr.WriteString("cannot unlock with " + sample)
		os.Exit(3)
	case "flood":
		for range 100 {
			os.Stdout.WriteString(strings.Repeat("x", 1<<10))
		}
	case "hang":
		untilTheTestEnds()
	case "leave-daemon":
		os.Setenv(envCommand, "daemon")
		daemon := exec.Command(os.Args[0])
		daemon.Stdout = os.Stdout
		if err := daemon.Start(); err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("left-a-daemon\n")
	case "daemon":
		untilTheTestEnds()
	case "secret-service":
		secretService()
	case "session":
		sessionProcess()
	case "stdin":
		if n, _ := os.Stdin.Read(make([]byte, 1)); n == 0 {
			os.Stdout.WriteString("no-input")
		}
	case "inventory":
		inventoryProcess()
	}
}

func self(t *testing.T, what string) string {
	t.Helper()
	t.Setenv(envCommand, what)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else every child waits a second before it ends
	exe, err := os.Executable()
	noerr.Must(t, err)
	return `cmd:"` + strings.ReplaceAll(exe, `\`, `\\`) + `"`
}

const envHold = "KEYSTORE_TEST_HOLD"

// hold lets processes wait until the test has ended, however long it takes. They connect
// to l.
func hold(t *testing.T) (l net.Listener) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	t.Cleanup(func() { l.Close() }) // ends the connections that nobody accepts
	noerr.Must(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
	t.Setenv(envHold, l.Addr().String())
	return l
}

func untilTheTestEnds() {
	conn, err := net.Dial("tcp", os.Getenv(envHold))
	if err != nil {
		os.Exit(1)
	}
	_, _ = conn.Read(make([]byte, 1))
}

// wantSecretError checks that the error has the kind, names a remedy and holds no value.
func wantSecretError(t *testing.T, err, kind error, mention string) {
	t.Helper()
	se, ok := errors.AsType[*SecretError](err)
	if !ok || !errors.Is(err, kind) {
		t.Fatalf("error %v, want a SecretError that wraps %v", err, kind)
	}
	if !strings.Contains(err.Error(), mention) {
		t.Errorf("error %q does not mention %q", err, mention)
	}
	if se.Problem == "" || leaks(err.Error()) {
		t.Errorf("error %q says too little or too much", err)
	}
}

func TestResolveReadsTheEnvironment(t *testing.T) {
	env := map[string]string{"ETL_KEY": "\ufeff" + sample + "\u200b ", "BLANK": "\u00a0", "BROKEN": "a\nb", "LONG": strings.Repeat("x", maxSecret+1)}
	trimmed := ""
	r := NewResolver(ResolverOptions{Getenv: func(n string) string { return env[n] }, Trimmed: func(ref, marks string) { trimmed = ref + " " + marks }})
	s, err := r.Resolve(t.Context(), "env:ETL_KEY")
	if err != nil || s.Reveal() != sample || trimmed != "env:ETL_KEY U+FEFF, U+200B" {
		t.Fatalf("got %v, %v, %q", s, err, trimmed)
	}
	_, err = r.Resolve(t.Context(), "env:BLANK")
	wantSecretError(t, err, ErrSecretMissing, "the value is empty")
	_, err = r.Resolve(t.Context(), "env:OTHER")
	wantSecretError(t, err, ErrSecretMissing, "the environment variable is not set")
	_, err = r.Resolve(t.Context(), "env:BROKEN")
	wantSecretError(t, err, errSecretUnusable, "line break")
	_, err = r.Resolve(t.Context(), "env:LONG")
	wantSecretError(t, err, errSecretUnusable, "64 KiB")
	_, err = r.Resolve(t.Context(), sample)
	wantSecretError(t, err, errRefForm, "env:NAME")
}

func TestResolveAsksTheDemo(t *testing.T) {
	r := NewResolver(ResolverOptions{Demo: func(n string) (Secret, bool) { return NewSecret(sample), n == "batch-user" }})
	if s, err := r.Resolve(t.Context(), "demo:batch-user"); err != nil || s.Reveal() != sample {
		t.Fatalf("got %v, %v", s, err)
	}
	_, err := r.Resolve(t.Context(), "demo:other")
	wantSecretError(t, err, ErrSecretMissing, "demo:other")
	_, err = NewResolver(ResolverOptions{}).Resolve(t.Context(), "demo:batch-user")
	wantSecretError(t, err, ErrSecretMissing, "demo:batch-user")
}

func TestResolveRunsACommandWithoutAShell(t *testing.T) {
	ref := self(t, "args")
	patient := waiting(time.Minute)
	s, err := patient.Resolve(t.Context(), ref+` 'a b' $HOME ;ls`)
	if err != nil || s.Reveal() != "a b|$HOME|;ls" {
		t.Fatalf("got %q, %v", s.Reveal(), err)
	}
	for what, want := range map[string]string{"crlf": "value-from-windows", "stdin": "no-input"} {
		s, err := patient.Resolve(t.Context(), self(t, what))
		if err != nil || s.Reveal() != want {
			t.Errorf("%s: got %q, %v", what, s.Reveal(), err)
		}
	}
}

func TestADaemonThatACommandLeavesIsNotWaitedFor(t *testing.T) {
	ref, daemon := self(t, "leave-daemon"), hold(t)
	s, err := waiting(time.Minute).Resolve(t.Context(), ref)
	if err != nil || s.Reveal() != "left-a-daemon" {
		t.Fatalf("got %q, %v", s.Reveal(), err)
	}
	conn, err := daemon.Accept()
	noerr.Must(t, err)
	conn.Close()
}

func TestResolveSaysWhyACommandGaveNoSecret(t *testing.T) {
	for what, want := range map[string]struct {
		kind    error
		mention string
	}{
		"fail":      {ErrSecretUnreachable, "exit status 3"},
		"nothing":   {ErrSecretMissing, "printed nothing"},
		"two-lines": {errSecretUnusable, "line break"},
		"flood":     {errSecretUnusable, "64 KiB"},
	} {
		t.Run(what, func(t *testing.T) {
			r := waiting(time.Minute)
			_, err := r.Resolve(t.Context(), self(t, what)+" --token "+sample)
			wantSecretError(t, err, want.kind, want.mention)
		})
	}
	_, err := NewResolver(ResolverOptions{}).Resolve(t.Context(), "cmd:no-such-program-anywhere")
	wantSecretError(t, err, ErrSecretUnreachable, "PATH")
}

// waiting waits so long for a command.
func waiting(d time.Duration) *Resolver {
	r := NewResolver(ResolverOptions{})
	r.patience = d
	return r
}

func TestResolveEndsACommandThatHangs(t *testing.T) {
	ref := self(t, "hang")
	hold(t) // what is not ended hangs this test
	_, err := waiting(100*time.Millisecond).Resolve(t.Context(), ref)
	wantSecretError(t, err, ErrSecretUnreachable, "within 100ms")

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = NewResolver(ResolverOptions{}).Resolve(ctx, ref)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestASecretStoredInAFileComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "secrets")
	r := NewResolver(ResolverOptions{SecretsDir: dir})
	_, err := r.Resolve(t.Context(), "file:etl-main")
	wantSecretError(t, err, ErrSecretMissing, "file:etl-main")
	for _, value := range []string{sample, sample + "-second"} {
		noerr.Must(t, r.Store(t.Context(), "file:etl-main", NewSecret(value)))
		s, err := NewResolver(ResolverOptions{SecretsDir: dir}).Resolve(t.Context(), "file:etl-main")
		if err != nil || s.Reveal() != value {
			t.Fatalf("got %q, %v, want %q", s.Reveal(), err, value)
		}
	}
	err = filepath.Walk(filepath.Dir(dir), func(path string, fi os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 && path != filepath.Dir(dir) {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil || leaks(string(b)) {
				t.Errorf("%s holds the value in clear (%v)", path, err)
			}
		}
		return nil
	})
	noerr.Must(t, err)
}

func TestAFileReferenceDoesNotFollowALinkOutOfItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	r := NewResolver(ResolverOptions{SecretsDir: dir})
	noerr.Must(t, r.Store(t.Context(), "file:real", NewSecret(sample)))
	outside := filepath.Join(t.TempDir(), "outside.age")
	noerr.Must(t, os.Rename(filepath.Join(dir, "real.age"), outside))
	if err := os.Symlink(outside, filepath.Join(dir, "real.age")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skipf("symbolic links need a right that may be missing on Windows: %v", err)
		}
		t.Fatal(err)
	}
	if _, err := r.Resolve(t.Context(), "file:real"); err == nil {
		t.Error("the link was followed")
	}
}

func TestAnUnusableIdentityIsReportedAndNotReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	r := NewResolver(ResolverOptions{SecretsDir: dir})
	noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
	identity := dir + ".key"
	good, err := os.ReadFile(identity)
	noerr.Must(t, err)

	t.Run("lost", func(t *testing.T) {
		noerr.Must(t, os.Remove(identity))
		_, err := r.Resolve(t.Context(), "file:a")
		wantSecretError(t, err, ErrSecretUnreachable, "backup")
		wantSecretError(t, r.Store(t.Context(), "file:b", NewSecret(sample)), ErrSecretUnreachable, "restore it")
		if _, err := os.Stat(identity); err == nil {
			t.Error("a new key was made beside files of the old one")
		}
	})
	t.Run("garbage", func(t *testing.T) {
		noerr.Must(t, os.WriteFile(identity, []byte("AGE-SECRET-KEY-1SECRETVALUE\n"), 0o600))
		_, err := r.Resolve(t.Context(), "file:a")
		wantSecretError(t, err, ErrSecretUnreachable, "no X25519 identity")
	})
	t.Run("a folder", func(t *testing.T) {
		noerr.Must(t, os.Remove(identity))
		noerr.Must(t, os.Mkdir(identity, 0o700))
		_, err := r.Resolve(t.Context(), "file:a")
		wantSecretError(t, err, ErrSecretUnreachable, "it is a folder")
		noerr.Must(t, os.Remove(identity))
	})
	t.Run("readable by others", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("modes are not kept on Windows")
		}
		noerr.Must(t, os.WriteFile(identity, good, 0o600))
		noerr.Must(t, os.Chmod(identity, 0o644))
		_, err := r.Resolve(t.Context(), "file:a")
		wantSecretError(t, err, ErrSecretUnreachable, "chmod 600")
	})
}

func TestStoreRefusesWhatCannotBeStored(t *testing.T) {
	r := NewResolver(ResolverOptions{})
	for _, ref := range []string{"env:A", "cmd:a", "demo:a"} {
		wantSecretError(t, r.Store(t.Context(), ref, NewSecret(sample)), ErrNotStorable, "cannot be stored")
	}
	wantSecretError(t, r.Store(t.Context(), "nonsense", NewSecret(sample)), errRefForm, "")
	wantSecretError(t, r.Store(t.Context(), "file:a", NewSecret(sample)), ErrSecretUnreachable, "no folder")
	wantSecretError(t, r.Store(t.Context(), "keyring:a/b", Secret{}), ErrSecretMissing, "empty")
	wantSecretError(t, r.Store(t.Context(), "keyring:a/b", NewSecret("a\x00b")), errSecretUnusable, "control")
}

// ring is a keyring in memory that can be made to hang or to fail.
type ring struct {
	mu      sync.Mutex
	entries map[string]string
	fail    error
	calls   int
	hang    chan struct{} // nil: answer at once
}

func (r *ring) Get(service, name string) (string, error) {
	r.mu.Lock()
	r.calls++
	hang, fail := r.hang, r.fail
	value, ok := r.entries[service+"/"+name]
	r.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if fail == nil && !ok {
		fail = ErrSecretMissing
	}
	return value, fail
}

func (r *ring) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func (r *ring) Set(service, name, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.fail == nil {
		r.entries[service+"/"+name] = value
	}
	return r.fail
}

func (r *ring) Delete(service, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if _, ok := r.entries[service+"/"+name]; r.fail == nil && !ok {
		return ErrSecretMissing
	}
	if r.fail == nil {
		delete(r.entries, service+"/"+name)
	}
	return r.fail
}

func TestAKeyringEntryIsStoredAndFound(t *testing.T) {
	kr := &ring{entries: map[string]string{}}
	r := NewResolver(ResolverOptions{Keyring: kr})
	_, err := r.Resolve(t.Context(), "keyring:acme/unlocker1")
	wantSecretError(t, err, ErrSecretMissing, "no such entry")
	noerr.Must(t, r.Store(t.Context(), "keyring:acme/unlocker1", NewSecret(sample)))
	if s, err := r.Resolve(t.Context(), "keyring:acme/unlocker1"); err != nil || s.Reveal() != sample {
		t.Fatalf("got %v, %v", s, err)
	}
}

func TestAKeyringThatFailsIsLeftAloneForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kr := &ring{fail: errors.New("no bus")}
		r := NewResolver(ResolverOptions{Keyring: kr})
		for range 3 {
			_, err := r.Resolve(t.Context(), "keyring:a/b")
			wantSecretError(t, err, ErrSecretUnreachable, "no bus")
		}
		if n := kr.asked(); n != 1 {
			t.Errorf("the keyring was asked %d times, want once", n)
		}
		kr.fail, kr.entries = nil, map[string]string{"a/b": sample}
		<-time.After(verdictFor)
		if s, err := r.Resolve(t.Context(), "keyring:a/b"); err != nil || s.Reveal() != sample {
			t.Errorf("after the verdict: %v, %v", s, err)
		}
	})
}

func TestAKeyringThatHangsCostsOneTimeoutAndOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kr := &ring{entries: map[string]string{"a/b": sample}, hang: make(chan struct{})}
		r := NewResolver(ResolverOptions{Keyring: kr})
		began := time.Now()
		_, err := r.Resolve(t.Context(), "keyring:a/b")
		wantSecretError(t, err, ErrSecretUnreachable, "does not answer")
		if elapsed := time.Since(began); elapsed != 3*time.Second {
			t.Errorf("the first call took %s, want 3s", elapsed)
		}
		for range 5 {
			_, err = r.Resolve(t.Context(), "keyring:a/b")
			wantSecretError(t, err, ErrSecretUnreachable, "does not answer")
		}
		if elapsed := time.Since(began); elapsed != 3*time.Second {
			t.Errorf("six calls took %s, want 3s", elapsed)
		}
		if n := kr.asked(); n != 1 {
			t.Errorf("the keyring was asked %d times while it hung", n)
		}
		close(kr.hang) // the user unlocks it at last
		synctest.Wait()
		if s, err := r.Resolve(t.Context(), "keyring:a/b"); err != nil || s.Reveal() != sample {
			t.Errorf("after it answered: %v, %v", s, err)
		}
	})
}

func TestACancelledContextEndsTheWaitForAKeyring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kr := &ring{hang: make(chan struct{})}
		r := NewResolver(ResolverOptions{Keyring: kr})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := r.Resolve(ctx, "keyring:a/b")
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
		close(kr.hang)
	})
}
