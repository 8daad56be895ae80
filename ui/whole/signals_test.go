//go:build unix

package whole

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/internal/noerr"
)

// endings are the signals that ask the program to end.
func endings() []syscall.Signal {
	return []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT}
}

func TestASignalEndsTheConsoleAndGivesTheTerminalBack(t *testing.T) {
	for _, s := range endings() {
		t.Run(s.String(), func(t *testing.T) {
			dir := t.TempDir()
			term := openTerminal(t, 80, 24, environment(dir))
			term.waitFor("LOCAL EMULATOR", "batch-user")
			noerr.Must(t, term.cmd.Process.Signal(s))
			term.ends()
			for _, restore := range []string{"\x1b[?1049l", "\x1b[?25h"} {
				if !strings.Contains(term.output(), restore) {
					t.Errorf("the terminal was not given back: %q is missing", restore)
				}
			}
		})
	}
}

// unread starts a console in a terminal that nobody reads, and changes its screen until its emulator has run for a second.
func unread(t *testing.T, dir string, program string, args ...string) (cmd *exec.Cmd, tty *os.File) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, program, args...)
	cmd.Env = environment(dir, "ZONEDECK_EMULATOR_PROXY=127.0.0.1:0")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 200, Rows: 60})
	noerr.Must(t, err)
	t.Cleanup(func() { tty.Close() })
	key := time.NewTicker(20 * time.Millisecond)
	defer key.Stop()
	for screens := 0; screens < 50; {
		<-key.C
		noerr.Must(t, noerr.From(io.WriteString(tty, "12"))) // each tab is another screen: the terminal fills
		if _, err := os.Stat(filepath.Join(dir, "state", "zonedeck", "emulator.json")); err == nil {
			screens++
		} else if ctx.Err() != nil {
			t.Fatal("the console does not start")
		}
	}
	return cmd, tty
}

func TestASignalEndsAConsoleWhoseTerminalNobodyReads(t *testing.T) {
	path := program(t)
	for _, s := range endings() {
		t.Run(s.String(), func(t *testing.T) {
			cmd, _ := unread(t, t.TempDir(), path)
			began := time.Now()
			noerr.Must(t, cmd.Process.Signal(s))
			noerr.Want(t, cmd.Wait())
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("it ended after %s", took)
			}
		})
	}
}

func TestAConsoleThatOutlivesItsTerminalSaysSoAndEnds(t *testing.T) {
	dir := t.TempDir()
	cmd, tty := unread(t, dir, "sh", "-c", "trap '' HUP; exec "+program(t)) // as nohup does
	noerr.Must(t, tty.Close())
	noerr.Want(t, cmd.Wait())
	log, err := os.ReadFile(filepath.Join(dir, "state", "zonedeck", "zonedeck.log"))
	if err != nil || !strings.Contains(string(log), "the console ends: its terminal is gone") {
		t.Errorf("the log has %q, %v", log, err)
	}
}

// Whoever asks for a dump of a console that hangs has to read it in a terminal that works.
func TestASignalThatDumpsGivesTheTerminalBackFirst(t *testing.T) {
	for s, name := range map[syscall.Signal]string{syscall.SIGQUIT: "SIGQUIT: quit", syscall.SIGABRT: "SIGABRT: abort"} {
		t.Run(name, func(t *testing.T) {
			fresh, tty, err := pty.Open()
			noerr.Must(t, err)
			defer fresh.Close()
			defer tty.Close()
			before := modes(t, fresh)
			term := openConsole(t, 80, 24)
			if reflect.DeepEqual(modes(t, term.file), before) {
				t.Fatal("the console did not change the terminal, so nothing can be seen here")
			}
			noerr.Must(t, term.cmd.Process.Signal(s))
			if code := term.wait(); code != 2 {
				t.Errorf("exit code %d, want the 2 of Go's runtime", code)
			}
			if after := modes(t, term.file); !reflect.DeepEqual(after, before) {
				t.Errorf("the terminal's modes are\n%+v, want\n%+v", after, before)
			}
			drawn, dump, dumped := strings.Cut(term.output(), name)
			if !dumped || !strings.Contains(dump, "\ngoroutine 1 ") {
				t.Errorf("no dump: %q", dump)
			}
			for _, restore := range []string{"\x1b[?1049l", "\x1b[?25h"} {
				if !strings.Contains(drawn, restore) {
					t.Errorf("%q is missing before the dump", restore)
				}
			}
		})
	}
}

