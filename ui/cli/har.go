package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/exchange"
	"zonedeck/service/export"
	"zonedeck/ui/kit/text"
)

type harFlags struct {
	Zone   string       `flag:"zone" takes:"zone" help:"only fetches by this zone"`
	Class  string       `flag:"class" takes:"class" help:"only fetches of this class, for example captcha"`
	Since  durationFlag `flag:"since" help:"only fetches of the last while, for example 2h"`
	Limit  int          `flag:"limit" default:"100" help:"at most this many fetches, the newest"`
	Output string       `flag:"output" takes:"output" short:"o" help:"file to write"`
	Given  givenFlags   `flag:"*"`
}

func (a *app) harCommand() *cobra.Command {
	return command(a, spec[harFlags]{
		use:   "har [FETCH…]",
		short: "Write fetches of the history as a HAR file",
		long: `Writes fetches of the history as a HAR 1.2 file, the oldest first: those with
the given identifiers, or those that the flags choose. Nothing is sent.

Credentials in headers, cookies and URLs are redacted. A body of more than 1 MiB
is cut, and its comment says so.`,
		check: func(f *harFlags, args []string) error {
			for _, name := range []string{"zone", "class", "since", "limit"} {
				if len(args) > 0 && f.Given.has(name) {
					return usage("--%s chooses among the fetches of the history: give it, or identifiers", name)
				}
			}
			return nil
		},
		needs: func(harFlags) needs { return needs{journal: true} },
		run:   har,
	})
}

// maxHAR bounds the number of fetches in one file.
const maxHAR = 10_000

func har(ctx context.Context, t *task, f harFlags, ids []string) (printed, error) {
	if f.Limit < 1 || f.Limit > maxHAR {
		return printed{}, usage("--limit %d: write a number from 1 to %d", f.Limit, maxHAR)
	}
	if f.Class != "" && !slices.Contains(model.Classes(), model.Class(f.Class)) {
		return printed{}, usage("--class %q is not a class", f.Class)
	}
	if len(ids) == 0 {
		filter := model.HistoryFilter{Kind: model.HistoryFetch, Zone: f.Zone, Class: model.Class(f.Class), Limit: f.Limit}
		if f.Since.d > 0 {
			filter.Since = t.Now().Add(-f.Since.d)
		}
		list, err := t.History.Entries(ctx, filter)
		if err != nil {
			return printed{}, fail(exitState, "%w", err)
		}
		for _, a := range slices.Backward(list) {
			if a.Ref != "" {
				ids = append(ids, a.Ref)
			}
		}
	}
	if len(ids) == 0 {
		return printed{}, fail(exitChecksFailed, "the history has no such fetch")
	}
	dest, err := t.app.destination(f.Output)
	if err != nil {
		return printed{}, err
	}
	n := 0
	write := func(w io.Writer) (err error) {
		n, err = export.HAR(w, version, t.History.Fetches(ctx, ids), exchange.OpenText)
		return err
	}
	dest.visible = false // what would act on a terminal is escaped in JSON
	switch err := dest.writeBy(ctx, "the file", write); {
	case errors.Is(err, database.ErrNotFound):
		return printed{}, usage("the history has no such fetch: %s", ids[n])
	case err != nil:
		return printed{}, err
	}
	if dest.stream == nil {
		t.app.say("zonedeck: %s holds %s, as of %s", dest.name, text.Counted(n, "fetch"), t.Now().Format(time.DateTime))
	}
	return printed{}, nil
}
