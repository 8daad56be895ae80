package whole

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/rehearsal"
)

func TestTheConsoleStartsAnswersResizesAndLeavesTheTerminalAsItWas(t *testing.T) {
	term := openTerminal(t, 120, 40, environment(t.TempDir()))
	term.waitFor("zonedeck", "LOCAL EMULATOR", "Sandbox", "Request", "batch-user")
	term.pressFor("\n", "200", "ok") // ctrl+j sends
	term.resize(80, 24)
	term.waitFor("Sandbox")
	term.resize(50, 10)
	term.waitFor("60×16")
	term.resize(120, 40)
	term.waitFor("Sandbox", "Request")
	term.press("\x03")
	term.ends()
	out := term.output()
	for _, restore := range []string{"\x1b[?1049l", "\x1b[?25h"} {
		if !strings.Contains(out, restore) {
			t.Errorf("the terminal was not given back: %q is missing", restore)
		}
	}
}

func TestKeysActAfterAPasteThatHoldsABeginningOfAString(t *testing.T) {
	term := openConsole(t, 120, 40)
	term.press("\x1bu\x05") // alt+u and ctrl+e edit the URL
	term.pressFor("\x1b[200~?a\x1bPb\x90c\x1b_d–e\x1b[201~", "?aPbc_d–e")
	term.pressFor("f\r", "?aPbc_d–ef")
	term.pressFor("2", "[2 Jobs]")
	term.press("q")
	term.ends()
}

func TestAKilledConsoleLeavesAJobThatIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	env := environment(dir)
	inputs := filepath.Join(dir, "urls.txt")
	var urls strings.Builder
	for i := range 200 {
		fmt.Fprintf(&urls, "http://lab.test/product/%d?n=%d\n", 1+i%2, i)
	}
	noerr.Must(t, os.WriteFile(inputs, []byte(urls.String()), 0o600))
	term := openTerminal(t, 120, 40, env)
	term.waitFor("LOCAL EMULATOR")
	launched := exec.CommandContext(t.Context(), program(t), "jobs", "trigger", "gd_products", "--input", inputs)
	launched.Env = env
	id, err := launched.Output()
	if err != nil {
		t.Fatalf("jobs launch: %v", err)
	}
	term.pressFor("2", "gd_products", "running")
	noerr.Must(t, term.cmd.Process.Kill())
	term.wait()

	watched := exec.CommandContext(t.Context(), program(t), "jobs", "watch", strings.TrimSpace(string(id)), "--json", "--timeout", "60s")
	watched.Env = env
	out, err := watched.Output()
	if err != nil {
		t.Fatalf("jobs watch: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), `"state":"ready"`) || !strings.Contains(string(out), `"inputs":200`) {
		t.Errorf("the job after the restart: %s", out)
	}
	check := exec.CommandContext(t.Context(), program(t), "jobs", "list")
	check.Env = env
	if list, err := check.CombinedOutput(); err != nil || strings.Contains(string(list), "corrupt") {
		t.Errorf("the journal after a kill: %v\n%s", err, list)
	}
}

func TestMovedTimeStaysAfterAProfileSwitchAndARestart(t *testing.T) {
	dir := t.TempDir()
	env := environment(dir)
	config := filepath.Join(dir, "config/zonedeck/config.toml")
	noerr.Must(t, errors.Join(os.MkdirAll(filepath.Dir(config), 0o700), os.WriteFile(config, []byte("[profiles.acme]\nbase_url = \"http://127.0.0.1:1\"\n"), 0o600)))
	begin := func() *terminal {
		term := openTerminal(t, 120, 40, env, "--profile", "local")
		term.waitFor("LOCAL EMULATOR", "batch-user")
		return term
	}
	aged := func(term *terminal) {
		t.Helper()
		term.waitFor("LOCAL EMULATOR +30d", "batch-user")
		term.pressFor("4", "[4 Keys", "etl-main", "142d", "52 d over")
	}
	use := func(term *terminal, profile, shows string) {
		t.Helper()
		term.pressFor("\x10", "Commands") // ctrl+p
		term.pressFor("use profile "+profile, "›use profile "+profile)
		term.pressFor("\r", shows)
	}
	term := begin()
	running, err := os.ReadFile(filepath.Join(dir, "state/zonedeck/emulator.json"))
	noerr.Must(t, err)
	var emulator struct {
		Control string `json:"control"`
		Token   string `json:"control_token"`
	}
	noerr.Must(t, json.Unmarshal(running, &emulator))
	place := rehearsal.Place{URL: emulator.Control, Token: keystore.NewSecret(emulator.Token)}
	control := rehearsal.New(func(context.Context) (rehearsal.Place, error) { return place, nil })
	noerr.Must(t, noerr.From(control.Advance(t.Context(), 30*24*time.Hour)))
	aged(term)
	use(term, "acme", "zonedeck · acme")
	use(term, "local", "LOCAL EMULATOR +30d")
	aged(term)
	term.press("\x03")
	term.wait()
	aged(begin())
}

