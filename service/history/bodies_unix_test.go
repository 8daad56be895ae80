//go:build unix

package history

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/journal"
)

// A process that is killed while it copies leaves no cut file that is taken for the body.
func TestAKeptBodyHasItsNameOnceItIsWhole(t *testing.T) {
	home := t.TempDir()
	paths := config.Paths{Data: filepath.Join(home, "data"), Cache: filepath.Join(home, "cache")}
	s := New(journal.None(), paths, "test", time.Now)
	pipe := filepath.Join(paths.BodiesDir(), "f_1")
	noerr.Must(t, errors.Join(os.MkdirAll(paths.BodiesDir(), 0o700), syscall.Mkfifo(pipe, 0o600)))
	kept := make(chan error)
	go func() {
		_, err := s.KeepBody(t.Context(), model.FetchResult{ID: "f_1", Body: model.BodyRef{File: pipe}})
		kept <- err
	}()
	// Nothing can be read of the body until the other end of its pipe is open.
	var begun []os.DirEntry
	for len(begun) == 0 {
		select {
		case err := <-kept:
			t.Fatal(err)
		default:
			begun, _ = os.ReadDir(paths.DownloadsDir())
			runtime.Gosched()
		}
	}
	name := filepath.Join(paths.DownloadsDir(), "f_1.txt")
	_, during := os.Stat(name)
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	noerr.Must(t, err)
	noerr.Must(t, errors.Join(w.Close(), <-kept))
	if _, err := os.Stat(name); !errors.Is(during, fs.ErrNotExist) || err != nil {
		t.Errorf("while it is copied: %v; afterwards: %v", during, err)
	}
}
