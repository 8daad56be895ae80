package saved

import (
	"errors"
	"runtime/debug"
	"testing"

	"zonedeck/service/servicetest"
)

func TestNothingStaysOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collected file would be closed too
	dir := t.TempDir()
	s := New(dir)
	for name, do := range map[string]func() error{
		"save":   func() error { _, err := s.Save(t.Context(), "a", full(), true); return err },
		"list":   func() error { _, err := s.List(t.Context()); return err },
		"load":   func() error { _, err := s.Load(t.Context(), "a"); return err },
		"remove": func() error { return s.Remove(t.Context(), "b") },
	} {
		if err := do(); err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if n := servicetest.OpenIn(t, dir); n != 0 {
			t.Fatalf("after %s %d files are open", name, n)
		}
	}
}
