package session

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"zonedeck/service/profile"
)

// A profile with a reference of its own goes on where the rotation of a zone's password can set that.
func TestWhatStopsWithAPasswordIsWhatARotationCannotSet(t *testing.T) {
	o := options(t, nil)
	o.Profile = "acme"
	text := ""
	for name, password := range map[string]string{"acme": "file:acme-isp", "stored": "file:stored-isp", "machine": "env:ISP_PASSWORD"} {
		text += "[profiles." + name + "]\nbase_url = \"https://api.example.com\"\naccount = \"hl_1234abcd\"\n[[profiles." + name + ".zones]]\nname = \"isp\"\nproduct = \"isp\"\npassword = \"" + password + "\"\n"
	}
	config := filepath.Join(o.Getenv("XDG_CONFIG_HOME"), "zonedeck")
	if err := errors.Join(os.MkdirAll(config, 0o700), os.WriteFile(filepath.Join(config, "config.toml"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	p, err := profile.Load(s.configFile())
	if err != nil {
		t.Fatal(err)
	}
	acme, err := p.Profile("acme")
	if err != nil {
		t.Fatal(err)
	}
	z, _ := acme.Zone("isp")
	uses, err := s.PasswordUses(t.Context(), acme, z)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"profile acme", "profile stored, whose file:stored-isp is set, too"}; !slices.Equal(uses.GoOn, want) {
		t.Errorf("%q go on, want %q", uses.GoOn, want)
	}
	if want := "profile machine, until env:ISP_PASSWORD gives the new one"; len(uses.Stops) != 2 || uses.Stops[1] != want {
		t.Errorf("%q stop, want %q beside what holds the password itself", uses.Stops, want)
	}
}
