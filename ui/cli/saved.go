package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/fetch"
	"zonedeck/service/saved"
	"zonedeck/service/view"
)

func (a *app) savedCommand() *cobra.Command {
	return group("saved", "Add, list, show, rename, remove and restore saved requests",
		a.savedAddCommand(),
		a.savedCall("list", "List the saved requests", func(ctx context.Context, s *saved.Store, _ []string) (printed, error) {
			list, err := s.List(ctx)
			return printed{object: view.NewSavedRequests(list), rows: savedRows(list)}, err
		}),
		a.savedCall("show REQUEST", "Print the file of a saved request", a.showSaved),
		a.savedCall("rename REQUEST NEW", "Rename a saved request, or a folder of them", func(ctx context.Context, s *saved.Store, args []string) (printed, error) {
			return printed{done: fmt.Sprintf("%s is %s now", args[0], args[1])}, s.Rename(ctx, args[0], args[1])
		}),
		a.savedCall("remove REQUEST", "Remove a saved request; restore brings it back", func(ctx context.Context, s *saved.Store, args []string) (printed, error) {
			kept := fmt.Sprintf("%s is kept in %s until %d more are removed; 'zonedeck saved restore' brings it back", args[0], s.DeletedDir(), saved.MaxDeleted)
			return printed{done: kept}, s.Delete(ctx, args[0])
		}),
		a.savedCall("restore [NAME]", "Bring back a saved request that was removed; without NAME, list them", restoreSaved),
	)
}

// savedCall is a command on the store of saved requests.
func (a *app) savedCall(use, short string, do func(context.Context, *saved.Store, []string) (printed, error)) *cobra.Command {
	return command(a, spec[jsonFlag]{use: use, short: short, run: func(ctx context.Context, _ *task, _ jsonFlag, args []string) (printed, error) {
		paths := config.FindPaths(a.Getenv)
		if err := paths.Trusted(); err != nil {
			return printed{}, err
		}
		out, err := do(ctx, saved.New(paths.RequestsDir()), args)
		if errors.Is(err, saved.ErrName) || errors.Is(err, saved.ErrNotFound) || errors.Is(err, saved.ErrExists) {
			err = usage("%w", err)
		}
		return out, stateError(ctx, err)
	}})
}

func (a *app) showSaved(ctx context.Context, s *saved.Store, args []string) (printed, error) {
	if _, err := s.Load(ctx, args[0]); err != nil { // its error says what is wrong with the file
		return printed{}, err
	}
	b, err := os.ReadFile(s.File(args[0]))
	if err != nil {
		return printed{}, err
	}
	return printedText(string(b)), nil
}

type savedAddFlags struct {
	composedFlags
	Force bool `flag:"force" help:"replace a request of this name"`
}

func (a *app) savedAddCommand() *cobra.Command {
	return command(a, spec[savedAddFlags]{
		use:   "add NAME [URL]",
		short: "Save a request under a name",
		long: `Saves a request, with the flags of 'zonedeck request'. Nothing is sent. A
variable {{name}} stays one: its value is put in when the request is sent.

Secret headers are left out, unless they are variables.`,
		defaults: savedAddFlags{composedFlags: composedFlags{askFlags: askFlags{Retries: -1}}},
		run: func(ctx context.Context, t *task, f savedAddFlags, args []string) (printed, error) {
			target := firstOf(args[1:])
			if err := t.compose(ctx, f.Given.has, &target, &f.composedFlags, true); err != nil {
				return printed{}, err
			}
			d, wrong := t.composed(target, f.composedFlags)
			p, err := t.Profile(ctx)
			if err != nil {
				return printed{}, fail(exitState, "%w", err)
			}
			known := t.Known(p)
			known.Keys, known.Variables = nil, openVariables{}
			report := fetch.Check(known, d)
			report.Questions = nil // the values of its variables
			if err := errors.Join(append(wrong, mistakes(report, f.Tool != "")...)...); err != nil {
				return printed{}, usage("%w", err)
			}
			omitted, err := saved.New(t.Paths.RequestsDir()).Save(ctx, args[0], report.Request, f.Force)
			switch {
			case errors.Is(err, saved.ErrExists):
				return printed{}, usage("%w; --force replaces it", err)
			case errors.Is(err, saved.ErrName):
				return printed{}, usage("%w", err)
			case err != nil:
				return printed{}, stateError(ctx, err)
			}
			if len(omitted) > 0 {
				t.app.warn("left out, because they are secrets: %s", strings.Join(omitted, ", "))
			}
			return printed{done: args[0] + " is saved"}, nil
		},
	})
}

// openVariables know no value, so that {{name}} stays.
type openVariables struct{}

// Variable implements fetch.Variables.
func (openVariables) Variable(string) (model.Variable, bool) { return model.Variable{}, false }

// restoreSaved brings a deleted request back, or lists the deleted requests.
func restoreSaved(ctx context.Context, s *saved.Store, args []string) (printed, error) {
	if len(args) == 1 {
		return printed{done: args[0] + " is back"}, s.Restore(ctx, args[0])
	}
	list, err := s.Deleted(ctx)
	if len(list) == 0 {
		return printed{object: view.NewSavedRequests(nil), note: saved.ErrNoneDeleted.Error()}, err
	}
	return printed{object: view.NewSavedRequests(list), rows: savedRows(list)}, err
}

// savedRows shows requests as a table with a heading.
func savedRows(list []saved.Entry) [][]string {
	rows := [][]string{{"NAME", "ZONE", "VIA", "VARIABLES", "URL"}}
	for _, e := range list {
		row := []string{e.Name, string(e.Request.Zone.Name), string(e.Request.Via), strings.Join(e.Request.Variables(), " "), model.Cut(e.Request.URL, 120)}
		if e.Problem != "" {
			row = []string{e.Name, "", "", "", "! " + e.Problem}
		}
		rows = append(rows, row)
	}
	return rows
}
