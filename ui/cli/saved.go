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
	"zonedeck/service/saved"
	"zonedeck/service/view"
)

func (a *app) savedCommand() *cobra.Command {
	return group("saved", "List, show, rename, delete and restore saved requests",
		a.savedCall("list", "List the saved requests", cobra.NoArgs, func(ctx context.Context, s *saved.Store, _ []string) (printed, error) {
			list, err := s.List(ctx)
			return printed{object: view.NewSavedRequests(list), rows: savedRows(list)}, err
		}),
		a.savedCall("show NAME", "Print the file of a saved request", cobra.ExactArgs(1), a.showSaved),
		a.savedCall("rename NAME NEW", "Rename a saved request, or a folder of them", cobra.ExactArgs(2), func(ctx context.Context, s *saved.Store, args []string) (printed, error) {
			return printed{done: fmt.Sprintf("%s is %s now", args[0], args[1])}, s.Rename(ctx, args[0], args[1])
		}),
		a.savedCall("delete NAME", "Delete a saved request; restore brings it back", cobra.ExactArgs(1), func(ctx context.Context, s *saved.Store, args []string) (printed, error) {
			kept := fmt.Sprintf("%s is kept in %s until %d more are deleted; 'zonedeck saved restore' brings it back", args[0], s.DeletedDir(), saved.MaxDeleted)
			return printed{done: kept}, s.Delete(ctx, args[0])
		}),
		a.savedCall("restore [NAME]", "Bring back a saved request that was deleted; without NAME, list them", cobra.MaximumNArgs(1), restoreSaved),
	)
}

// savedCall is a command on the store of saved requests.
func (a *app) savedCall(use, short string, names cobra.PositionalArgs, do func(context.Context, *saved.Store, []string) (printed, error)) *cobra.Command {
	return command(a, spec[jsonFlag]{use: use, short: short, args: names, run: func(ctx context.Context, _ *task, _ jsonFlag, args []string) (printed, error) {
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
