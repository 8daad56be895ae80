package service

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// options are for a program with an empty home and the environment env.
func options(t *testing.T, env map[string]string) Options {
	t.Helper()
	home := t.TempDir()
	return Options{
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

// openTest opens a Service that is closed with the test.
func openTest(t *testing.T, o Options) *Service {
	t.Helper()
	s, err := Open(t.Context(), o)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, s.Close(context.WithoutCancel(t.Context()))) })
	return s
}
