package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/rules"
	"zonedeck/service/view"
)

func (a *app) rulesCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "rules [FILE|-]",
		short: "Check your own rules of diagnosis and list them in the order in which they are tried",
		long: `Reads your file of rules (default: rules.toml, see 'zonedeck paths') and prints
a line for each rule. If something is wrong with the file, it names the line and
ends with exit code 2.

'zonedeck diagnose --rules FILE' tries a file on a saved answer.`,
		run: func(ctx context.Context, _ *task, _ jsonFlag, args []string) (printed, error) {
			all, err := a.rules(ctx, firstOf(args))
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
func (a *app) rules(ctx context.Context, name string) (all []rules.Rule, err error) {
	var text []byte
	if name != "" {
		if text, err = a.read(ctx, "", name, textfile.MaxSize); err == nil {
			all, err = rules.Parse(name, text)
		}
	} else if paths := config.FindPaths(a.Getenv); paths.Trusted() != nil {
		return nil, paths.Trusted()
	} else {
		all, err = rules.New(paths.RulesFile()).Rules()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usage("there is no file of rules %s", name)
	case err != nil && ctx.Err() == nil:
		return nil, usage("%w", err)
	}
	return all, err
}
