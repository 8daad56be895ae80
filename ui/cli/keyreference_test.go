package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/service/local"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// keysFile is the key reference. To regenerate it:
//
//	go test ./ui/cli -run TestKeyReference -update
var keysFile = filepath.Join("..", "..", "docs", "keys.md")

const keysHead = `# Keys

Every key of the console, read off the bindings that act: a test walks through the
console on the emulator and writes down what each place offers. Do not edit this
file; ` + "`go test ./ui/cli -run TestKeyReference -update`" + ` writes it anew, and without
` + "`-update`" + ` the test fails when the file is stale.

The name of an action is for [keys of your own](configuration.md#keys-of-your-own).

On the screen, ` + "`?`" + ` shows the keys that mean something now, and a key that cannot act
says why. Keys marked ! cost or destroy something; they ask first. What only costs is not
asked about on the emulator, which charges nothing. The keys of next steps are there only
with a failure they help against.

In a form, of a tab or a dialog, a text that has the cursor (█) takes what is typed: letters,
digits, ` + "`?`, `:`, `@`, `/`" + `. The footer says into which field it goes. Only the chords marked ⌨
act then, as ` + "`ctrl+j`" + ` (send), ` + "`ctrl+t`" + ` (test), ` + "`ctrl+w`" + ` (compare), ` + "`ctrl+x`" + ` (code) and
` + "`alt+2`" + ` (the tab). ` + "`esc`" + ` puts the form at rest: letters and digits are keys again, and ` + "`j` and `k`" + ` move
through it, until ` + "`enter` or `i`" + ` edits, or an arrow moves. No letter of a form sends anything.

` + "`esc`" + ` first cancels the call that the place waits for, then dismisses an error that stands on the screen.

A copy goes to this machine's clipboard, if it has one, and by OSC 52 to the terminal's,
which never confirms it. In tmux it goes to a paste buffer, which its prefix and ` + "`]`" + ` paste, and
tmux is asked to pass it on, unless its ` + "`set-clipboard`" + ` is off; GNU screen may not pass it on.
Only what this machine's clipboard took, or is seen in tmux's paste buffer, is called copied.
`

// entry is one line of the reference: what a key does, and the keys that do it.
type entry struct {
	name, group, help string
	keys              []string
	typing            map[string]bool // the keys that still act while a text field is edited
	dangerous         bool
}

// section is the keys of one place, in the order in which they first appeared.
type section struct {
	title   string
	entries []*entry
}

// reference collects the bindings of every place visited.
type reference struct {
	sections []*section
	actions  map[string]*offered
	mistakes map[string]bool
}

func newReference() *reference {
	return &reference{actions: map[string]*offered{}, mistakes: map[string]bool{}}
}

// see adds bindings. Equal sentences under one heading share a line.
func (r *reference) see(title string, bindings []kit.Binding) {
	i := slices.IndexFunc(r.sections, func(s *section) bool { return s.title == title })
	if i < 0 {
		r.sections = append(r.sections, &section{title: title})
		i = len(r.sections) - 1
	}
	s := r.sections[i]
	for _, b := range bindings {
		if len(b.Keys) == 0 || b.Help == "" { // a command of the palette, a line of a menu
			continue
		}
		at := slices.IndexFunc(s.entries, func(e *entry) bool { return e.group == b.Group && e.help == b.Help && e.name == b.Name })
		if at < 0 {
			s.entries = append(s.entries, &entry{name: b.Name, group: b.Group, help: b.Help, typing: map[string]bool{}})
			at = len(s.entries) - 1
		}
		e := s.entries[at]
		e.dangerous = e.dangerous || b.Dangerous
		for _, k := range b.Keys {
			e.typing[k] = e.typing[k] || b.WhileTyping && !kit.Types(k)
			if !slices.Contains(e.keys, k) {
				e.keys = append(e.keys, k)
			}
		}
	}
}

