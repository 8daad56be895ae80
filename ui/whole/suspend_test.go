//go:build !windows

package whole

import (
	"os/exec"
	"testing"

	"zonedeck/internal/noerr"
)

func TestTheConsoleIsSuspendedAndContinued(t *testing.T) {
	path := program(t)
	sh, err := exec.LookPath("sh")
	noerr.Must(t, err)
	term := openProgram(t, 80, 24, sh, environment(t.TempDir(), "PS1=ready> "), "-i")
	term.waitFor("ready>")
	term.pressFor(path+"\n", "LOCAL EMULATOR", "batch-user")
	term.pressFor("2", "[2 Jobs]")
	term.press("\x1a")
	term.waitFor("topped") // in the words of the shell
	term.pressFor("echo the $((6*7)) of the shell\n", "the 42 of the shell")
	term.pressFor("fg\n", "[2 Jobs]", "LOCAL EMULATOR")
	term.pressFor("p1", "[1 Sandbox]") // a key whose echo the shell would show
	term.pressFor("q", "ready>")
	term.press("exit\n")
	term.ends()
}

func TestWithoutAShellTheConsoleSaysThatItCannotBeSuspended(t *testing.T) {
	term := openConsole(t, 80, 24)
	term.pressFor("\x1a", "the console was not started from a shell")
	term.press("q")
	term.ends()
}
