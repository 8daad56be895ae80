package keys

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/config"
)

// A profile with a reference of its own goes on where the rotation of a zone's password can set that.
func TestWhatStopsWithAPasswordIsWhatARotationCannotSet(t *testing.T) {
	o := newOptions(t, map[string]string{"ISP_PASSWORD": "the-password"})
	o.profile = "acme"
	text, ran := "", filepath.Join(t.TempDir(), "ran")
	refs := map[string]string{"vault": "cmd:touch " + ran, "acme": "file:acme-isp", "stored": "file:stored-isp", "apart": "file:apart-isp", "machine": "env:ISP_PASSWORD", "lost": "file:lost-isp"}
	for name, password := range refs {
		text += "[profiles." + name + "]\nbase_url = \"https://api.example.com\"\naccount = \"hl_1234abcd\"\n[[profiles." + name + ".zones]]\nname = \"isp\"\nproduct = \"isp\"\npassword = \"" + password + "\"\n"
	}
	folder := filepath.Join(o.Getenv("XDG_CONFIG_HOME"), "zonedeck")
	noerr.Must(t, errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "config.toml"), []byte(text), 0o600)))
	s := open(t, o)
	defer s.close(t)
	for ref, value := range map[string]string{"file:acme-isp": "the-password", "file:stored-isp": "the-password", "file:apart-isp": "another-one"} {
		noerr.Must(t, s.Resolver.Store(t.Context(), ref, keystore.NewSecret(value)))
	}
	p := noerr.Try(config.Load(s.inUse.Path())).Must(t)
	acme := noerr.Try(p.Profile("acme")).Must(t)
	z, _ := acme.Zone("isp")
	uses, err := s.Keys.Inventory().PasswordUses(t.Context(), acme, z)
	noerr.Must(t, err)
	// Each reference is read: one with another value is not set.
	slices.Sort(uses.GoOn)
	slices.Sort(uses.Stops)
	want := []string{"profile acme", "profile apart, whose file:apart-isp gives another value and is left as it is", "profile stored, whose file:stored-isp gives the same value and is set, too"}
	if !slices.Equal(uses.GoOn, want) {
		t.Errorf("%q go on, want %q", uses.GoOn, want)
	}
	if len(uses.Stops) != 4 || uses.Stops[1] != "profile machine, whose env:ISP_PASSWORD gives the same value, until it gives the new one" ||
		uses.Stops[2] != "profile vault, if cmd:touch … gives this password: it was not run, because a command may ask a person" ||
		!strings.HasPrefix(uses.Stops[0], "profile lost, if file:lost-isp gives this password: it cannot be read: ") {
		t.Errorf("%q stop beside what holds the password itself", uses.Stops)
	}
	if !strings.Contains(uses.Compared, "what the references give now") || !strings.Contains(uses.Compared, "proxy test --profile acme --zone isp") {
		t.Errorf("compared: %s", uses.Compared)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command was run only to compare what it gives")
	}
	z.Password = "cmd:touch " + ran
	if uses, err = s.Keys.Inventory().PasswordUses(t.Context(), acme, z); err != nil || uses.Compared != "nothing: cmd:touch … was not run, because a command may ask a person" {
		t.Errorf("%+v, %v", uses, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command of the profile itself was run")
	}
	z.Password = "file:nowhere"
	if uses, err = s.Keys.Inventory().PasswordUses(t.Context(), acme, z); err != nil || !strings.HasPrefix(uses.Compared, "nothing: file:nowhere cannot be read: ") || len(uses.GoOn) != 1 {
		t.Errorf("%+v, %v", uses, err)
	}
}
