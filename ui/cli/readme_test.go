package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/service/profile"
)

// The README says nothing that the program does not know: its commands parse,
// its tables are complete, its files load.

func readme(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// block is the fenced block of the README that holds text.
func block(t *testing.T, lang, text string) string {
	t.Helper()
	for _, b := range regexp.MustCompile("(?s)```"+lang+"\n(.*?)```").FindAllStringSubmatch(readme(t), -1) {
		if strings.Contains(b[1], text) {
			return b[1]
		}
	}
	t.Fatalf("the README has no %s block with %q", lang, text)
	return ""
}

// tableColumn is the first column of the README's table whose head begins so,
// without backquotes.
func tableColumn(t *testing.T, head string) []string {
	t.Helper()
	_, rest, found := strings.Cut(readme(t), "| "+head+" |")
	if !found {
		t.Fatalf("the README has no table %q", head)
	}
	var out []string
	for _, line := range strings.Split(rest, "\n")[2:] {
		cell, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !isRow {
			break
		}
		out = append(out, strings.Trim(cell, "`"))
	}
	return out
}

func TestTheReadmesCommandsParse(t *testing.T) {
	seen := 0
	for line := range strings.Lines(readme(t)) {
		line = strings.TrimSpace(line)
		if _, piped, ok := strings.Cut(line, "| zonedeck "); ok {
			line = "zonedeck " + piped
		}
		if !strings.HasPrefix(line, "zonedeck ") {
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		words, err := keystore.Words(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		seen++
		a := &app{}
		root := a.rootCommand()
		root.InitDefaultCompletionCmd("completion")
		if words[1] == "man" {
			continue // fang adds it; scripts run it
		}
		cmd, rest, err := root.Find(words[1:])
		if err != nil || cmd == root {
			t.Errorf("%s: no such command (%v)", line, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if seen < 15 {
		t.Errorf("the README shows %d commands; the test misses some", seen)
	}
}

func TestTheReadmeShowsEveryCommand(t *testing.T) {
	text := readme(t)
	for _, c := range (&app{}).rootCommand().Commands() {
		names := []string{c.Name()}
		if c.HasSubCommands() {
			names = nil
			for _, s := range c.Commands() {
				names = append(names, c.Name()+" "+s.Name())
			}
		}
		for _, name := range names {
			if !strings.Contains(text, "\nzonedeck "+name) {
				t.Errorf("the README shows no example of zonedeck %s", name)
			}
		}
	}
}

func TestTheReadmeListsEveryExitCode(t *testing.T) {
	want := []int{
		exitOK, exitChecksFailed, exitUsage, exitInternal, exitAccessRestricted, exitTooFast, exitCaptcha, exitTimeout,
		exitParsingDrift, exitStillRunning, exitNetwork, exitTLSTrust, exitRejected, exitTarget, exitState, exitService,
		exitRefused, exitJobFailed, exitMayHaveStarted, exitRotationDue, exitKeyExpired, exitLint, exitInterrupted,
	}
	var got []int
	for _, cell := range tableColumn(t, "code") {
		n, err := strconv.Atoi(cell)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the README lists %v, the program has %v", got, want)
	}
}

func TestTheReadmeListsEveryVariable(t *testing.T) {
	want := []string{envProfile, envKey, envPassword}
	for _, v := range profile.Variables() {
		want = append(want, v[0])
	}
	want = append(want, envEmulatorProxy, envChromium)
	if got := tableColumn(t, "variable"); !slices.Equal(got, want) {
		t.Errorf("the README lists %v, the program reads %v", got, want)
	}
}

func TestTheReadmeListsEveryKindOfReference(t *testing.T) {
	var got []string
	for _, example := range tableColumn(t, "reference") {
		ref, err := keystore.ParseRef(example)
		if err != nil {
			t.Errorf("%s: %v", example, err)
			continue
		}
		got = append(got, ref.Scheme())
	}
	want := keystore.Schemes()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the README lists %v, the program knows %v", got, want)
	}
}

func TestTheReadmeNamesEverySchema(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "schema", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	for _, f := range files {
		if link := "(docs/schema/" + filepath.Base(f) + ")"; !strings.Contains(readme(t), link) {
			t.Errorf("the README does not link to %s", link)
		}
	}
}

func TestTheReadmesFilesLoad(t *testing.T) {
	dir := t.TempDir()
	config, inventory := filepath.Join(dir, "config.toml"), filepath.Join(dir, "keys.toml")
	for name, text := range map[string]string{config: block(t, "toml", "[profiles.acme]"), inventory: block(t, "toml", "[[keys]]")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := profile.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := file.Profile("")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keystore.OpenInventory(inventory)
	if err != nil {
		t.Fatal(err)
	}
	if _, known := keys.Get(p.Key); !known || len(p.Zones) != 1 || p.CA != filepath.Join(dir, "root.pem") {
		t.Errorf("profile %+v", p)
	}
}

func TestTheDocumentsLinksLead(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, f := range append(files, filepath.Join(root, "README.md")) {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(raw), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(f), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(f), m[1], err)
			}
		}
	}
}
