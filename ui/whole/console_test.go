package whole

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheConsoleStartsAnswersResizesAndLeavesTheTerminalAsItWas(t *testing.T) {
	term := openTerminal(t, 120, 40, environment(t.TempDir()))
	term.waitFor("zonedeck", "LOCAL EMULATOR", "Sandbox", "Request", "batch-user")
	term.press("\n") // ctrl+j sends
	term.waitFor("200", "ok")
	term.resize(80, 24)
	term.waitFor("Sandbox")
	term.resize(50, 10)
	term.waitFor("60×16")
	term.resize(120, 40)
	term.waitFor("Sandbox", "Request")
	term.press("\x03")
	if code := term.wait(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	out := term.output()
	for _, restore := range []string{"\x1b[?1049l", "\x1b[?25h"} {
		if !strings.Contains(out, restore) {
			t.Errorf("the terminal was not given back: %q is missing", restore)
		}
	}
}

func TestAKilledConsoleLeavesAJobThatIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	env := environment(dir)
	inputs := filepath.Join(dir, "urls.txt")
	if err := os.WriteFile(inputs, []byte(strings.Repeat("http://lab.test/product/1\nhttp://lab.test/product/2\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	term := openTerminal(t, 120, 40, env)
	term.waitFor("LOCAL EMULATOR")
	launched := exec.CommandContext(t.Context(), program(t), "jobs", "trigger", "gd_products", "--input", inputs)
	launched.Env = env
	id, err := launched.Output()
	if err != nil {
		t.Fatalf("jobs trigger: %v", err)
	}
	term.press("2")
	term.waitFor("gd_products", "running")
	if err := term.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
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
