package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestActionsGetTheOperatorsKeys(t *testing.T) {
	t.Parallel()
	f, err := Parse("config.toml", []byte(`[bindings]
"jobs.download" = "v"
"jobs.new" = ["f9", "F6", "ctrl+g"]
"inbox.close" = "v"
"sandbox.send" = "alt+s"
"sandbox.har" = "E"
`))
	noerr.Must(t, err)
	b := f.Bindings()
	for _, c := range []struct {
		name  string
		usual []string
		want  string
	}{
		{"jobs.download", []string{"d"}, "v"},
		{"jobs.new", []string{"n"}, "f9 f6 ctrl+g"},
		{"inbox.close", []string{"esc", "i"}, "v esc"}, // esc goes back everywhere
		{"sandbox.send", []string{"ctrl+j", "f5"}, "alt+s"},
		{"sandbox.har", []string{"E"}, "E"},
		{"jobs.cancel", []string{"c"}, "c"},
		{"", []string{"x"}, "x"},
	} {
		if got := strings.Join(b.Keys(c.name, c.usual), " "); got != c.want {
			t.Errorf("%s is at %q, want %q", c.name, got, c.want)
		}
	}
	for name, want := range map[string]string{"jobs.download": "v", "jobs.new": "f9", "jobs.cancel": "X", "console.palette": "ctrl+p", "jobs.cance": "", "jobs": ""} {
		if got := b.Key(name); got != want {
			t.Errorf("sentences name %q for %s, want %q", got, name, want)
		}
	}
	// Two actions change places.
	_, err = Parse("config.toml", []byte("[bindings]\n\"jobs.notify\" = \"X\"\n\"jobs.cancel\" = \"N\"\n"))
	noerr.Want(t, err)
	if f, err = Parse("config.toml", []byte("[bindings]\n")); err != nil || len(f.Bindings()) > 0 {
		t.Errorf("an empty table gives %v and %v", f.Bindings(), err)
	}
}

func TestBindingsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	const anyKey = `; expected a key, or a list of keys, such as "d", "D", "space", "f6", "ctrl+g" or "alt+d"`
	for _, c := range []struct{ name, line, want string }{
		{"an unknown action", `"jobs.downlaod" = "w"`, `no action is named "jobs.downlaod": did you mean "jobs.download"?; expected a name that docs/keys.md shows, in quotes`},
		{"a name without quotes", `"jobs" = "w"`, `no action is named "jobs": did you mean "jobs.new"?; expected a name that docs/keys.md shows, in quotes`},
		{"an empty name", `"" = "w"`, `no action is named "": did you mean "move.up"?; expected a name that docs/keys.md shows, in quotes`},
		{"no key of a terminal", `"jobs.download" = "ctrl+shift+d"`, `jobs.download: "ctrl+shift+d" cannot be pressed` + anyKey},
		{"tab under another name", `"jobs.download" = "ctrl+i"`, `jobs.download: "ctrl+i" cannot be pressed` + anyKey},
		{"two letters", `"jobs.download" = "dd"`, `jobs.download: "dd" cannot be pressed` + anyKey},
		{"a control character", `"jobs.download" = "\u001b"`, `jobs.download: "\x1b" cannot be pressed` + anyKey},
		{"no text", `"jobs.download" = 5`, `jobs.download: 5 cannot be pressed` + anyKey},
		{"an empty key", `"jobs.download" = ""`, `jobs.download: "" cannot be pressed` + anyKey},
		{"an empty list", `"jobs.download" = []`, `jobs.download: the list is empty; expected a key, or no line for the usual one`},
		{"one of a list", `"jobs.download" = ["w", "esc"]`, `jobs.download: esc means the same everywhere; expected another key`},
		{"leaving the console", `"jobs.download" = "ctrl+c"`, `jobs.download: ctrl+c means the same everywhere; expected another key`},
		{"editing text", `"sandbox.save" = "ctrl+k"`, `sandbox.save: ctrl+k means the same everywhere; expected another key`},
		{"a letter that sends a form", `"sandbox.send" = "s"`, `sandbox.send: s would be text: the action works while one types; expected a key with ctrl or alt, or a function key`},
		{"a paste that sends a form", `"dialog.submit" = "ctrl+j"`, `dialog.submit: ctrl+j ends a line where several are typed, as in a paste; expected another key`},
		{"a blank that sends a form", `"dialog.submit" = "space"`, `dialog.submit: space would be text: the action works while one types; expected a key with ctrl or alt, or a function key`},
		{"how lists move", `"move.down" = "n"`, `move.down: its keys are the same for everybody; expected no line`},
		{"the answer to a question", `"question.yes" = "J"`, `question.yes: its keys are the same for everybody; expected no line`},
		{"a key of the same place", `"jobs.download" = "X"`, `jobs.download and jobs.cancel would both be at X; expected another key for one of them`},
		{"a key that moves", `"jobs.download" = "j"`, `jobs.download and move.down would both be at j; expected another key for one of them`},
		{"a key of every place", `"jobs.download" = "@"`, `jobs.download and console.profile would both be at @; expected another key for one of them`},
		{"a key of a page on which it works", `"jobs.download" = "x"`, `jobs.download and records.export would both be at x; expected another key for one of them`},
		{"the same new key twice", "\"jobs.cancel\" = \"v\"\n\"jobs.download\" = \"v\"", `jobs.cancel and jobs.download would both be at v; expected another key for one of them`},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		text := "[bindings]\n" + c.line + "\n"
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Load(path)
		fault, ok := errors.AsType[*FileError](err)
		if want := path + ":2:1: " + c.want; !ok || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", c.name, err, want)
		} else if fault.Line != 2 {
			t.Errorf("%s: line %d", c.name, fault.Line)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%s: the file is %q now", c.name, now)
		}
	}
}

func TestBindingsThatAreNoTable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"bindings = 1", "bindings = [\"d\"]", "[[bindings]]\n\"jobs.download\" = \"w\"", "[bindings]\n\"jobs.download\" =", "[bindings]\n\"jobs.download\" = \"w\"\n\"jobs.download\" = \"v\"", "[bindings.jobs]\ndownload = \"w\""} {
		if _, err := Parse("config.toml", []byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// The table has what the check takes from it: a place in each name, and itself among the places beside it.
func TestTheTableOfActions(t *testing.T) {
	t.Parallel()
	n := 0
	for line := range strings.Lines(actionsTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || strings.Count(f[0], ".") != 1 || len(strings.Fields(f[1])) == 0 || !slices.Contains(strings.Fields(f[3]), strings.Split(f[0], ".")[0]) {
			t.Errorf("a line of the table is %q", line)
		}
		n++
	}
	if n < 200 {
		t.Errorf("the table has %d actions", n)
	}
}
