//go:build unix

package textfile

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// Reading a pipe waits for a writer, which may never come.
func TestWhatIsNoFileIsToldAndNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "s")
	noerr.Must(t, syscall.Mkfifo(pipe, 0o600))
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	noerr.Must(t, err)
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

// An interrupt ends the wait for a pipe that nobody reads, before it is opened and while it is full.
func TestWritingIntoAPipeEndsWithAnInterruption(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	noerr.Must(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteFunc(ctx, pipe, fill("x", nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("without a reader: %v", err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	noerr.Must(t, err)
	defer reader.Close()
	ctx, cancel = context.WithCancel(t.Context())
	err = WriteFunc(ctx, pipe, func(w io.Writer) error {
		cancel()
		_, err := w.Write(make([]byte, 8<<20))
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a full pipe: %v", err)
	}
}

// A link that takes the place of a log between the look at it and its opening is not followed.
func TestALogIsNotOpenedThroughALink(t *testing.T) {
	dir := t.TempDir()
	log, precious := filepath.Join(dir, "log"), filepath.Join(dir, "precious")
	noerr.Must(t, os.WriteFile(precious, nil, 0o600))
	var stop atomic.Bool
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for !stop.Load() {
			_ = errors.Join(os.Remove(log), os.Symlink(precious, log)) // unless OpenAppend made a file meanwhile
		}
	})
	defer swaps.Wait()
	defer stop.Store(true)
	for range 20_000 {
		f, err := OpenAppend(log)
		if err != nil {
			continue
		}
		opened, err := f.Stat()
		target, terr := os.Stat(precious)
		noerr.Must(t, errors.Join(err, terr, f.Close()))
		if os.SameFile(opened, target) {
			t.Fatal("it was opened through a link")
		}
	}
}
