package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/database"
)

type workerFlags struct{}

func (workerFlags) needs() needs { return needs{journal: true, rules: true} }

func (a *app) workerCommand() *cobra.Command {
	return command(a, spec[workerFlags]{
		use:   "worker",
		short: "Take part in the batches of a database, with workers on other machines",
		long: `Takes slices of all running batches of the profile that are on a PostgreSQL
database, and fetches their pages, until it is told to end (ctrl+c, SIGTERM).
Workers may come and go while a batch runs. A zone's limit and the rates hold
across all of them. What a worker that was killed has not answered goes to
others after 15 seconds.

Secrets are never in the database: each worker needs the profile with its keys,
and says what it lacks before it takes anything.`,
		run: func(ctx context.Context, t *task, _ workerFlags, _ []string) (printed, error) {
			if _, err := t.Profile(ctx); err != nil {
				return printed{}, fail(exitState, "%w", err)
			}
			err := t.Batches.Serve(ctx, t.CurrentProfile().Name, workerVoice{t})
			if errors.Is(err, batch.ErrNoServer) || errors.Is(err, database.ErrAddress) {
				return printed{}, usage("%w: give --database, set ZONEDECK_DATABASE, or write database into the profile", err)
			}
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			return printed{}, nil
		},
	})
}

// workerVoice tells what a worker does.
type workerVoice struct{ *task }

func (t workerVoice) Batch(id string, s batch.State, err error) {
	name := sanitizeLine(id)
	switch {
	case id == "" && err != nil:
		t.app.warn("nothing is taken until the database answers: %s", oneLine(err))
	case id == "":
		t.app.say("zonedeck: this worker takes part in the batches of profile %s", t.CurrentProfile().Name)
	case err != nil:
		t.app.warn("%s: this worker cannot take part, and tries again: %s", name, oneLine(err))
	case s.Over():
		t.app.say("zonedeck: %s is %s: results %d of %d", name, s.State, s.Tally.Answered, s.Wanted())
	default:
		t.app.say("zonedeck: %s: %d of %s left", name, s.Remaining(), model.Counted(s.Wanted(), "item"))
	}
}
