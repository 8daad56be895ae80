package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/config"
	"zonedeck/service/servicetest"
	"zonedeck/ui/uitest"
)

// markedConsole is a console on a service and a proxy that repeat what they are sent. The screens of the
// emulator are searched by the walk of the key reference.
type markedConsole struct {
	*uitest.Whole
	process           Process
	api, dir          string
	byKey, byPassword atomic.Int64
	deleted           atomic.Bool // the service refuses the old value of the rotated key
	stdout, stderr    *bytes.Buffer
	end               func() error
	screens           strings.Builder // the screens that were waited for
}

// WaitFor keeps the screen, because typed text reaches the terminal character by character and no
// single write holds all of it.
func (c *markedConsole) WaitFor(texts ...string) string {
	screen := c.Whole.WaitFor(texts...)
	c.screens.WriteString(screen)
	return screen
}

// startMarked starts the console in a home with the marked secrets, after prepare.
func startMarked(t *testing.T, prepare func(p Process)) *markedConsole {
	t.Helper()
	c := &markedConsole{}
	api, proxy := hostileService(t, &c.byKey, &c.deleted), hostileProxy(t, &c.byPassword)
	p, stdout, stderr := process(t, map[string]string{
		"ZK": markedKey, "ZP": markedPassword, "TOKEN": markedToken, "ZNEW": markedNew, profileVariable: "acme", "ZONEDECK_EMULATOR_PROXY": "127.0.0.1:0",
	})
	c.process, c.api, c.dir, c.stdout, c.stderr = p, api, markedHome(t, p, api, proxy), stdout, stderr
	noteArguments(t, c.dir)
	prepare(p)
	c.open(t)
	return c
}

// open opens the console on the files of its home.
func (c *markedConsole) open(t *testing.T) {
	t.Helper()
	root, _, end, err := Console(t.Context(), c.process)
	if err != nil {
		t.Fatal(err)
	}
	c.Whole, c.end = uitest.Run(t, root, 120, 40), end
	c.WaitFor("[1 Sandbox]", "acme")
}

// search ends the console and searches its output: every byte for the terminal, its screens, both
// streams, every file, and the arguments of other programs.
func (c *markedConsole) search(t *testing.T) {
	t.Helper()
	if err := c.end(); err != nil {
		t.Error(err)
	}
	found, err := servicetest.LeaksUnder(c.dir, []string{"repo/.env"}, marked()...)
	if err != nil {
		t.Error(err)
	}
	for where, text := range map[string][]byte{
		"the terminal": c.Written(), "a screen": []byte(c.screens.String()), "stdout": c.stdout.Bytes(), "stderr": c.stderr.Bytes(),
	} {
		found = append(found, servicetest.Leaks(where, text, marked()...)...)
	}
	for _, leak := range found {
		t.Error(leak)
	}
}

