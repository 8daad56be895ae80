package servicetest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
)

// Demo is the demo account of an emulator, as the console knows it: only the wire
// and the printed logins are shared.
type Demo struct {
	Profile model.Profile
	// Control is the address of the emulator's control interface, Token its token.
	Control, Token string
	secrets        map[string]string
	keys           map[string]model.Key
}

// Emulator starts an emulator on loopback, for as long as the test runs.
func Emulator(t testing.TB, o emulator.Options) Demo {
	t.Helper()
	o.ProxyAddr = "127.0.0.1:0"
	s, err := emulator.Start(t.Context(), o)
	noerr.Must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		noerr.Want(t, s.Shutdown(ctx))
	})
	ready := s.Ready()
	host, port, err := net.SplitHostPort(ready.Proxy)
	noerr.Must(t, err)
	p := Profile(ready.API)
	p.Account, p.UsernamePrefix, p.ProxyHost = model.AccountID(ready.Account), ready.UsernamePrefix, host
	p.ProxyPort, _ = strconv.Atoi(port)
	p.Local, p.Zones, p.BrowserURL = true, nil, ready.CDP
	p.CA = filepath.Join(t.TempDir(), "ca.pem")
	noerr.Must(t, os.WriteFile(p.CA, []byte(ready.CAPEM), 0o600))
	d := Demo{Control: ready.Control, Token: ready.ControlToken, secrets: map[string]string{}, keys: map[string]model.Key{}}
	for _, z := range ready.Zones {
		ref := "demo:zone/" + z.Name
		d.secrets[ref] = z.Password
		p.Zones = append(p.Zones, model.Zone{Name: model.ZoneName(z.Name), Product: model.Product(z.Product), IdentityVerified: z.IdentityVerified, Password: ref})
	}
	for _, k := range ready.Keys {
		ref := "demo:key/" + k.Name
		d.secrets[ref] = k.Value
		d.keys[k.Name] = model.Key{Name: k.Name, Level: model.Level(k.Level), Secret: ref}
	}
	d.Profile = p
	return d
}

// Secret resolves a reference of the demo account.
func (d Demo) Secret(_ context.Context, ref string) (keystore.Secret, error) {
	return keystore.NewSecret(d.secrets[ref]), nil
}

// Key gives a key of the demo account.
func (d Demo) Key(name string) (model.Key, bool) {
	k, ok := d.keys[name]
	return k, ok
}

// Password is the proxy password of a zone of the demo account.
func (d Demo) Password(z model.Zone) string { return d.secrets[z.Password] }
