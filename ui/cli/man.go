package cli

import (
	"cmp"
	"fmt"
	"regexp"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man",
		Short:  "Print the man page",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := *cmd.Root()
			root.Long = lineBreak.ReplaceAllString(root.Long, "$1 $2")
			describe(&root)
			page, err := mango.NewManPage(1, &root)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Stdout, shortFlag.ReplaceAllString(page.Build(roff.NewDocument()), `\fB-$1, --`))
			return err
		},
	}
}

// describe gives the commands below c their whole description, of which the page would
// have the first line alone. Those of cobra's own commands are shell code.
func describe(c *cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.Name() != "completion" && sub.Name() != "help" {
			sub.Short = cmp.Or(sub.Long, sub.Short)
			describe(sub)
		}
	}
}

// shortFlag is a flag of one letter as mango writes it, with two dashes.
var shortFlag = regexp.MustCompile(`\\fB--(\w) --`)

// lineBreak is a break inside a paragraph, which roff would take for its end.
var lineBreak = regexp.MustCompile(`([^\n])\n([^\n])`)