// full makes the store of encrypted files refuse new secrets until free is called.
func (c *markedConsole) full(t *testing.T) (free func()) {
	t.Helper()
	dir := config.FindPaths(c.process.Getenv).SecretsDir()
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// noteArguments makes programs started from now on write their arguments to a file of the home, which is
// searched like all output.
func noteArguments(t *testing.T, dir string) {
	t.Helper()
	bin, noted := t.TempDir(), filepath.Join(dir, "arguments")
	for _, name := range []string{"git", "tmux", "sh", "age", "secret-tool", "security", "op", "pass", "xclip", "wl-copy"} {
		script := "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >>'" + noted + "'\n"
		if real, err := exec.LookPath(name); err == nil {
			script += "exec '" + real + "' \"$@\"\n"
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	_ = exec.CommandContext(t.Context(), "git", "--noted-by-this-test").Run() // git knows no such option
	if b, err := os.ReadFile(noted); err != nil || !bytes.Contains(b, []byte("--noted-by-this-test")) {
		t.Fatalf("nothing is noted: %s%v", b, err)
	}
}

// palette runs a command of the palette.
func (c *markedConsole) palette(command string) {
	c.Press("ctrl+p")
	c.Type(command)
	c.Press("enter")
}

// TestNoScreenWritesAMarkedSecret goes through the tabs.
func TestNoScreenWritesAMarkedSecret(t *testing.T) {
	w := startMarked(t, func(Process) {})
	w.Press("ctrl+l", "ctrl+u")
	w.Type("http://shop.test/{{token}}/ok")
	w.Press("ctrl+j")
	w.WaitFor("service 200")
	w.Press("tab", "tab", "]", "]", "]", "tab", "z", "z", "x")
	w.WaitFor("▸curl")
	w.Press("esc", "ctrl+l", "ctrl+u")
	w.Type("http://shop.test/refused")
	w.Press("ctrl+j")
	w.WaitFor("service 403")
	w.Press("alt+2")
	w.WaitFor("[2 Jobs]")
	w.Press("alt+3")
	w.WaitFor("[3 Proxy]", "brd-customer-")
	w.Press("ctrl+t")
	w.WaitFor("Test the login?")
	w.Press("y")
	w.WaitFor("407")
	w.Press("tab", "tab", "alt+4")
	w.WaitFor("[4 Keys", "daily")
	w.Press("l", "b")
	w.WaitFor("Blast radius", "profile acme")
	w.Press("5")
	w.WaitFor("[5 History", "shop.test")
	w.search(t)
	if w.byKey.Load() < 2 || w.byPassword.Load() == 0 || !strings.Contains(string(w.Written()), "shop.test") {
		t.Errorf("the key was sent %d times, the password %d times: nothing could be seen here", w.byKey.Load(), w.byPassword.Load())
	}
}

// TestNoFormOfAnAccountWritesAMarkedSecret types a key and the password of a zone, asks the account
// with them, and saves.
func TestNoFormOfAnAccountWritesAMarkedSecret(t *testing.T) {
	w := startMarked(t, func(Process) {})
	w.palette("add profile")
	w.WaitFor("›Profile", "(-) keyring")
	w.Type("beta")
	w.Press("tab", "space", "tab")
	w.Type(w.api)
	w.Press("tab", "tab")
	w.WaitFor("›API key")
	w.Type(markedWebhook)
	w.WaitFor("••••••••")
	w.Press("ctrl+r")
	w.WaitFor("••••4444, stored when you save", "accepts it")
	for range 9 {
		w.Press("tab")
	}
	w.WaitFor("›Zones")
	w.Send(tea.PasteMsg{Content: "\ndc1 datacenter " + markedNew})
	w.WaitFor("dc1 datacenter ••••")
	w.Press("tab")
	w.WaitFor("dc1 datacenter file:beta-zone-dc1")
	free := w.full(t)
	w.Press("ctrl+s")
	w.WaitFor("directory") // one word: the path before it differs in length from run to run
	free()
	w.Press("ctrl+s")
	w.WaitGone("Add profile") // the console ends, and opens again on the new profile
	w.search(t)
	w.open(t)
	w.palette("edit profile beta")
	w.WaitFor("it is stored: file:beta-key")
	w.search(t)
}

// TestNoRotationWritesAMarkedSecret rotates two keys by typed values: one behind a variable, as far as
// the console gets, and one in an encrypted file, to its end.
func TestNoRotationWritesAMarkedSecret(t *testing.T) {
	w := startMarked(t, func(p Process) {
		p.Args, p.Stdin = []string{"secrets", "set", "file:filed"}, strings.NewReader(markedOld+"\n")
		if code := Main(t.Context(), p); code != 0 {
			t.Fatalf("exit code %d", code)
		}
	})
	w.Press("esc", "4")
	w.WaitFor("[4 Keys", "filed")
	rotate := func(name, value string) {
		w.Press("/", "ctrl+u")
		w.Type(name)
		w.Press("enter", "R")
		w.WaitFor("Rotation of "+name+" by new key", "not begun")
		w.Press("enter")
		w.WaitFor("enter asks for the value")
		w.Press("enter")
		w.WaitFor("›New value")
		w.Type(value)
		w.WaitFor("••••••••")
		w.Press("ctrl+s")
		w.WaitGone("›New value")
	}
	rotate("daily", markedWebhook)
	w.WaitFor("accepted, but by what it may do it is ADMIN or OPS or LIMIT")
	w.Press("v")
	w.WaitFor("Vouch for: create")
	w.Type("as rehearsed")
	w.Press("ctrl+s")
	w.WaitFor("[~] create")
	w.Press("enter")
	w.WaitFor("! set env:ZK", "enter looks again")
	w.Press("x")
	w.WaitFor("copy as Markdown")
	w.Press("s")
	w.WaitFor("saved the report as")
	w.Press("esc")
	w.WaitGone("Rotation of daily")
	rotate("filed", markedNew)
	w.WaitFor("[✓] create")
	w.Press("enter")
	w.WaitFor("[✓] set file:filed")
	w.Press("enter")
	w.WaitFor("[✓] test profile filed")
	w.Press("enter")
	w.WaitFor("! delete", "it is still accepted")
	w.deleted.Store(true)
	w.Press("enter")
	w.WaitFor("[✓] refused", "the rotation of filed is done")
	w.Press("5")
	w.WaitFor("[5 History", "rotation complete")
	w.search(t)
}

// TestNoMoveOfSecretsWritesAMarkedSecret moves a variable's value into an encrypted file; the first attempt
// cannot write one.
func TestNoMoveOfSecretsWritesAMarkedSecret(t *testing.T) {
	w := startMarked(t, func(Process) {})
	w.palette("move secrets")
	w.WaitFor("Move secrets", "(-) keyring")
	w.Press("enter")
	w.Type("zk")
	w.WaitFor("env:ZK")
	free := w.full(t)
	w.Press("enter", "ctrl+s")
	w.WaitFor("directory") // one word: the path before it differs in length from run to run
	free()
	w.Press("ctrl+s")
	w.WaitFor("moved 1 secret")
	w.search(t)
}
