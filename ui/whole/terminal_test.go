package whole

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"zonedeck/internal/noerr"
	"zonedeck/internal/testrun"
)

// patience bounds every wait for a screen; a wait ends as soon as what it waits
// for is there.
const patience = 30 * time.Second

var binary struct {
	once sync.Once
	path string
	err  error
}

// TestMain runs everything from the top of the repository, where the program is
// built and the goldens are, and removes the binary that tests and benchmarks
// share. Programs are started as from a terminal: one that inherits an ignored hangup (from nohup,
// from a runner in the background) goes on ignoring it, and a signal that is
// handled here is at its default there. The programs mostly wait for screens, so that more tests run at
// once than there are processors, unless -parallel says how many.
func TestMain(m *testing.M) {
	testrun.Parallel(12)
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	code := m.Run()
	if binary.path != "" {
		os.RemoveAll(filepath.Dir(binary.path))
	}
	os.Exit(code)
}

// program builds the program as it is released, once per test binary.
func program(tb testing.TB) string {
	tb.Helper()
	binary.once.Do(func() {
		dir, err := os.MkdirTemp("", "zonedeck-test-")
		if err != nil {
			binary.err = err
			return
		}
		binary.path = filepath.Join(dir, "zonedeck")
		if runtime.GOOS == "windows" {
			binary.path += ".exe"
		}
		build := exec.CommandContext(context.WithoutCancel(tb.Context()), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary.path, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		if err != nil {
			binary.err = errors.Join(err, errors.New(string(out)))
		}
	})
	if binary.err != nil {
		tb.Fatalf("go build: %v", binary.err)
	}
	return binary.path
}

// environment is a terminal's, with an empty home below dir.
func environment(dir string, more ...string) []string {
	env := []string{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	for _, kind := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		env = append(env, "XDG_"+kind+"_HOME="+filepath.Join(dir, strings.ToLower(kind)))
	}
	return append(env, more...)
}

// terminal is the program in a real pty, with x/vt as the screen.
type terminal struct {
	tb      testing.TB
	cmd     *exec.Cmd
	file    *os.File
	started time.Time
	exited  chan error

	mu      sync.Mutex
	emu     *vt.Emulator
	raw     bytes.Buffer
	last    time.Time // when the newest output was read
	changed chan struct{}
}

// openTerminal starts the program in a pty of w×h cells.
func openTerminal(tb testing.TB, w, h int, env []string, args ...string) *terminal {
	tb.Helper()
	return openProgram(tb, w, h, program(tb), env, args...)
}

// openProgram does the same with any program.
func openProgram(tb testing.TB, w, h int, path string, env []string, args ...string) *terminal {
	tb.Helper()
	t := &terminal{tb: tb, emu: vt.NewEmulator(w, h), changed: make(chan struct{}, 1), exited: make(chan error, 1)}
	t.cmd = exec.CommandContext(context.WithoutCancel(tb.Context()), path, args...)
	t.cmd.Env = env
	t.started = time.Now()
	file, err := pty.StartWithSize(t.cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	noerr.Must(tb, err)
	t.file = file
	read := make(chan struct{})
	go func() { // the terminal's answers to the program's questions
		_, _ = io.Copy(file, t.emu)
	}()
	go func() {
		defer close(read)
		t.read()
	}()
	go func() {
		err := t.cmd.Wait()
		<-read
		t.exited <- err
	}()
	tb.Cleanup(func() {
		_ = t.cmd.Process.Kill()
		file.Close()
		<-read
		if c, ok := t.emu.InputPipe().(io.Closer); ok {
			c.Close()
		}
	})
	return t
}

// chunk is output of the program and when it was read.
type chunk struct {
	text []byte
	at   time.Time
}

// read takes the program's output as it comes. Drawing it is another
// goroutine's work, so that a slow screen never holds up the program.
func (t *terminal) read() {
	chunks := make(chan chunk, 4096)
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		for c := range chunks {
			t.draw(c)
		}
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := t.file.Read(buf)
		if n > 0 {
			chunks <- chunk{bytes.Clone(buf[:n]), time.Now()}
		}
		if err != nil {
			close(chunks)
			<-drawn
			return
		}
	}
}

func (t *terminal) draw(c chunk) {
	t.mu.Lock()
	t.last = c.at
	_, _ = t.emu.Write(c.text)
	t.raw.Write(c.text)
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// screen is what the terminal shows, as text.
func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.String()
}

// lastRead is when the newest output on the screen was read.
func (t *terminal) lastRead() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// waitFor waits until the screen holds every text.
func (t *terminal) waitFor(texts ...string) string {
	t.tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s := t.screen()
		missing := ""
		for _, text := range texts {
			if !strings.Contains(s, text) {
				missing = text
				break
			}
		}
		if missing == "" {
			return s
		}
		select {
		case <-t.changed:
		case err := <-t.exited:
			t.tb.Fatalf("the program ended (%v) before %q was on the screen:\n%s", err, missing, s)
		case <-deadline.C:
			t.tb.Fatalf("%q is not on the screen:\n%s", missing, s)
		}
	}
}

// press writes bytes as a keyboard would.
func (t *terminal) press(keys string) {
	t.tb.Helper()
	noerr.Must(t.tb, noerr.From(io.WriteString(t.file, keys)))
}

// pressFor writes bytes as a keyboard would, and waits for what they bring to the screen.
func (t *terminal) pressFor(keys string, texts ...string) string {
	t.tb.Helper()
	t.press(keys)
	return t.waitFor(texts...)
}

// resize changes the size of the terminal.
func (t *terminal) resize(w, h int) {
	t.tb.Helper()
	t.mu.Lock()
	t.emu.Resize(w, h)
	t.mu.Unlock()
	noerr.Must(t.tb, pty.Setsize(t.file, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}))
}

// wait waits for the end of the program and returns its exit code.
func (t *terminal) wait() int {
	t.tb.Helper()
	select {
	case <-t.exited:
		return t.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.tb.Fatalf("the program does not end:\n%s", t.screen())
		return -1
	}
}

// ends waits for the end of the program, which has gone well.
func (t *terminal) ends() {
	t.tb.Helper()
	if code := t.wait(); code != 0 {
		t.tb.Errorf("exit code %d, want 0", code)
	}
}

// openConsole starts the program in a pty of w×h cells with an empty home, and waits for
// its emulator.
func openConsole(tb testing.TB, w, h int, more ...string) *terminal {
	tb.Helper()
	term := openTerminal(tb, w, h, environment(tb.TempDir(), more...))
	term.waitFor("LOCAL EMULATOR", "batch-user")
	return term
}

// output is everything the program wrote.
func (t *terminal) output() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.String()
}