// markdown is the file: the sections in the given order, each with its groups in
// order of appearance.
func (r *reference) markdown(titles []string) string {
	var out strings.Builder
	out.WriteString(keysHead)
	for _, title := range titles {
		i := slices.IndexFunc(r.sections, func(s *section) bool { return s.title == title })
		if i < 0 {
			continue
		}
		fmt.Fprintf(&out, "\n## %s\n", title)
		entries := r.sections[i].entries
		var groups []string
		for _, e := range entries {
			if !slices.Contains(groups, e.group) {
				groups = append(groups, e.group)
			}
		}
		for _, group := range groups {
			if group != "" {
				fmt.Fprintf(&out, "\n### %s: %s\n", title, heading(group))
			}
			out.WriteString("\n| key | what it does | name |\n| --- | --- | --- |\n")
			for _, e := range inGroup(entries, group) {
				fmt.Fprintf(&out, "| %s | %s | %s |\n", e.cell(), strings.ReplaceAll(e.help, "|", "\\|"), e.name)
			}
		}
	}
	return out.String()
}

// heading is a group's name as a heading. An abbreviation keeps its capitals.
func heading(group string) string {
	words := strings.Fields(group)
	for i, word := range words {
		if word != strings.ToUpper(word) {
			words[i] = strings.ToLower(word)
		}
	}
	return strings.Join(words, " ")
}

// inGroup returns the entries of a group. The next steps of a failure are sorted by key,
// one entry each.
func inGroup(entries []*entry, group string) []*entry {
	var out []*entry
	for _, e := range entries {
		if e.group != group {
			continue
		}
		if group != nextSteps {
			out = append(out, e)
			continue
		}
		help := stepHelp(e.help)
		at := slices.IndexFunc(out, func(o *entry) bool { return slices.Equal(o.keys, e.keys) })
		switch {
		case at < 0:
			step := *e
			step.help = help
			out = append(out, &step)
		case !slices.Contains(strings.Split(out[at].help, "; "), help):
			out[at].help += "; " + help
		}
	}
	if group == nextSteps {
		slices.SortStableFunc(out, func(a, b *entry) int { return strings.Compare(a.keys[0], b.keys[0]) })
	}
	return out
}

// nextSteps is the group of keys for a failure's next steps.
const nextSteps = "Next steps"

// Parts of a step's text that belong to the one failure that the walk saw: the contract's
// section, the time to wait, the missing fields.
var ofOneFailure = regexp.MustCompile(` \(contract [0-9.]+\)$| after \S+, as the answer asks|: \.price`)

// stepHelp is a step's text as it holds for every failure. "Consider" is the weaker wording
// for weak signs; the key does the same.
func stepHelp(help string) string {
	help = strings.Replace(help, "consider a product", "use a product", 1)
	for ofOneFailure.MatchString(help) {
		help = ofOneFailure.ReplaceAllStringFunc(help, func(found string) string {
			if strings.HasPrefix(found, " after ") {
				return " when the answer says so"
			}
			return ""
		})
	}
	return help
}

func (e *entry) cell() string {
	names := make([]string, len(e.keys))
	for i, k := range e.keys {
		names[i] = "`" + strings.ReplaceAll(kit.KeyName(k), "|", `\|`) + "`" // in a table
		if e.typing[k] {
			names[i] += "⌨"
		}
	}
	cell := strings.Join(names, " ")
	if e.dangerous {
		cell += " !"
	}
	return cell
}

// dialogs is the section for dialogs over a tab.
const dialogs = "Dialogs"

// recorder is the root model with an observer.
type recorder struct {
	*ui.App
	ref *reference
}

func (r *recorder) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := r.App.Update(msg)
	target := r.Target()
	title := target.Title()
	if _, over := target.(kit.Overlay); over {
		title = dialogs
	}
	r.ref.see(title, target.Bindings())
	r.ref.together(append(slices.Clone(target.Bindings()), r.Bindings()...))
	return r, cmd
}