// In a multiplexer, and without a clipboard of the machine, nothing says that a copy arrived.
func TestACopyInAMultiplexerIsSentBothWaysAndNotCalledCopied(t *testing.T) {
	payload := "]52;c;" + base64.StdEncoding.EncodeToString([]byte("http://lab.test/ok")) + "\a"
	for _, c := range []struct{ env, wrapped, warning string }{
		{"TMUX=/run/tmux,1,0", "\x1bPtmux;\x1b\x1b" + payload + "\x1b\\", "allow-passthrough on"},
		{"STY=1.pts-0", "\x1bP\x1b" + payload + "\x1b\\", "GNU screen may not pass it on"},
	} {
		t.Run(c.env, func(t *testing.T) {
			term := openConsole(t, 120, 40, c.env, "PATH="+t.TempDir()) // no clipboard program
			term.pressFor("y", "URL of the form")
			term.press("u")
			screen := term.waitFor("sent URL (18 B) to the terminal's clipboard", c.warning)
			if strings.Contains(screen, "copied URL") {
				t.Errorf("it is called copied:\n%s", screen)
			}
			for _, want := range []string{"\x1b" + payload, c.wrapped} {
				if !strings.Contains(term.output(), want) {
					t.Errorf("the terminal did not get %q", want)
				}
			}
			term.press("\x19") // ctrl+y
			shown := term.waitFor("enter goes back to zonedeck")
			if !strings.Contains(shown, "\nhttp://lab.test/ok") || strings.Contains(shown, "Will be sent") {
				t.Errorf("the text is not shown by itself:\n%s", shown)
			}
			term.pressFor("\r", "LOCAL EMULATOR", "Will be sent")
			term.press("\x03")
			term.ends()
		})
	}
}

// A tmux with its first settings ignores OSC 52: it gets the copy by its own command, and only once.
func TestACopyIsInThePasteBufferOfATmux(t *testing.T) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is missing; install tmux")
	}
	dir, err := os.MkdirTemp("", "tmux") // a socket's path has to be short
	noerr.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := t.TempDir() // no clipboard program
	noerr.Must(t, os.Symlink(program, filepath.Join(path, "tmux")))
	tmux := func(args ...string) string {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, append([]string{"-S", filepath.Join(dir, "s"), "-f", "/dev/null"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "cat")
	t.Cleanup(func() { tmux("kill-server") })
	term := openConsole(t, 160, 40, "TMUX="+filepath.Join(dir, "s")+",1,0", "PATH="+path)
	term.pressFor("y", "URL of the form")
	term.pressFor("u", "copied URL: 18 B to tmux's paste buffer; tmux was asked to pass it on")
	if got := tmux("save-buffer", "-"); got != "http://lab.test/ok" {
		t.Errorf("the paste buffer holds %q", got)
	}
	if plain := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte("http://lab.test/ok")) + "\a"; strings.Contains(strings.ReplaceAll(term.output(), "\x1b"+plain, ""), plain) {
		t.Error("tmux is sent it once more")
	}
	term.press("\x03")
	term.ends()
}

// An empty OSC 52 is ignored by tmux and some terminals: a secret is overwritten.
func TestACopiedSecretIsOverwrittenInTheTerminal(t *testing.T) {
	term := openConsole(t, 120, 40, "PATH="+t.TempDir()) // no clipboard program
	term.pressFor("3", "t logs in")
	term.pressFor("y", "the password alone")
	term.pressFor("P", "copy the password · n no")
	term.rest(time.Second) // a question takes no key in its first moment
	term.pressFor("y", "it holds a secret")
	term.press("\x03")
	term.wait()
	over := "]52;c;" + base64.StdEncoding.EncodeToString([]byte("(a secret was here; zonedeck cleared it)")) + "\a"
	if out := term.output(); !strings.Contains(out, over) {
		t.Errorf("the terminal was not asked to overwrite it:\n%q", out[max(0, len(out)-400):])
	}
}

func TestCodeIsPrintedForTheTerminalsOwnSelection(t *testing.T) {
	term := openConsole(t, 80, 24)
	term.pressFor("x", "▸curl")
	term.press("p")
	shown := term.waitFor("enter goes back to zonedeck", `"$ZONEDECK_API_KEY"`)
	if strings.Contains(shown, "│") || strings.Contains(shown, "↪") {
		t.Errorf("there is more than the code:\n%s", shown)
	}
	term.pressFor("\r", "LOCAL EMULATOR", "▸curl")
	term.press("\x03")
	term.ends()
}

func TestASignalEndsTheConsoleWhileACopiedTextIsShown(t *testing.T) {
	term := openConsole(t, 120, 40)
	term.pressFor("y", "URL of the form")
	term.pressFor("u", "the terminal's")
	term.pressFor("\x19", "enter goes back to zonedeck")
	noerr.Must(t, term.cmd.Process.Signal(os.Interrupt))
	term.wait()
}
