package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	return command(a, spec[struct{}]{
		use:    "man",
		short:  "Print the man page",
		hidden: true,
		run: func(context.Context, *task, struct{}, []string) (printed, error) {
			root := a.rootCommand()
			root.InitDefaultCompletionCmd()
			_, made := commit()
			return printed{text: manPage(root, made)}, nil
		},
	})
}

// exitStatus is the man page's text on exit codes; docs/commands.md lists them all.
const exitStatus = `The exit code says what happened. 0 is success, 2 a mistake in the command line or the config file, and 3 an internal error.

10 to 14 are the failure classes of the service: access restricted, sending too fast, CAPTCHA, timeout and parsing drift. 21 to 24, 26 and 27 are failures outside them: the network, an untrusted certificate, a rejected key or login, the target, the service itself, and a refused request. 25 is a file or folder that cannot be read or written, or that others may have written.

20 is a job that still runs or a batch that is not done, 29 a batch that stopped at its cap, 30 a job that failed, was cancelled or has expired, 31 one that may have started, and 32 one that was launched before, so that nothing was launched.

'keys check' ends with 41 if a key has expired, with 40 if a rotation or an expiry is due, and with 42 if the permission lint found an error. 42 is also an ADMIN key that a command would use. 130 is an interruption by ctrl+c, 143 by SIGTERM.`

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
	manCommands(&b, root)
	b.WriteString(".SH EXIT STATUS\n")
	manProse(&b, exitStatus)
	fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roffText(strings.TrimSpace(root.Example)))
	return b.String()
}

// manCommands writes the visible commands below parent, except help.
func manCommands(b *strings.Builder, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		switch {
		case c.Hidden || c.Name() == "help":
			continue
		case c.HasSubCommands() && c.Name() != "completion":
			if c.HasAvailableLocalFlags() { // it does something itself
				manCommand(b, c)
			}
			manCommands(b, c)
		default:
			manCommand(b, c)
		}
	}
}

func manCommand(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, ".SS %s\n", roffText(strings.TrimSuffix(c.UseLine(), " [flags]")))
	if c.Long == "" || c.Name() == "completion" {
		manProse(b, c.Short+".")
	} else {
		manProse(b, c.Long)
	}
	manOptions(b, c.LocalFlags())
}

// manProse writes the paragraphs of text, which are separated by empty lines.
func manProse(b *strings.Builder, text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
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
