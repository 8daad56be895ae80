package whole

import (
	"strings"
	"testing"
	"time"
)

// The operator's own keys act and stand in the footer, in help, in the palette and in sentences;
// the usual ones do nothing any more.
func TestKeysOfOnesOwn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("config/zonedeck/config.toml", `[bindings]
"jobs.download" = "v"
"keys.refresh" = "F6"
"keys.rotate" = "T"
"sandbox.send" = "alt+s"
"console.keys" = "alt+k"
"console.help" = "f1"
"history.reload" = "f7"
"dialog.submit" = "f8"
`)
	h.write("inputs.json", `[{"url":"http://lab.test/product/1"}]`)
	h.run("jobs", "trigger", "gd_products", "--wait", "--input", h.dir+"/inputs.json")
	p := h.open(120, 40)
	ready(p)
	p.WaitFor("alt+s sends. ctrl+p", "alt+s sends the request.", "alt+s send ·")
	p.PressFor("esc 2", "[2 Jobs]", "v download", "F1 help")
	p.PressFor("f1", "v ", "Download the result to a file.")
	p.PressFor("esc ctrl+p", "Commands")
	p.Type("download")
	found := p.WaitFor("Download the result to a file.")
	for line := range strings.Lines(found) {
		if strings.Contains(line, "Download the result") && !strings.HasSuffix(strings.TrimRight(line, " │\n"), " v") {
			t.Errorf("the palette's line is %q", line)
		}
	}
	p.PressFor("esc d ?", "[2 Jobs]")
	if screen := p.Screen(); strings.Contains(screen, "NAME.part") || strings.Contains(screen, "Everywhere") {
		t.Errorf("the usual keys still act:\n%s", screen)
	}
	p.PressFor("v", "The rows are written to")
	if screen := p.Screen(); !strings.Contains(screen, "F8 download") || strings.Contains(screen, "f8") {
		t.Errorf("a function key is named in two forms:\n%s", screen)
	}
	p.PressFor("f8", "downloaded")

	p.PressFor("alt+k", "[alt+k Keys", "T rotate")
	p.PressFor("down f6", "Rotation of etl-main by refresh · not begun")
	p.PressFor("enter", "Refresh the key?", "n no") // what ends a value asks, whatever its key is
	h.later.Add(int64(time.Second))
	p.Press("n")
	p.WaitGone("Refresh the key?")
	p.PressFor("esc", "Lint (")
	p.PressFor("T", "Rotation of etl-main by new key · not begun")
	p.PressFor("esc 5", "[5 History]")
}

// The console does not start with keys that cannot be.
func TestTheConsoleNamesBothActionsOfOneKey(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("config/zonedeck/config.toml", "[bindings]\n\"jobs.download\" = \"X\"\n")
	term := openTerminal(t, 200, 60, environment(h.dir))
	if code := term.wait(); code != 2 {
		t.Errorf("it ends with %d", code)
	}
	term.waitFor("config/zonedeck/config.toml:2:1: jobs.download and jobs.cancel would both be at X; expected another key for one of them")
}
