package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"zonedeck/internal/noerr"
)

const helpGolden = "testdata/help.golden"

var updateHelp = flag.Bool("update-help", false, "write what --help prints of every command")

// eachShown visits the commands that the help shows.
func eachShown(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			eachShown(c, visit)
		}
	}
}

func TestTheHelpOfEveryCommandIsAsItWas(t *testing.T) {
	var all bytes.Buffer
	var b bytes.Buffer
	root := (&app{Process: Process{Stdout: &b}}).rootCommand()
	eachShown(root, func(c *cobra.Command) {
		b.Reset()
		noerr.Must(t, c.Help())
		help, _, _ := strings.Cut(b.String(), "\nGlobal Flags:")
		fmt.Fprintf(&all, "== %s\n%s\n", c.CommandPath(), help)
	})
	if *updateHelp {
		noerr.Must(t, os.WriteFile(helpGolden, all.Bytes(), 0o600))
	}
	want, err := os.ReadFile(helpGolden)
	noerr.Must(t, err)
	if !bytes.Equal(all.Bytes(), want) {
		t.Errorf("the help has changed: look at what 'go test ./ui/cli -run %s -update-help' makes of %s", t.Name(), helpGolden)
	}
}

// The table of commands.md follows from the commands.
func TestThePageListsTheCommands(t *testing.T) {
	const begin, end = "<!-- commands: go test ./ui/cli -run TestThePageListsTheCommands -update-help -->\n", "<!-- end -->\n"
	root := (&app{}).rootCommand()
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n| %s | |\n| --- | --- |\n", strings.ToLower(g.title))
		eachShown(root, func(c *cobra.Command) {
			top := c
			for top.HasParent() && top.Parent() != root {
				top = top.Parent()
			}
			if top.GroupID == g.title && (!c.HasSubCommands() || c.HasAvailableLocalFlags() && c.Name() == "batch") {
				fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimPrefix(c.CommandPath(), "zonedeck "), c.Short)
			}
		})
	}
	before, rest, _ := strings.Cut(page(t, commandsPage), begin)
	had, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("the page has no place for the table")
	}
	b.WriteString("\n")
	if *updateHelp {
		noerr.Must(t, os.WriteFile(filepath.Join("..", "..", commandsPage), []byte(before+begin+b.String()+end+after), 0o600))
	} else if had != b.String() {
		t.Errorf("the table is stale: 'go test ./ui/cli -run %s -update-help' writes it", t.Name())
	}
}

func TestEveryLeafHasAnExampleAndEveryCommandAGroup(t *testing.T) {
	root := (&app{}).rootCommand()
	found := examples(root)
	eachShown(root, func(c *cobra.Command) {
		if c.Parent() == root && c.GroupID == "" {
			t.Errorf("%s is in no group of the help", c.Name())
		}
		if !c.HasSubCommands() && c.Name() != "help" && len(found[c]) == 0 {
			t.Errorf("%s has no example", c.CommandPath())
		}
	})
}

func TestWhatIsMisspeltIsNamed(t *testing.T) {
	for args, want := range map[string]string{
		"reqest":                  `unknown command "reqest" for "zonedeck"; did you mean request?`,
		"jobs lst":                `it has adopt, `,
		"keys chek":               `did you mean check?`,
		"request --zonne x":       `unknown flag: --zonne; did you mean --zone?`,
		"request --nothing-alike": "unknown flag: --nothing-alike\nTry",
		"help keys rotte":         `did you mean rotate?`,
	} {
		p, _, stderr := process(t, nil, strings.Fields(args)...)
		if code := Main(t.Context(), p); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q; want %q", args, code, stderr, want)
		}
	}
}
