package console

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/service"
)

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
