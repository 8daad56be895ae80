package keystore

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// secretService is what the test binary does on a session bus of its own, with a real keyring
// behind it, or none.
func secretService() {
	fail := func(what string, err error) {
		os.Stdout.WriteString("FAIL " + what + ": " + err.Error() + "\n")
		os.Exit(1)
	}
	ctx := context.Background()
	r := NewResolver(ResolverOptions{})
	r.keyring.timeout = 30 * time.Second
	const ref = "keyring:zonedeck/etl-main"
	if os.Getenv("KEYSTORE_TEST_RING") == "none" {
		for what, err := range map[string]error{"a probe": r.ProbeKeyring(ctx), "a value": r.Store(ctx, ref, NewSecret(sample)), "a removal": r.Remove(ctx, ref)} {
			if !errors.Is(err, ErrSecretUnreachable) {
				fail(what+" without a keyring", errors.Join(err, errors.New("it is not unreachable")))
			}
		}
		os.Stdout.WriteString("nothing answers")
		return
	}
	if err := r.ProbeKeyring(ctx); err != nil {
		fail("a probe", err)
	}
	if _, err := r.Resolve(ctx, ref); !errors.Is(err, ErrSecretMissing) {
		fail("an entry that is not there", errors.Join(err, errors.New("it is not missing")))
	}
	for _, value := range []string{sample, "another value, with ünïcode"} {
		if err := r.Store(ctx, ref, NewSecret(value)); err != nil {
			fail("storing", err)
		}
		if got, err := r.Resolve(ctx, ref); err != nil || got.Reveal() != value {
			fail("reading back", errors.Join(err, errors.New("another value")))
		}
	}
	// Another program finds it by the attributes that the documentation names.
	out, err := exec.CommandContext(ctx, "secret-tool", "lookup", "service", "zonedeck", "username", "etl-main").Output()
	if err != nil || string(out) != "another value, with ünïcode" {
		fail("secret-tool", errors.Join(err, errors.New("another value")))
	}
	if err := r.Remove(ctx, ref); err != nil {
		fail("removing", err)
	}
	if _, err := r.Resolve(ctx, ref); !errors.Is(err, ErrSecretMissing) {
		fail("after the removal", errors.Join(err, errors.New("it is not missing")))
	}
	os.Stdout.WriteString("the keyring works")
}

// onBus runs the test binary under a session bus of its own.
func onBus(t *testing.T, script, ring string) string {
	t.Helper()
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon", "secret-tool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here: .ci/run installs it", program)
		}
	}
	home := t.TempDir()
	bus := filepath.Join(home, "bus.conf")
	err := os.WriteFile(bus, []byte(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`), 0o600)
	noerr.Must(t, err)
	cmd := exec.CommandContext(t.Context(), "dbus-run-session", "--", "sh", "-c", script, "sh", os.Args[0])
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+home, "XDG_CONFIG_HOME="+home, envCommand+"=secret-service", "KEYSTORE_TEST_RING="+ring, "KEYSTORE_TEST_BUS="+bus)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestARealKeyringKeepsSecrets(t *testing.T) {
	out := onBus(t, `printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$1"`, "gnome")
	if !strings.Contains(out, "the keyring works") {
		t.Errorf("%s", out)
	}
}

func TestABusWithoutAKeyringIsToldInTime(t *testing.T) {
	// The folder of services is empty, so that the bus starts no keyring by itself.
	out := onBus(t, `exec dbus-run-session --config-file="$KEYSTORE_TEST_BUS" -- "$1"`, "none")
	if !strings.Contains(out, "nothing answers") {
		t.Errorf("%s", out)
	}
}
