package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/fields"
	"zonedeck/service/rules"
	"zonedeck/service/view"
)

// diagnoseFlags are the flags for a saved answer and for a page to fetch.
type diagnoseFlags struct {
	refusalFlags
	dialect, url, rules string
}

func (a *app) diagnoseCommand() *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:   "diagnose FILE|-|URL",
		Short: "Say what class a saved answer has, or find out what refuses a page: the key, the zone or the site",
		Long: `Reads a saved answer (status line, headers, an empty line, the body, as 'curl
-i' prints it) and says which class a fetch would give it, by which rule, and on
what evidence. Nothing is sent. The exit code is the class, as for request.

Your own rules are tried first: those for all profiles, and those for the
profile of --profile.

Given a URL and --zone it fetches the page as request does, in one attempt. If
it is refused (403, or a page that says so), at most three more fetches follow,
one after the other. Each differs in one thing: a page known to be good, another
zone, another key. A fetch that can no longer change the answer is not sent, and
what they cost is said before. {{name}} is a variable: its value comes from
--var, the profile or the environment.

Exit codes with a URL: 0 if the answer is found or the page came; 1 if the page
was refused and the fetches do not tell by what; otherwise the class of the
first fetch, as for request.`,
		Args: oneArg("the file of the answer, - for standard input, or the URL to fetch"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Under its old name, split, the command always fetches.
			fetches := cmd.Flags().Changed("zone") || strings.Contains(args[0], "://") || cmd.Name() == "split"
			if err := f.checkIgnored(cmd, fetches); err != nil {
				return err
			}
			if !fetches {
				f.via = cmp.Or(f.via, string(model.ViaNative))
				return a.diagnose(cmd.Context(), args[0], f)
			}
			f.via = cmp.Or(f.via, string(model.ViaAPI))
			return a.withSession(cmd.Context(), needs{key: f.key, journal: true, rules: true, reason: f.adminReason}, func(t *task) error {
				return t.refusal(cmd.Context(), args[0], f.refusalFlags)
			})
		},
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.via, "via", "", "how a saved answer came: native (from the target or the proxy; the default) or api (from the service); how URL is fetched: api (the default) or native")
	fl.StringVar(&f.dialect, "dialect", "", "dialect that reads the service's headers: "+strings.Join(dialect.Names(), " or ")+" (default: the one that knows them)")
	fl.StringVar(&f.url, "url", "", "address that was asked for, for rules that look at it")
	fl.StringVar(&f.rules, "rules", "", "file of rules to use instead of yours (default: see 'zonedeck paths')")
	return cmd
}

// checkIgnored refuses flags that would be ignored: flags of a saved answer with a page, and the other
// way round.
func (f *diagnoseFlags) checkIgnored(cmd *cobra.Command, fetches bool) error {
	var ignored []string
	cmd.LocalNonPersistentFlags().VisitAll(func(fl *pflag.Flag) {
		both := slices.Contains([]string{"via", "require", "json", "help"}, fl.Name)
		if fl.Changed && !both && slices.Contains([]string{"dialect", "url", "rules"}, fl.Name) == fetches {
			ignored = append(ignored, "--"+fl.Name)
		}
	})
	switch {
	case len(ignored) == 0:
		return nil
	case fetches:
		return usage("%s: only of a saved answer", strings.Join(ignored, ", "))
	default:
		return usage("%s: only with a URL to fetch", strings.Join(ignored, ", "))
	}
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
	defer func() { _ = os.RemoveAll(dir) }() // the system cleans up leftovers
	result, err := fetch.Diagnose(ctx, fetch.Saved{
		Answer: in, Via: model.Via(f.via), Dialect: f.dialect, Required: f.required, URL: f.url,
		Rules: rules.Select(added, cmp.Or(a.flags.profile, a.Getenv(service.EnvProfile))), Bodies: exchange.Bodies{Dir: dir}, Now: a.Now,
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

// check returns an error that names all mistakes in the flags.
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
