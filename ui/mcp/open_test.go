package mcp

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
	"zonedeck/service"
	"zonedeck/service/config"
)

func TestAnAgentIsToldOfTheKeysOfItsProfileAlone(t *testing.T) {
	o := options(t, map[string]string{"ZONEDECK_PROFILE": "acme"})
	paths := config.FindPaths(o.Getenv)
	config := "[profiles.acme]\nbase_url = \"http://127.0.0.1:1\"\nkey = \"acme-user\"\n[profiles.other]\nbase_url = \"http://127.0.0.1:2\"\nkey = \"other-user\"\n"
	keys := ""
	for _, name := range []string{"acme-user", "other-user", "nobody"} { // of one value, which is a finding
		keys += fmt.Sprintf("[[keys]]\nname = %q\nlevel = \"USER\"\nexpires = \"2020-01-01\"\nfingerprint = \"0123456789abcdef\"\n", name)
	}
	for file, text := range map[string]string{paths.ConfigFile(): config, paths.KeysFile(): keys} {
		noerr.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		noerr.Must(t, textfile.Write(file, []byte(text)))
	}
	c, _, err := Open(t.Context(), o)
	noerr.Must(t, err)
	defer func() { noerr.Want(t, c.Close(t.Context())) }()
	list, findings, err := c.CheckKeys(t.Context(), 14*24*time.Hour)
	if err != nil || len(list) != 1 || list[0].Name != "acme-user" || len(findings) == 0 {
		t.Fatalf("%+v, %d findings, %v", list, len(findings), err)
	}
	for _, f := range findings {
		if f.Key != "acme-user" || strings.Contains(f.Text+f.Evidence+f.Fix, "other-user") {
			t.Errorf("a finding about another profile's key: %+v", f)
		}
	}
}

// options are those of a program with an empty home and env for its environment.
func options(t *testing.T, env map[string]string) service.Options {
	t.Helper()
	home := t.TempDir()
	return service.Options{
		Getenv: func(name string) string {
			if kind, ok := strings.CutPrefix(name, "XDG_"); ok {
				return filepath.Join(home, strings.ToLower(kind))
			}
			if name == "HOME" {
				return home
			}
			return env[name]
		},
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Say: func(string, ...any) {},
	}
}
