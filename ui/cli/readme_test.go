package cli

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service"
	"zonedeck/service/config"
	"zonedeck/service/local"
)

// README and docs match the program: their commands parse, their tables are
// complete, their files load.

// The pages of operators, from the repository's root.
const (
	readmePage        = "README.md"
	commandsPage      = "docs/commands.md"
	configurationPage = "docs/configuration.md"
)

// page is the text of a page.
func page(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	noerr.Must(t, err)
	return string(raw)
}

// block is the fenced block of a page that holds text.
func block(t *testing.T, name, lang, text string) string {
	t.Helper()
	for _, b := range regexp.MustCompile("(?s)```"+lang+"\n(.*?)```").FindAllStringSubmatch(page(t, name), -1) {
		if strings.Contains(b[1], text) {
			return b[1]
		}
	}
	t.Fatalf("%s has no %s block with %q", name, lang, text)
	return ""
}

// tableColumn is the first column of the page's table with this head, without
// backquotes.
func tableColumn(t *testing.T, name, head string) []string {
	t.Helper()
	_, rest, found := strings.Cut(page(t, name), "| "+head+" |")
	if !found {
		t.Fatalf("%s has no table %q", name, head)
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

func TestTheCommandsOfThePagesParse(t *testing.T) {
	t.Parallel()
	for name, atLeast := range map[string]int{readmePage: 8, commandsPage: 20} {
		t.Run(name, func(t *testing.T) { parseCommands(t, page(t, name), atLeast) })
	}
}

func parseCommands(t *testing.T, text string, atLeast int) {
	t.Helper()
	seen := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if _, piped, ok := strings.Cut(line, "| zonedeck "); ok {
			line = "zonedeck " + piped
		}
		if !strings.HasPrefix(line, "zonedeck ") {
			continue
		}
		line = regexp.MustCompile(` [#<>].*`).ReplaceAllString(line, "")
		words, err := keystore.SplitArgs(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		seen++
		a := &app{Process: Process{Getenv: func(string) string { return "" }}}
		root := a.rootCommand()
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
	if seen < atLeast {
		t.Errorf("the page shows %d commands; the test misses some", seen)
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	text := page(t, commandsPage)
	for _, c := range (&app{}).rootCommand().Commands() {
		var names []string
		if !c.HasSubCommands() && !c.Hidden && c.Name() != "help" {
			names = []string{c.Name()}
		}
		for _, s := range c.Commands() {
			if !s.Hidden {
				names = append(names, c.Name()+" "+s.Name())
			}
		}
		for _, name := range names {
			if !strings.Contains(text, "\nzonedeck "+name) {
				t.Errorf("docs/commands.md shows no example of zonedeck %s", name)
			}
		}
	}
}

func TestEveryExitCodeIsListed(t *testing.T) {
	want := []int{
		exitOK, exitChecksFailed, exitUsage, exitInternal, exitAccessRestricted, exitTooFast, exitCaptcha, exitTimeout,
		exitParsingDrift, exitStillRunning, exitNetwork, exitTLSTrust, exitRejected, exitTarget, exitState, exitService,
		exitRefused, exitCapped, exitJobFailed, exitMayHaveStarted, exitLaunchedBefore, exitRotationDue, exitKeyExpired, exitLint, ExitInterrupted,
	}
	var got []int
	for _, cell := range tableColumn(t, commandsPage, "code") {
		n, err := strconv.Atoi(cell)
		noerr.Must(t, err)
		got = append(got, n)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page lists %v, the program has %v", got, want)
	}
	// Each is the end of a real run in a script. None ends with an internal error; TestAnInterruptedFetchEndsAtOnceWith130
	// interrupts one.
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	noerr.Must(t, err)
	ends := map[string]bool{}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		noerr.Must(t, err)
		for _, run := range regexp.MustCompile(`(?m)^exits (\d+) zonedeck `).FindAllSubmatch(text, -1) {
			ends[string(run[1])] = true
		}
	}
	for _, code := range got {
		if !ends[strconv.Itoa(code)] && code != exitInternal && code != ExitInterrupted {
			t.Errorf("no script has a run that ends with %d", code)
		}
		delete(ends, strconv.Itoa(code))
	}
	if len(ends) > 0 || exitCode(t.Context(), errors.New("unforeseen")) != exitInternal {
		t.Errorf("runs end with %v, which the page does not list", ends)
	}
}

func TestEveryVariableIsListed(t *testing.T) {
	want := []string{service.EnvConfig, service.EnvProfile, service.EnvKey, service.EnvPassword}
	for _, v := range config.Variables() {
		want = append(want, v[0])
	}
	want = append(want, service.EnvPassphrase, service.EnvDatabase, local.EnvProxy, local.EnvChromium)
	if got := tableColumn(t, configurationPage, "variable"); !slices.Equal(got, want) {
		t.Errorf("the page lists %v, the program reads %v", got, want)
	}
}

func TestEveryKindOfReferenceIsListed(t *testing.T) {
	var got []string
	for _, example := range tableColumn(t, configurationPage, "reference") {
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
		t.Errorf("the page lists %v, the program knows %v", got, want)
	}
}

func TestEverySchemaIsListed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "schema", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	for _, f := range files {
		if link := "(schema/" + filepath.Base(f) + ")"; !strings.Contains(page(t, commandsPage), link) {
			t.Errorf("docs/commands.md does not link to %s", link)
		}
	}
}

func TestTheFilesOfThePagesLoad(t *testing.T) {
	dir := t.TempDir()
	configPath, inventory := filepath.Join(dir, "config.toml"), filepath.Join(dir, "keys.toml")
	for name, text := range map[string]string{configPath: block(t, configurationPage, "toml", "[profiles.acme]"), inventory: block(t, configurationPage, "toml", "[[keys]]")} {
		noerr.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	file, err := config.Load(configPath)
	noerr.Must(t, err)
	p, err := file.Profile("")
	noerr.Must(t, err)
	keys, err := keystore.OpenInventory(inventory)
	noerr.Must(t, err)
	if _, known := keys.Get(p.Key); !known || len(p.Zones) != 1 || p.CA != filepath.Join(dir, "root.pem") {
		t.Errorf("profile %+v", p)
	}
}

func TestTheKeysOfOnesOwnOnThePageAreRead(t *testing.T) {
	t.Parallel()
	text := block(t, configurationPage, "toml", "[bindings]")
	file, err := config.Parse("config.toml", []byte(text))
	noerr.Must(t, err)
	if b := file.Bindings(); len(b) != strings.Count(text, "=") || b.Key("jobs.download") != "v" {
		t.Errorf("the page gives %v", b)
	}
}

func TestTheLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	noerr.Must(t, err)
	link := regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	headings := map[string][]string{} // by page
	for _, f := range append(files, filepath.Join(root, "README.md")) {
		raw, err := os.ReadFile(f)
		noerr.Must(t, err)
		for _, m := range link.FindAllStringSubmatch(string(raw), -1) {
			target := f
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(f), m[1])
			}
			if _, known := headings[target]; !known {
				text, err := os.ReadFile(target)
				if err != nil {
					t.Errorf("%s links to %s: %v", filepath.Base(f), m[1], err)
				}
				headings[target] = anchors(string(text))
			}
			if m[2] != "" && !slices.Contains(headings[target], m[2]) {
				t.Errorf("%s links to %s%s, and there is no such heading", filepath.Base(f), m[1], m[2])
			}
		}
	}
}

// anchors are the link fragments that GitHub makes of a page's headings.
func anchors(text string) []string {
	var out []string
	fence := regexp.MustCompile("(?ms)^```.*?^```$")
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return out
}