func TestKeyReference(t *testing.T) {
	t.Parallel()
	tabs := []string{"Sandbox", "Jobs", "Proxy", "Keys", "History"}
	ref := newReference()
	t.Run("walk", func(t *testing.T) { walk(t, ref) })
	t.Run("paid split", func(t *testing.T) { walkPaidRefusal(t, ref) })
	if t.Failed() {
		return
	}
	got := ref.markdown(append(append([]string{"Everywhere"}, tabs...), dialogs))
	for _, s := range ref.sections {
		if len(s.entries) < 3 {
			t.Errorf("the walk saw %d keys of %s", len(s.entries), s.title)
		}
	}
	checkActions(t, ref)
	if flag.Lookup("update").Value.String() == "true" {
		noerr.Must(t, os.WriteFile(keysFile, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(keysFile)
	noerr.Must(t, err)
	if got != string(want) {
		t.Errorf("docs/keys.md is stale; go test ./ui/cli -run TestKeyReference -update writes it anew. %s", firstDifference(string(want), got))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		switch {
		case i >= len(w):
			return fmt.Sprintf("It lacks %q", g[i])
		case i >= len(g):
			return fmt.Sprintf("It still has %q", w[i])
		case w[i] != g[i]:
			return fmt.Sprintf("Line %d is %q, and should be %q", i+1, w[i], g[i])
		}
	}
	return ""
}

// walk goes to every place of the console that has different keys.
func walk(t *testing.T, ref *reference) {
	p, _, _ := process(t, map[string]string{"EDITOR": "true"})
	seed(t, p)
	root, _, closeSession, err := Console(t.Context(), p)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, closeSession()) })
	app, ok := root.(*ui.App)
	if !ok {
		t.Fatalf("the root is a %T", root)
	}
	ref.see("Everywhere", app.Bindings())
	w := uitest.Run(t, &recorder{App: app, ref: ref}, 120, 40)
	w.WaitFor("[1 Sandbox]", local.DemoKey)

	walkSandbox(w)
	walkJobs(w)
	walkProxy(w)
	walkKeys(w)
	walkHistory(w)
	walkFlight(w)
	walkRehearsal(w)
	w.Press("ctrl+p")
	w.WaitFor("Commands")
	w.Press("esc", "?", "end")
	w.WaitFor("Everywhere")
	w.Press("esc")
	noDemoSecret(t, p, w)
}

func walkSandbox(w *uitest.Whole) {
	w.Press("enter") // the zone picker
	w.WaitFor("type to filter")
	w.Press("esc", "enter")
	w.WaitFor("type to filter")
	w.Type("datacenter")                       // an unlocker zone would get past what is shown below
	w.Press("enter", "esc", "enter", "ctrl+u") // on to the URL, which is edited until esc
	w.Type("http://lab.test/captcha")
	w.Press("enter")
	w.Press("right", "right") // agent access, and back
	w.WaitFor("fetch the URL")
	w.Press("right")
	w.WaitFor("datacenter_demo")
	w.Press("j", "j", "j", "j") // a choice, a picker, a toggle
	w.Press("ctrl+j")
	w.WaitFor("CAPTCHA", "are you a robot")
	w.Press("tab", "tab", "/") // the wire, the result
	w.Type("robot")
	w.Press("enter", "n", "|")
	w.WaitFor("CSS ›")
	w.Type("p")
	w.WaitFor("result")
	w.Press("enter", "esc", "]", "]", "]", "[", "tab", "z", "z")
	w.Press("y")
	w.WaitFor("Copy")
	w.Press("esc", "x")
	w.WaitFor("▸curl")
	w.Press("esc", "ctrl+s")
	w.WaitFor("Save")
	w.Type("walk")
	w.Press("ctrl+s")
	w.WaitFor("Saved as walk")
	w.Press("ctrl+o")
	w.WaitFor("Saved requests", "by API")
	w.Press("ctrl+d")
	w.WaitFor("Removed walk")
	w.Press("esc")
	w.WaitGone("Saved requests")
}

