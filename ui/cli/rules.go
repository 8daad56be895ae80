package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/rules"
	"zonedeck/service/view"
)

func (a *app) rulesCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "rules [FILE]",
		short: "Check your own rules of diagnosis and list them in the order in which they are tried",
		long: `Reads your file of rules (default: rules.toml, see 'zonedeck paths') and prints
a line for each rule. If something is wrong with the file, it names the line and
ends with exit code 2.

'zonedeck diagnose --rules FILE' tries a file on a saved answer.`,
		run: func(_ context.Context, _ *task, _ jsonFlag, args []string) (printed, error) {
			all, err := a.rules(firstOf(args))
			if err != nil {
				return printed{}, err
			}
			out := printed{object: view.NewRules(all)}
			if len(all) == 0 {
				out.note = "there are no rules of your own"
				return out, nil
			}
			out.rows = [][]string{{"RULE", "PLACE", "CLASS", "PROFILES", "REASON"}}
			for _, r := range all {
				out.rows = append(out.rows, []string{r.Name, r.Place, model.ClassWord(r.Class, r.Cause), cmp.Or(strings.Join(r.Profiles, ","), "all"), r.Reason})
			}
			return out, nil
		},
	})
}

// rules reads a file of rules. An empty name means the operator's, which need not exist.
func (a *app) rules(name string) ([]rules.Rule, error) {
	if name == "" {
		paths := config.FindPaths(a.Getenv)
		if err := paths.Trusted(); err != nil {
			return nil, err
		}
		name = paths.RulesFile()
	} else if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, usage("there is no file of rules %s", name)
	}
	all, err := rules.New(name).Rules()
	if err != nil {
		return nil, usage("%w", err)
	}
	return all, nil
}
