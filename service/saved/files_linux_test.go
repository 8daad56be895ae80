package saved

import (
	"errors"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
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
		"remove": func() error { return s.Delete(t.Context(), "b") },
	} {
		if err := do(); err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if n := servicetest.OpenIn(t, dir); n != 0 {
			t.Fatalf("after %s %d files are open", name, n)
		}
	}
}

func TestAPipeAmongTheRequestsHoldsNothingUp(t *testing.T) {
	dir := t.TempDir()
	noerr.Must(t, syscall.Mkfifo(filepath.Join(dir, "pipe.toml"), 0o600))
	done := make(chan error, 1)
	var listed []Entry
	go func() {
		var err error
		if listed, err = New(dir).List(t.Context()); err == nil {
			_, err = New(dir).Load(t.Context(), "pipe")
		}
		done <- err
	}()
	const want = "pipe.toml: it is a named pipe; expected a file"
	select {
	case err := <-done:
		if err == nil || err.Error() != want || len(listed) != 1 || listed[0].Problem != want {
			t.Errorf("%+v, %v", listed, err)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for the pipe's writer")
	}
}
