package cli

import (
	"context"
	"errors"
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
		a.savedListCommand(),
		a.savedCall("show NAME", "Print the file of a saved request", 1, func(ctx context.Context, s *saved.Store, args []string, asJSON bool) error {
			if _, err := s.Load(ctx, args[0]); err != nil { // says what is wrong with the file
				return err
			}
			b, err := os.ReadFile(s.File(args[0]))
			if err != nil {
				return err
			}
			if asJSON || !a.StdoutTTY {
				return a.printText(asJSON, string(b))
			}
			w := terminalWriter{w: a.Stdout}
			_, err = w.Write(b)
			return errors.Join(err, w.Flush())
		}),
		a.savedCall("rename NAME NEW", "Rename a saved request, or a folder of them", 2, func(ctx context.Context, s *saved.Store, args []string, asJSON bool) error {
			if err := s.Rename(ctx, args[0], args[1]); err != nil {
				return err
			}
			return a.done(asJSON, "%s is %s now", args[0], args[1])
		}),
		a.savedCall("delete NAME", "Delete a saved request; restore brings it back", 1, func(ctx context.Context, s *saved.Store, args []string, asJSON bool) error {
			if err := s.Delete(ctx, args[0]); err != nil {
				return err
			}
			return a.done(asJSON, "%s is kept in %s until %d more are deleted; 'zonedeck saved restore' brings it back", args[0], s.DeletedDir(), saved.MaxDeleted)
		}),
		a.savedRestoreCommand(),
	)
}

func (a *app) requestsDir() string { return config.FindPaths(a.Getenv).RequestsDir() }

// savedRestoreCommand brings a deleted request back, or lists them.
func (a *app) savedRestoreCommand() *cobra.Command {
	cmd := a.savedCall("restore [NAME]", "Bring back a saved request that was deleted; without NAME, list them", 1, func(ctx context.Context, s *saved.Store, args []string, asJSON bool) error {
		if len(args) == 1 {
			if err := s.Restore(ctx, args[0]); err != nil {
				return err
			}
			return a.done(asJSON, "%s is back", args[0])
		}
		list, err := s.Deleted(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 && !asJSON {
			a.say("zonedeck: %v", saved.ErrNoneDeleted)
			return nil
		}
		return a.printSaved(list, asJSON)
	})
	cmd.Args = usageArgs(cobra.MaximumNArgs(1))
	return cmd
}

// savedRows are requests as a table, the first row its heading.
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

// savedCall is a command on the store with n names.
func (a *app) savedCall(use, short string, n int, do func(ctx context.Context, s *saved.Store, args []string, asJSON bool) error) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: use, Short: short, Args: usageArgs(cobra.ExactArgs(n)),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := do(cmd.Context(), saved.New(a.requestsDir()), args, asJSON)
			switch coded := (*exitError)(nil); {
			case errors.Is(err, saved.ErrName), errors.Is(err, saved.ErrNotFound), errors.Is(err, saved.ErrExists):
				return usage("%w", err)
			case err != nil && !errors.As(err, &coded):
				return fail(exitState, "%w", err)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) savedListCommand() *cobra.Command {
	cmd := a.savedCall("list", "List the saved requests", 0, func(ctx context.Context, s *saved.Store, _ []string, asJSON bool) error {
		list, err := s.List(ctx)
		if err != nil {
			return err
		}
		return a.printSaved(list, asJSON)
	})
	cmd.Args = usageArgs(cobra.NoArgs)
	return cmd
}

func (a *app) printSaved(list []saved.Entry, asJSON bool) error {
	if !asJSON {
		return printColumns(a.Stdout, savedRows(list))
	}
	return a.printJSON(view.NewSavedRequests(list))
}
