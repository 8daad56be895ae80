package cli

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zonedeck/docs"
)

func (a *app) manCommand() *cobra.Command {
	return command(a, spec[struct{}]{
		use:    "man",
		short:  "Print the man page",
		hidden: true,
		run: func(context.Context, *task, struct{}, []string) (printed, error) {
			root := a.rootCommand()
			_, made := commit()
			return printed{text: manPage(root, made)}, nil
		},
	})
}

// manPage describes every command in one page, in the man macros of roff. Its date
// is that of the commit, so that the same commit makes the same page.
func manPage(root *cobra.Command, made string) string {
	var b strings.Builder
	day, _, _ := strings.Cut(made, "T")
	fmt.Fprintf(&b, ".TH %s 1 %q %q\n.SH NAME\n%s \\- %s\n", strings.ToUpper(root.Name()), day, root.Name()+" "+version, root.Name(), roffText(root.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n[\\fICOMMAND\\fR] [\\fIOPTION\\fR...]\n.SH DESCRIPTION\n", root.Name())
	manProse(&b, root.Long)
	b.WriteString(".SH OPTIONS OF EVERY COMMAND\n")
	manOptions(&b, root.PersistentFlags())
	b.WriteString(".SH COMMANDS\n")
	manCommands(&b, root, examples(root))
	manTable(&b, "EXIT STATUS", pageTable(docs.Commands, "Exit codes"))
	manTable(&b, "ENVIRONMENT", pageTable(docs.Configuration, "Environment"))
	manTable(&b, "FILES", pageTable(docs.Configuration, "Where the files are"))
	fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roffText(strings.TrimSpace(root.Example)))
	return b.String()
}

// manCommands writes the visible commands below parent, except help.
func manCommands(b *strings.Builder, parent *cobra.Command, examples map[*cobra.Command][]string) {
	for _, c := range parent.Commands() {
		switch {
		case c.Hidden || c.Name() == "help":
			continue
		case c.HasSubCommands():
			if c.HasAvailableLocalFlags() { // it does something itself
				manCommand(b, c, examples[c])
			}
			manCommands(b, c, examples)
		default:
			manCommand(b, c, examples[c])
		}
	}
}

func manCommand(b *strings.Builder, c *cobra.Command, examples []string) {
	fmt.Fprintf(b, ".SS %s\n", roffText(strings.TrimSuffix(c.UseLine(), " [flags]")))
	manProse(b, cmp.Or(c.Long, c.Short+"."))
	manOptions(b, c.LocalFlags())
	if len(examples) > 0 {
		fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roffText(strings.Join(examples, "\n")))
	}
}

// manTable writes a table of the documentation: each row is a name and what it means.
func manTable(b *strings.Builder, title string, rows [][2]string) {
	b.WriteString(".SH " + title + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roffText(row[0]), roffText(row[1]))
	}
}

// manProse writes the paragraphs of text, which are separated by empty lines.
func manProse(b *strings.Builder, text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, "  ") {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roffText(paragraph))
			continue
		}
		b.WriteString(roffText(strings.Join(strings.Fields(paragraph), " ")) + "\n")
	}
}

func manOptions(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		value = strings.TrimSuffix(value, "Array")
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" && f.DefValue != "[]" {
			usage += " (default " + f.DefValue + ")"
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roffText(name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roffText(value))
		}
		fmt.Fprintf(b, "\n%s\n", roffText(usage))
	})
}

// lineStart matches a character that roff would take for the start of a request.
var lineStart = regexp.MustCompile(`(?m)^[.']`)

// roffText escapes s so that roff reads no instruction in it and sets each dash as a
// command line needs it.
func roffText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	return lineStart.ReplaceAllString(s, `\&$0`)
}
