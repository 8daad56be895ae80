package keystore

import (
	"errors"
	"testing"

	"github.com/zalando/go-keyring"

	"zonedeck/internal/noerr"
)

func TestTheSystemsKeyringIsAsked(t *testing.T) {
	keyring.MockInit()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere") // the mock needs none
	var kr systemKeyring
	if _, err := kr.Get("acme", "zone"); !errors.Is(err, ErrSecretMissing) {
		t.Errorf("an entry that is missing: %v", err)
	}
	noerr.Must(t, kr.Set("acme", "zone", sample))
	if got, err := kr.Get("acme", "zone"); err != nil || got != sample {
		t.Errorf("got %q, %v", got, err)
	}
	noerr.Must(t, kr.Delete("acme", "zone"))
	if err := kr.Delete("acme", "zone"); !errors.Is(err, ErrSecretMissing) {
		t.Errorf("an entry that is gone: %v", err)
	}
	broken := errors.New("no bus")
	keyring.MockInitWithError(broken)
	if err := kr.Set("acme", "zone", sample); !errors.Is(err, broken) {
		t.Errorf("a keyring that fails: %v", err)
	}
	if _, err := kr.Get("acme", "zone"); !errors.Is(err, broken) {
		t.Errorf("a keyring that fails: %v", err)
	}
}
