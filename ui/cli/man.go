package cli

import (
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
			page, err := mango.NewManPage(1, &root)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Stdout, page.Build(roff.NewDocument()))
			return err
		},
	}
}

// lineBreak is a break inside a paragraph, which roff would take for its end.
var lineBreak = regexp.MustCompile(`([^\n])\n([^\n])`)
