package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/exchange"
	"zonedeck/service/export"
	"zonedeck/ui/kit/text"
)

type harFlags struct {
	zone, class, output string
	since               durationFlag
	limit               int
}

func (a *app) harCommand() *cobra.Command {
	var f harFlags
	cmd := &cobra.Command{
		Use:   "har [ID…]",
		Short: "Write fetches of the history as a HAR file",
		Long: `Writes fetches of the history as a HAR 1.2 file, the oldest first: those with
the given identifiers, or those that the flags choose. Nothing is sent.

Credentials in headers, cookies and URLs are redacted. A body of more than 1 MiB
is cut, and its comment says so.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"zone", "class", "since", "limit"} {
				if len(args) > 0 && cmd.Flags().Changed(name) {
					return usage("--%s chooses among the fetches of the history: give it, or identifiers", name)
				}
			}
			return a.withSession(cmd.Context(), needs{journal: true}, func(t *task) error { return t.har(cmd.Context(), args, f) })
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.zone, "zone", "", "only fetches by this zone")
	fl.StringVar(&f.class, "class", "", "only fetches of this class, for example captcha")
	fl.Var(&f.since, "since", "only fetches of the last while, for example 2h")
	fl.IntVar(&f.limit, "limit", 100, "at most this many fetches, the newest")
	fl.StringVarP(&f.output, "output", "o", "", "file to write")
	return cmd
}

// maxHAR bounds the fetches of one file.
const maxHAR = 10_000

func (t *task) har(ctx context.Context, ids []string, f harFlags) error {
	if f.limit < 1 || f.limit > maxHAR {
		return usage("--limit %d: write a number from 1 to %d", f.limit, maxHAR)
	}
	if f.class != "" && !slices.Contains(model.Classes(), model.Class(f.class)) {
		return usage("--class %q is not a class", f.class)
	}
	if len(ids) == 0 {
		filter := model.ActivityFilter{Kind: model.ActivityFetch, Zone: f.zone, Class: model.Class(f.class), Limit: f.limit}
		if f.since.d > 0 {
			filter.Since = t.Now().Add(-f.since.d)
		}
		list, err := t.History.Activity(ctx, filter)
		if err != nil {
			return fail(exitState, "%w", err)
		}
		for _, a := range slices.Backward(list) {
			if a.Ref != "" {
				ids = append(ids, a.Ref)
			}
		}
	}
	if len(ids) == 0 {
		return fail(exitChecksFailed, "the history has no such fetch")
	}
	dest := t.app.stdout()
	var err error
	if f.output != "" {
		if dest, err = t.app.destination(f.output); err != nil {
			return err
		}
	}
	n := 0
	write := func(w io.Writer) (err error) {
		n, err = export.HAR(w, version, t.History.Fetches(ctx, ids), exchange.OpenBody)
		return err
	}
	if dest.stream != nil {
		err = write(dest.stream)
	} else {
		err = textfile.WriteFunc(ctx, dest.name, write)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fail(exitInterrupted, "interrupted")
	case errors.Is(err, database.ErrNotFound):
		return fail(exitChecksFailed, "the history has no such fetch: %s", ids[n])
	case err != nil:
		return fail(exitState, "%w", err)
	}
	if dest.stream == nil {
		t.app.say("zonedeck: %s holds %s, as of %s", dest.name, text.Counted(n, "fetch"), t.Now().Format(time.DateTime))
	}
	return nil
}
