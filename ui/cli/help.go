package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/docs"
	"zonedeck/model"
)

// groups are the titles of the commands in the help, with the names of what stands under each.
var groups = []struct {
	title string
	names []string
}{
	{"Start here", []string{"request", "profiles", "paths", "completion", "help", "version"}},
	{"Fetch and compare", []string{"compare", "diagnose", "batch", "worker", "saved", "export", "har", "rules", "zones", "proxy"}},
	{"Jobs", []string{"jobs", "datasets", "webhook", "drift", "schedule"}},
	{"Keys and accounts", []string{"keys", "secrets", "account"}},
	{"Emulator and agents", []string{"emulate", "mcp"}},
}

// addHelp gives the commands of root their groups, and their help the examples of docs/commands.md.
func (a *app) addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range root.Commands() {
			if slices.Contains(g.names, c.Name()) {
				c.GroupID = g.title
			}
		}
	}
	help, _, _ := root.Find([]string{"help"})
	help.Use, help.Short, help.Long = "help [COMMAND…]", "Show the help of a command", ""
	help.Run, help.RunE = nil, func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		switch {
		case err == nil && len(rest) > 0:
			return unknownCommand(cmd, rest[0])
		case err != nil:
			return unknownCommand(root, args[0])
		}
		return cmd.Help()
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if lines := examples(root)[cmd]; cmd.Example == "" && len(lines) > 0 {
			cmd.Example = "  " + strings.Join(lines, "\n  ")
		}
		usage := strings.ReplaceAll(cmd.UsageString(), "stringArray", "string     ")
		if cmd.HasSubCommands() && cmd.Args == nil { // alone a group does nothing
			usage = strings.Replace(usage, "  "+cmd.UseLine()+"\n", "", 1)
		}
		_ = a.printText(cmp.Or(cmd.Long, cmd.Short+".") + "\n\n" + usage) // nobody reads it any more
	})
}

// unknownCommand says what a command has instead.
func unknownCommand(cmd *cobra.Command, name string) error {
	says := fmt.Sprintf("unknown command %q for %q", name, cmd.CommandPath())
	if cmd.HasParent() {
		says += ": it has " + strings.Join(childNames(cmd), ", ")
	}
	return misspelt(cmd, errors.New(says+didYouMean("", name, childNames(cmd))))
}

// didYouMean asks for the known word that is spelt nearly as a word is; empty if none is.
func didYouMean(before, word string, known []string) string {
	if near := model.Misspelt(word, known); near != "" {
		return "; did you mean " + before + near + "?"
	}
	return ""
}

// examples are the lines of docs/commands.md that call each command.
func examples(root *cobra.Command) map[*cobra.Command][]string {
	out, shell := map[*cobra.Command][]string{}, false
	for line := range strings.Lines(docs.Commands) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			shell = line == "```sh"
		case shell && strings.HasPrefix(line, root.Name()+" "):
			if cmd, _, err := root.Find(strings.Fields(line)[1:]); err == nil {
				out[cmd] = append(out[cmd], line)
			}
		}
	}
	return out
}

// pageTable are the rows of the first table below a heading of a page, without marks.
func pageTable(page, heading string) (rows [][2]string) {
	_, page, _ = strings.Cut(page, "\n## "+heading+"\n")
	link := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		switch {
		case !strings.HasPrefix(line, "|") && len(rows) > 0:
			return rows[2:] // without the heading
		case strings.HasPrefix(line, "|"):
			plain := func(s string) string {
				return strings.TrimSpace(strings.ReplaceAll(link.ReplaceAllString(s, "$1"), "`", ""))
			}
			rows = append(rows, [2]string{plain(cells[0]), plain(strings.Join(cells[1:], " "))})
		}
	}
	return nil
}
