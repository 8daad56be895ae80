//go:build !windows

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

func TestAnEmulatorThatHangsIsNamedAndNoOtherIsStartedBesideIt(t *testing.T) {
	dir := t.TempDir()
	first := user(t, dir, "1")
	hung := ensured(t, first).PID
	noerr.Must(t, syscall.Kill(hung, syscall.SIGSTOP))
	defer func() {
		noerr.Want(t, syscall.Kill(hung, syscall.SIGCONT))
		noerr.Want(t, first.Close(context.WithoutCancel(t.Context())))
		ended(t, first)
	}()
	for answers := true; answers; { // it stops some time after the signal
		_, answers = first.announced(t.Context())
	}
	began := filepath.Join(dir, "began")
	second := user(t, dir, "1").WithPatience(3 * time.Second)
	program := filepath.Join(dir, "program")
	noerr.Must(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\necho >>%s\nexec %s \"$@\"\n", began, second.program), 0o700)) //nolint:gosec // it is run
	second.program = program
	for _, want := range []string{fmt.Sprintf("another zonedeck, process %d, holds ", hung), "another zonedeck, a process 'emulate --serve-users', holds "} {
		_, err := second.ensure(t.Context())
		starts, _ := os.ReadFile(began)
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(starts) > 0 {
			t.Errorf("%v, want %s; %d processes were started", err, want, len(starts))
		}
		_ = os.Remove(first.paths.EmulatorFile()) // the second time, nobody has announced it
	}
}
