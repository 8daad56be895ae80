package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestTheVariablesOfAProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	p := model.Profile{
		Name: "a", BaseURL: "https://api.example.com", Verify: true, Zones: []model.Zone{{Name: "z", Password: "env:PW_OF_Z"}},
		Variables: map[string]string{"market": "de", "token": "env:SHOP", "own": "keyring:zonedeck/k", "url": "http://lab.test/"},
	}
	noerr.Must(t, AddProfile(t.Context(), path, p))
	f, err := Load(path)
	noerr.Must(t, err)
	if p, err = f.Profile("a"); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"market": "fr", "LANGUAGE": "en", "SHOP_API_KEY": "s", "PW_OF_Z": "s", "ZONEDECK_KEY": "s", "MY_PASS": "s", "DATABASE_URL": "postgres://me:s@db.test/x", "PROXY": "me:s@proxy.test:3128"}
	for name, want := range map[string]model.Variable{
		"market": {Value: "de"}, "token": {Ref: "env:SHOP"}, "url": {Value: "http://lab.test/"}, "LANGUAGE": {Value: "en"},
		"SHOP_API_KEY": {Ref: "env:SHOP_API_KEY"}, "MY_PASS": {Ref: "env:MY_PASS"},
		"DATABASE_URL": {Ref: "env:DATABASE_URL"}, "PROXY": {Ref: "env:PROXY"},
	} {
		v, ok := Variable(p, name, func(n string) string { return env[n] }, func(ref string) bool { return ref == "keyring:zonedeck/k" })
		if !ok || v != want {
			t.Errorf("%s: %+v, %t; want %+v", name, v, ok, want)
		}
	}
	for _, name := range []string{"own", "PW_OF_Z", "ZONEDECK_KEY"} {
		v, ok := Variable(p, name, func(n string) string { return env[n] }, func(ref string) bool { return ref == "keyring:zonedeck/k" })
		if !ok || v.Refused == "" || v.Ref != "" || v.Value != "" {
			t.Errorf("%s: %+v, %t", name, v, ok)
		}
	}
	if v, ok := Variable(p, "none", func(string) string { return "" }, nil); ok {
		t.Errorf("a variable without a value: %+v", v)
	}
}

func TestAVariableThatCannotBeIsRefusedAtItsPlace(t *testing.T) {
	for line, want := range map[string]string{
		`"a-b" = "x"`: `"a-b" cannot name a variable`, `a = "env:1"`: "the variable a is not a secret reference",
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		noerr.Must(t, os.WriteFile(path, []byte("[profiles.a]\nbase_url = \"https://b.example.com\"\n[profiles.a.variables]\n"+line+"\n"), 0o600))
		_, err := Load(path)
		var fault *FileError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestASecretInTheAddressOfAgentAccessIsRefused(t *testing.T) {
	for query, refused := range map[string]bool{"auth=s": true, "pwd=s": true, "Key=s": true, "token=s": true, "groups=advanced": false} {
		path := filepath.Join(t.TempDir(), "config.toml")
		noerr.Must(t, os.WriteFile(path, []byte("[profiles.a]\nagent_url = \"https://mcp.example.com/mcp?"+query+"\"\n"), 0o600))
		_, err := Load(path)
		if got := err != nil && strings.Contains(err.Error(), "a secret cannot stand in the address"); got != refused || err != nil && !refused {
			t.Errorf("%s: %v", query, err)
		}
	}
}
