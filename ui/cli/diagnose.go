package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/fields"
	"zonedeck/service/rules"
	"zonedeck/service/view"
	"zonedeck/ui/cli/session"
)

type diagnoseFlags struct {
	via, dialect string
	url, rules   string
	required     []string
	json         bool
}

func (a *app) diagnoseCommand() *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:   "diagnose FILE|-",
		Short: "Say what class a saved answer has, and which rule decided",
		Long: `Reads a saved answer (status line, headers, an empty line, the body, as 'curl
-i' prints it) and says which class a fetch would give it, by which rule, and on
what evidence. Nothing is sent. The exit code is the class, as for request.

Your own rules are tried first: those for all profiles, and those for the
profile of --profile.`,
		Args: oneArg("the file of the answer, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.diagnose(cmd.Context(), args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.via, "via", "native", "how the answer came: native (from the target or the proxy) or api (from the service)")
	fl.StringVar(&f.dialect, "dialect", "", "dialect that reads the service's headers: "+strings.Join(dialect.Names(), " or ")+" (default: the one that knows them)")
	fl.StringVar(&f.url, "url", "", "address that was asked for, for rules that look at it")
	fl.StringVar(&f.rules, "rules", "", "file of rules to use instead of yours (default: see 'zonedeck paths')")
	fl.StringArrayVar(&f.required, "require", nil, "field that must be present: a CSS selector, or a path into JSON (repeatable)")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (a *app) diagnose(ctx context.Context, name string, f diagnoseFlags) error {
	if err := f.check(); err != nil {
		return usage("%w", err)
	}
	added, err := a.rules(f.rules)
	if err != nil {
		return err
	}
	in, err := a.open(ctx, name)
	if err != nil {
		return usage("%w", err)
	}
	defer in.Close()
	dir, err := os.MkdirTemp("", "zonedeck-diagnose-")
	if err != nil {
		return fail(exitState, "%w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system sweeps what stays
	result, err := fetch.Diagnose(ctx, fetch.Saved{
		Answer: in, Via: model.Via(f.via), Dialect: f.dialect, Required: f.required, URL: f.url,
		Rules: rules.Select(added, cmp.Or(a.flags.profile, a.Getenv(session.EnvProfile))), Bodies: exchange.Bodies{Dir: dir}, Now: a.Now,
	})
	switch {
	case errors.Is(err, fetch.ErrNotSaved):
		return usage("%s: %w", name, err)
	case ctx.Err() != nil:
		return fail(exitInterrupted, "interrupted")
	case err != nil:
		return fail(exitState, "%s: %w", name, err)
	}
	d := result.Diagnosis
	if f.json {
		if err := a.printJSON(view.NewDiagnosed(result)); err != nil {
			return err
		}
		return exit(fetchExit(result))
	}
	rows := [][]string{{"class", model.ClassWord(d.Class, d.Cause)}, {"rule", d.Rule}, {"because", d.Summary}}
	for _, e := range d.Evidence {
		rows = append(rows, []string{"evidence", e.Text})
	}
	for _, s := range d.Steps {
		rows = append(rows, []string{"do next", s.Text})
	}
	if err := printColumns(a.Stdout, rows); err != nil {
		return err
	}
	return exit(fetchExit(result))
}

// check returns an error that names everything that is wrong with the flags.
func (f diagnoseFlags) check() error {
	var wrong []error
	if via := model.Via(f.via); via != model.ViaAPI && via != model.ViaNative {
		wrong = append(wrong, fmt.Errorf("--via %q: write api or native", f.via))
	}
	if _, err := dialect.Find(f.dialect); err != nil {
		wrong = append(wrong, fmt.Errorf("--dialect: %w", err))
	}
	for _, path := range f.required {
		if err := fields.Validate(path); err != nil {
			wrong = append(wrong, fmt.Errorf("--require: %w", err))
		}
	}
	return errors.Join(wrong...)
}