// modes are the modes of a terminal, such as raw.
func modes(t *testing.T, f *os.File) *term.State {
	t.Helper()
	state, err := term.GetState(f.Fd())
	noerr.Must(t, err)
	return state
}

func TestASignalEndsTheEmulatorAndItsTemporaryFolder(t *testing.T) {
	path := program(t) // the deadline is not for a build with a cold cache
	for _, s := range endings() {
		t.Run(s.String(), func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, path, "emulate", "--proxy", "127.0.0.1:0", "--cdp", "127.0.0.1:0")
			cmd.Env = environment(dir, "TMPDIR="+dir)
			out, err := cmd.StdoutPipe()
			noerr.Must(t, err)
			noerr.Must(t, cmd.Start())
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready: ") {
				t.Fatalf("ready line %q, %v", line, err)
			}
			noerr.Must(t, cmd.Process.Signal(s))
			noerr.Want(t, cmd.Wait())
			if left, _ := filepath.Glob(filepath.Join(dir, "zonedeck-emulator-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestASignalEndsTheServerForAgents(t *testing.T) {
	path := program(t)
	for _, s := range endings() {
		t.Run(s.String(), func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, path, "mcp")
			cmd.Env = environment(dir, "ZONEDECK_EMULATOR_PROXY=127.0.0.1:0")
			in, err := cmd.StdinPipe()
			noerr.Must(t, err)
			out, err := cmd.StdoutPipe()
			noerr.Must(t, err)
			noerr.Must(t, cmd.Start())
			client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.IOTransport{Reader: out, Writer: in}, nil)
			noerr.Must(t, err)
			r, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "keys_check"}) // the emulator runs now
			if err != nil || r.IsError {
				t.Fatalf("%+v, %v", r, err)
			}
			noerr.Must(t, noerr.From(io.WriteString(in, `{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"fetch","arguments":{"url":"http://lab.test/slow?s=60","zone":"unlocker_demo"}}}`+"\n")))
			noerr.Must(t, client.Ping(ctx, nil)) // the fetch, which was asked for before, is under way
			noerr.Must(t, cmd.Process.Signal(s))
			_ = client.Wait()
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended with %v, want 0", err)
			}
		})
	}
}

func TestASignalThatCutsACommandOffIsItsExitCode(t *testing.T) {
	path := program(t)
	for _, s := range endings() {
		t.Run(s.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			arrived := make(chan struct{})
			api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the server sees no end of the connection before
				close(arrived)
				<-r.Context().Done()
			}))
			defer api.Close()
			cmd := exec.CommandContext(ctx, path, "request", "http://lab.test/", "--zone", "z", "--base-url", api.URL)
			cmd.Env = environment(t.TempDir(), "ZONEDECK_API_KEY=a-key-that-nobody-has")
			noerr.Must(t, cmd.Start())
			<-arrived
			noerr.Must(t, cmd.Process.Signal(s))
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != 128+int(s) {
				t.Errorf("exit code %d, want %d", got, 128+int(s))
			}
		})
	}
}

func TestTheEmulatorOutlivesTheConsoleThatStartedItAndEndsAfterTheLast(t *testing.T) {
	dir := t.TempDir()
	env := environment(dir)
	announced := filepath.Join(dir, "state", "zonedeck", "emulator.json")
	server := func() (serves struct{ PID int }) {
		raw, err := os.ReadFile(announced)
		noerr.Must(t, err)
		noerr.Must(t, json.Unmarshal(raw, &serves))
		return serves
	}
	first := openTerminal(t, 80, 24, env)
	first.waitFor("LOCAL EMULATOR", "batch-user")
	other := openTerminal(t, 120, 40, env)
	other.waitFor("LOCAL EMULATOR", "batch-user")
	began := server()
	noerr.Must(t, first.cmd.Process.Kill())
	first.wait()
	other.pressFor("\n", "It works")
	if now := server(); now != began || now.PID == first.cmd.Process.Pid {
		t.Errorf("process %d serves the emulator; before its first user was killed it was %d", now.PID, began.PID)
	}
	noerr.Must(t, syscall.Kill(began.PID, syscall.SIGKILL))
	other.waitFor("took over") // without a key pressed
	other.press("\x03")
	if code := other.wait(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	for waited := time.Now(); ; {
		if _, err := os.Stat(announced); os.IsNotExist(err) {
			return
		}
		if time.Since(waited) > patience {
			t.Fatalf("process %d still serves an emulator that nobody uses", server().PID)
		}
	}
}
