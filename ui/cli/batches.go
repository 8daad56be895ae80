package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

func (jsonFlag) batchNeeds() needs { return needs{journal: true, rules: true} }

func (b batchCommands) list() *cobra.Command {
	return command(b.app, spec[jsonFlag]{
		use: "list", short: "List the batches, the newest first",
		needs: jsonFlag.batchNeeds,
		run: func(ctx context.Context, t *task, _ jsonFlag, _ []string) (printed, error) {
			all, err := t.Batches.List(ctx)
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			rows := [][]string{{"BATCH", "NAME", "PROFILE", "STATE", "ZONE", "DONE", "OK", "COST", "CREATED"}}
			for _, s := range all {
				rows = append(rows, []string{
					s.ID, s.Name, s.Profile, s.Condition(), string(s.Plan.Request.Zone.Name), fmt.Sprintf("%d of %d", s.Tally.Answered, s.Wanted()), fmt.Sprint(s.OK()),
					model.CostWords(batch.Dollars(s.Spent), s.Plan.Price > 0), s.Created.Local().Format(time.DateTime),
				})
			}
			if len(all) == 0 {
				return printed{object: view.NewBatches(all), note: "there is no batch yet: 'zonedeck batch FILE --zone Z' begins one"}, nil
			}
			return printed{object: view.NewBatches(all), rows: rows}, nil
		},
	})
}

