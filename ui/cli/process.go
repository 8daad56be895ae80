// Package cli is the command line: every command, the streams and the exit codes.
// A command works on what service.Open opens.
//
// main calls Main once. Commands run on the caller's goroutine; background work ends
// before Main returns.
package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"

	"zonedeck/keystore"
	"zonedeck/ui/kit"
)

// Process is the environment the program runs in. It is passed in, which lets tests
// run commands without starting a process.
type Process struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Environ is the whole environment, as NAME=VALUE.
	Environ []string
	// StdinTTY, StdoutTTY and StderrTTY say whether the stream is a terminal.
	StdinTTY, StdoutTTY, StderrTTY bool
	Now                            func() time.Time
	// Program is the file of the program, to serve the embedded emulator in a process of its own; empty serves it in this
	// one.
	Program string
}

// OS is the environment of this process.
func OS() Process {
	program, _ := os.Executable() // the emulator then ends with its first user
	return Process{
		Args:      os.Args[1:],
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		Getenv:    os.Getenv,
		Environ:   os.Environ(),
		StdinTTY:  term.IsTerminal(os.Stdin.Fd()),
		StdoutTTY: term.IsTerminal(os.Stdout.Fd()),
		StderrTTY: term.IsTerminal(os.Stderr.Fd()),
		Now:       time.Now,
		Program:   program,
	}
}

// app is one run of the program: the process, the global flags, and the shared
// logger.
type app struct {
	Process
	flags globalFlags
	// configText is the configuration, if it came through a pipe.
	configText []byte
	json       bool // the command was given --json
	log        *slog.Logger

	telling sync.Mutex // one message at a time goes to stderr

	typed keystore.Secret // the passphrase that was typed, if any
	tab   kit.ViewID      // the console's, when another profile was chosen there
	said  string          // what the next console tells
	// hidden reads a line at a terminal without showing it; nil means term.ReadPassword.
	hidden func(fd uintptr) ([]byte, error)
}

// globalFlags are the flags of every command. An empty string means that the flag
// was not given.
type globalFlags struct {
	profile   string
	config    string
	baseURL   string
	proxyHost string
	database  string
	allowKeys []string
	noInput   bool
	quiet     bool
}

// Main runs one command and returns the exit code (docs/commands.md lists them).
func Main(ctx context.Context, p Process) int {
	silence(io.Discard)
	if f, ok := p.Stdout.(*os.File); ok {
		p.Stdout = &stream{outputFile: f, ctx: ctx}
	}
	if f, ok := p.Stderr.(*os.File); ok {
		p.Stderr = &stream{outputFile: f, ctx: ctx}
	}
	a := &app{Process: p, log: slog.New(slog.DiscardHandler)}
	err := a.execute(ctx)
	return exitCode(ctx, err)
}
