//go:build !windows

package local

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

func TestTheServingProcessKeepsNoInheritedPipeOpen(t *testing.T) {
	var pipe [2]int
	noerr.Must(t, syscall.Pipe(pipe[:]))
	read := os.NewFile(uintptr(pipe[0]), "pipe")
	e := user(t, t.TempDir(), "1")
	ensured(t, e)
	defer func() {
		noerr.Want(t, e.Close(context.WithoutCancel(t.Context())))
		ended(t, e)
	}()
	noerr.Must(t, syscall.Close(pipe[1]))
	ended := make(chan struct{})
	go func() {
		_, _ = read.Read(make([]byte, 1)) // ends when nobody has the other end
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the process that serves the emulator has a pipe of the command that started it")
	}
}