func (b batchCommands) show() *cobra.Command {
	return command(b.app, spec[jsonFlag]{
		use: "show BATCH", short: "Show how far a batch is: classes, times, cost, worst hosts",
		needs: jsonFlag.batchNeeds,
		run: func(ctx context.Context, t *task, _ jsonFlag, args []string) (printed, error) {
			s, err := t.Batches.Show(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			return printed{object: view.NewBatch(s), rows: batchRows(s, true)}, nil
		},
	})
}

func (b batchCommands) resume() *cobra.Command {
	return command(b.app, spec[jsonFlag]{
		use: "resume BATCH", short: "Go on with a batch, or watch it while another process works on it",
		needs: jsonFlag.batchNeeds,
		run: func(ctx context.Context, t *task, f jsonFlag, args []string) (printed, error) {
			s, err := t.Batches.Show(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			return t.runBatch(ctx, s, f)
		},
	})
}

func (b batchCommands) pause() *cobra.Command {
	return command(b.app, spec[jsonFlag]{
		use: "pause BATCH", short: "Pause a batch: what is in flight comes to its end, and nothing more is sent",
		needs: jsonFlag.batchNeeds,
		run: func(ctx context.Context, t *task, _ jsonFlag, args []string) (printed, error) {
			s, err := t.Batches.Pause(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			return printed{object: view.NewBatch(s), rows: batchRows(s, true)}, nil
		},
	})
}

type batchSetFlags struct {
	AtOnce  int         `flag:"at-once" help:"fetches in flight at once; 0 for as many as the product allows"`
	Rate    string      `flag:"rate" help:"items begun in a second, such as 20/s; 0 for no bound"`
	MaxCost dollarsFlag `flag:"max-cost" help:"dollars that the batch never passes; 0 for no cap"`
	jsonFlag
	Given givenFlags `flag:"*"`
}

func (b batchCommands) set() *cobra.Command {
	return command(b.app, spec[batchSetFlags]{
		use: "set BATCH", short: "Change how many fetches a batch makes at once, their rate or its cap, also while it runs; without a flag, show them",
		defaults: batchSetFlags{MaxCost: dollarsFlag{zero: true}},
		needs:    func(batchSetFlags) needs { return needs{journal: true} },
		run: func(ctx context.Context, t *task, f batchSetFlags, args []string) (printed, error) {
			var to batch.Settings
			var wrong []error
			if f.Given.has("at-once") {
				to.AtOnce = &f.AtOnce
				if err := batch.CheckAtOnce(f.AtOnce); err != nil {
					wrong = append(wrong, fmt.Errorf("--at-once %w", err))
				}
			}
			if f.Given.has("rate") {
				n, err := batch.ParseRate(f.Rate)
				if err != nil {
					wrong = append(wrong, fmt.Errorf("--rate %w", err))
				}
				to.Rate = &n
			}
			if f.Given.has("max-cost") {
				to.Cap = &f.MaxCost.dollars
			}
			if err := errors.Join(wrong...); err != nil {
				return printed{}, usage("%w", err)
			}
			if to == (batch.Settings{}) {
				s, err := t.Batches.Show(ctx, args[0])
				if err != nil {
					return printed{}, batchError(ctx, err)
				}
				return printed{object: view.NewBatch(s), rows: settingRows(s)}, nil
			}
			s, err := t.Batches.Set(ctx, args[0], to)
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			out := printed{object: view.NewBatch(s), rows: batchRows(s, true)}
			if to.Cap != nil && s.State == batch.Paused {
				out.note = "'" + s.Command("resume") + "' goes on"
			}
			return out, nil
		},
	})
}

// settingRows are the limits of a batch and its pace.
func settingRows(s batch.State) [][]string {
	limit := "none"
	if s.Cap > 0 {
		limit = model.SmallDollars(batch.Dollars(s.Cap))
	}
	return [][]string{{"limits", s.LimitWords()}, {"cap", limit}, {"pace", sanitizeLine(cmp.Or(s.Pace, "not held back"))}}
}

type batchLostFlags struct {
	Again bool `flag:"again" without:"drop" help:"send them again: each may be billed twice"`
	Drop  bool `flag:"drop" help:"do not send them again"`
	jsonFlag
}

func (b batchCommands) unanswered() *cobra.Command {
	return command(b.app, spec[batchLostFlags]{
		use: "lost BATCH", short: "Show or settle items that may have been sent without an answer, and are not sent again by themselves",
		needs: func(batchLostFlags) needs { return needs{journal: true} },
		run: func(ctx context.Context, t *task, f batchLostFlags, args []string) (printed, error) {
			if f.Again || f.Drop {
				s, err := t.Batches.Decide(ctx, args[0], f.Again)
				if err != nil {
					return printed{}, batchError(ctx, err)
				}
				out := printed{object: view.NewBatch(s), rows: batchRows(s, true)}
				if f.Again {
					out.note = fmt.Sprintf("'%s' sends them", s.Command("resume"))
				}
				return out, nil
			}
			const most = 100
			s, err := t.Batches.Show(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			lost, err := t.Batches.LostItems(ctx, s.ID, most)
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			out := printed{object: view.NewBatch(s), note: "no item is lost"}
			if len(lost) > 0 {
				out.rows = append(out.rows, []string{"ITEM", "URL"})
				out.note = "--again sends them again, and each may be billed twice; --drop does not"
			}
			for _, l := range lost {
				out.rows = append(out.rows, []string{fmt.Sprint(l.N + 1), sanitizeLine(l.URL)})
			}
			if more := s.Tally.Unanswered - int64(len(lost)); more > 0 {
				out.note = fmt.Sprintf("and %d more; %s", more, out.note)
			}
			return out, nil
		},
	})
}

type batchRetryFlags struct {
	Class string `flag:"class" takes:"class" help:"class of the results that are not good enough, as shown, such as captcha or target_error,timeout (required)"`
	jsonFlag
}

func (b batchCommands) retry() *cobra.Command {
	return command(b.app, spec[batchRetryFlags]{
		use: "retry BATCH", short: "Fetch again the items whose result has one of these classes",
		long: `Sends again the items whose result has a class of --class, and works on the batch
until it is over. The later result is the item's. Both are paid for, and the cap
holds for both: if it cannot pay for a try of each, nothing changes.`,
		needs: func(batchRetryFlags) needs { return needs{journal: true, rules: true} },
		run: func(ctx context.Context, t *task, f batchRetryFlags, args []string) (printed, error) {
			failures, err := failuresOf(f.Class)
			if err != nil {
				return printed{}, err
			}
			s, n, err := t.Batches.Retry(ctx, args[0], failures)
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			if n == 0 {
				t.app.say("zonedeck: no result of %s is %s: nothing is sent again", s.ID, strings.ReplaceAll(f.Class, ",", " or "))
				return t.batchPrinted(s), nil
			}
			t.app.say("zonedeck: %s sent again", text.Counted(int(n), "item"))
			return t.runBatch(ctx, s, f.jsonFlag)
		},
	})
}

// failuresOf reads what --class names.
func failuresOf(list string) (failures []batch.Failure, err error) {
	for w := range strings.SplitSeq(list, ",") {
		f, err := batch.ParseFailure(w)
		if err != nil {
			return nil, usage("--class %w", err)
		}
		failures = append(failures, f)
	}
	return failures, nil
}

type batchRemoveFlags struct {
	Yes bool `flag:"yes" help:"do not ask for confirmation"`
	jsonFlag
}

func (b batchCommands) remove() *cobra.Command {
	return command(b.app, spec[batchRemoveFlags]{
		use: "remove BATCH", short: "Remove a batch with its results and bodies",
		needs: func(batchRemoveFlags) needs { return needs{} },
		run: func(ctx context.Context, t *task, f batchRemoveFlags, args []string) (printed, error) {
			s, err := t.Batches.Show(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			ok, err := t.app.confirmed(f.Yes, fmt.Sprintf("Remove batch %s with %s and all bodies? They cannot be brought back.", s.ID, text.Counted(int(s.Tally.Answered), "result")))
			switch {
			case err != nil:
				return printed{}, err
			case !ok:
				return printed{done: "nothing was removed"}, nil
			}
			if err := t.Batches.Remove(ctx, s.ID); err != nil {
				return printed{}, batchError(ctx, err)
			}
			return printed{done: "batch " + s.ID + " is removed"}, nil
		},
	})
}
