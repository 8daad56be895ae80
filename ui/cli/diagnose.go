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
	askFlags
	Zone      string     `flag:"zone" takes:"zone" help:"zone to fetch URL through"`
	OtherZone string     `flag:"other-zone" takes:"zone" help:"zone to compare with (default: one of another product)"`
	OtherKey  string     `flag:"other-key" takes:"key" help:"key to compare with (default: one whose level allows fetches; an ADMIN key only if you name it here)"`
	GoodPage  string     `flag:"good-page" help:"page known to be good (default: the test page that the profile's dialect knows)"`
	Via       string     `flag:"via" takes:"api|native" help:"how a saved answer came: native (from the target or the proxy; the default) or api (from the service); how URL is fetched: api (the default) or native"`
	Dialect   string     `flag:"dialect" takes:"dialect"`
	URL       string     `flag:"url" help:"address that was asked for, for rules that look at it"`
	Rules     string     `flag:"rules" takes:"file" help:"file of rules to use instead of yours; - for standard input (default: see 'zonedeck paths')"`
	Given     givenFlags `flag:"*"`

	fetches bool // the argument is a page to fetch
}

func (f diagnoseFlags) needs() needs {
	if !f.fetches {
		return needs{closed: true}
	}
	return f.askFlags.needs()
}

func (a *app) diagnoseCommand() *cobra.Command {
	return command(a, spec[diagnoseFlags]{
		use:   "diagnose FILE|-|URL",
		short: "Say what class a saved answer has, or find out what refuses a page: the key, the zone or the site",
		long: `Reads a saved answer (status line, headers, an empty line, the body, as 'curl
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
		help: map[string]string{"dialect": "dialect that reads the service's headers: " + strings.Join(dialect.Names(), " or ") + " (default: the one that knows them)"},
		check: func(f *diagnoseFlags, args []string) error {
			f.fetches = f.Given.has("zone") || strings.Contains(args[0], "://")
			ignored := f.Given.ignored(!f.fetches, []string{"dialect", "url", "rules"}, []string{"via", "require", "json", "help"})
			switch {
			case ignored != "" && f.fetches:
				return usage("%s: only of a saved answer", ignored)
			case ignored != "":
				return usage("%s: only with a URL to fetch", ignored)
			case f.fetches:
				f.Via = cmp.Or(f.Via, string(model.ViaAPI))
			default:
				f.Via = cmp.Or(f.Via, string(model.ViaNative))
			}
			return nil
		},
		run: func(ctx context.Context, t *task, f diagnoseFlags, args []string) (printed, error) {
			if f.fetches {
				return t.refusal(ctx, args[0], f)
			}
			return a.diagnose(ctx, args[0], f)
		},
	})
}

func (a *app) diagnose(ctx context.Context, name string, f diagnoseFlags) (printed, error) {
	if err := f.check(); err != nil {
		return printed{}, usage("%w", err)
	}
	added, err := a.rules(ctx, f.Rules)
	if err != nil {
		return printed{}, err
	}
	in, err := a.open(ctx, name)
	if err != nil {
		return printed{}, usage("%w", err)
	}
	defer in.Close()
	dir, err := os.MkdirTemp("", "zonedeck-diagnose-")
	if err != nil {
		return printed{}, fail(exitState, "%w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system cleans up leftovers
	result, err := fetch.Diagnose(ctx, fetch.Saved{
		Answer: in, Via: model.Via(f.Via), Dialect: f.Dialect, Required: f.Required, URL: f.URL,
		Rules: rules.Select(added, cmp.Or(a.flags.profile, a.Getenv(service.EnvProfile))), Bodies: exchange.Bodies{Dir: dir}, Now: a.Now,
	})
	switch {
	case errors.Is(err, fetch.ErrNotSaved):
		return printed{}, usage("%s: %w", name, err)
	case ctx.Err() != nil:
		return printed{}, fail(ExitInterrupted, "interrupted")
	case err != nil:
		return printed{}, fail(exitState, "%s: %w", name, err)
	}
	d := result.Diagnosis
	rows := [][]string{{"class", model.ClassWord(d.Class, d.Cause)}, {"rule", d.Rule}, {"because", d.Summary}}
	for _, e := range d.Evidence {
		rows = append(rows, []string{"evidence", e.Text})
	}
	for _, s := range d.Steps {
		rows = append(rows, []string{"do next", s.Text})
	}
	return printed{object: view.NewDiagnosed(result), rows: rows, code: fetchExit(result)}, nil
}

// check returns an error that names all mistakes in the flags.
func (f diagnoseFlags) check() error {
	var wrong []error
	if via := model.Via(f.Via); via != model.ViaAPI && via != model.ViaNative {
		wrong = append(wrong, fmt.Errorf("--via %q: write api or native", f.Via))
	}
	if _, err := dialect.Find(f.Dialect); err != nil {
		wrong = append(wrong, fmt.Errorf("--dialect: %w", err))
	}
	for _, path := range f.Required {
		if err := fields.Validate(path); err != nil {
			wrong = append(wrong, fmt.Errorf("--require: %w", err))
		}
	}
	return errors.Join(wrong...)
}