func walkJobs(w *uitest.Whole) {
	w.Press("2")
	w.WaitFor("[2 Jobs]", "gd_products")
	w.Press("n")
	w.WaitFor("New job", "Any page")
	w.Type("gd_pages")
	w.WaitFor("› gd_pages")
	w.Press("enter")
	w.WaitFor("url *")
	w.Press("esc")
	w.WaitGone("New job")
	w.Press("enter", "tab", "shift+tab", "esc", "z", "z", "p")
	w.WaitFor("Brass desk lamp")
	w.Press("esc", "d")
	w.WaitFor("The rows are written to")
	w.Press("ctrl+s")
	w.WaitFor("downloaded")
	w.Press("p") // all of its rows, one of them, and a line that is typed
	w.WaitFor("100 % filled")
	w.Press("f", "esc", "tab", "esc", "esc")
	w.Press("i")
	w.WaitFor("hook-1")
	w.Press("/")
	w.Type("hook")
	w.WaitFor("1 of 1")
	w.Press("enter")
	w.WaitFor("esc shows all")
	w.Press("esc", "enter")
	w.WaitFor("sha256")
	w.Press("esc")
	w.WaitGone("sha256")
	w.Press("esc")
	w.WaitGone("hook-1")
	w.Press("D")
	w.WaitFor("Drift", "lab.test/shop")
	w.Press("a")
	w.WaitFor("Accept lab.test/shop?")
	w.Press("esc", "enter")
	w.WaitFor("BEFORE")
	w.Press("esc", "esc", "b")
	w.WaitFor("Batches", "datacenter_demo")
	w.Press("enter")
	w.WaitFor("done", "items")
	w.Press("tab")
	w.WaitFor("http://lab.test/ok")
	w.Press("e")
	w.WaitFor("Limits of")
	w.Press("esc", "esc", "y")
	w.WaitFor("folder of results")
	w.Press("esc", "n")
	w.WaitFor("New batch")
	w.Press("esc", "esc", "esc", "esc")
	w.WaitGone("Batches")
	w.Press("down") // to the job that the service refused
	w.WaitFor("[K] check the key")
	w.Press("down") // to the job that did not reach it
	w.WaitFor("[P] check the base URL")
	w.Press("P")
	w.WaitFor("Profile local")
	w.Press("esc")
}

func walkKeys(w *uitest.Whole) {
	w.Press("alt+4")
	w.WaitFor("[4 Keys", "old-admin")
	w.Press("tab", "esc", "z", "esc", "l", "v", "esc", "a")
	w.WaitFor("Record a key")
	w.Press("esc")
	w.WaitGone("Record a key")
	w.Press("down", "R") // a key of the emulator, which a call can prove
	w.WaitFor("delete the old")
	w.Press("esc", "up", "X")
	w.WaitFor("no")
	w.Press("n", "/")
	w.Type("state:due")
	w.Press("enter")
	w.WaitFor("esc shows all")
	w.Press("esc")
}

// walkFlight goes to the line of a request in flight, and cancels it.
func walkFlight(w *uitest.Whole) {
	w.Press("1", "ctrl+l", "ctrl+u")
	w.Type("http://lab.test/slow?s=30")
	w.Press("ctrl+j", "shift+tab", "g", "c")
	w.WaitFor("Cancelled after", "0 running")
	w.Press("2")
}

// walkRehearsal opens the palette's commands about the emulator.
func walkRehearsal(w *uitest.Whole) {
	fromPalette := func(command, title string) {
		w.Press("ctrl+p")
		w.WaitFor("Commands")
		w.Type(command)
		w.Press("enter")
		w.WaitFor(title)
	}
	fromPalette("emulator: faults", "Faults of the emulator")
	w.WaitFor("No fault is set")
	w.Press("a")
	w.WaitFor("Add a fault")
	w.Press("esc")
	w.WaitGone("Add a fault")
	w.Press("esc")
	w.WaitGone("Faults of the emulator")
	fromPalette("rates of the zones", "What the zones of local cost")
	w.Press("ctrl+s")
	w.WaitFor("Nothing is written")
	w.Press("esc")
	w.WaitGone("What the zones of local cost")
	fromPalette("add profile", "User prefix")
	w.Press("esc", "esc")
	w.WaitGone("User prefix")
	fromPalette("balance", "reload")
	w.Press("esc")
	w.WaitGone("reload")
	fromPalette("move time", "Move the emulator's time")
	w.Press("esc")
	w.WaitGone("Move the emulator's time")
}
