//go:build unix

package textfile

import (
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Reading a pipe waits for a writer, which may never come.
func TestWhatIsNoFileIsToldAndNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "s")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{
		pipe:        pipe + ": it is a named pipe; expected a file",
		socket:      socket + ": it is a socket; expected a file",
		dir:         dir + ": it is a folder; expected a file",
		"/dev/null": "/dev/null: it is a device; expected a file",
	} {
		done := make(chan error, 1)
		go func() {
			_, err := Read(path, &house{})
			if _, bounded := ReadBounded(path, 1); bounded == nil || bounded.Error() != err.Error() {
				err = bounded
			}
			done <- err
		}()
		select {
		case err := <-done:
			if _, ok := errors.AsType[*Error](err); !ok || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it waits", path)
		}
	}
}
