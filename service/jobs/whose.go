package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// The bounds on what is read of a result to see whose inputs it has.
const (
	maxWhoseRows = 100_000
	whoseTimeout = 2 * time.Minute
)

// errSeenEnough ends the reading of rows once they have shown whose inputs they are of.
var errSeenEnough = errors.New("enough was read")

// weighRows compares the rows of a candidate with the inputs of its job: a job of another machine may have as many. state is
// what the service just gave. The error is the context's alone.
func (call jobCall) weighRows(ctx context.Context, c *Candidate, state model.JobState) error {
	inner, cancel := context.WithTimeoutCause(ctx, whoseTimeout, exchange.ErrTimeout)
	defer cancel()
	asked, err := call.rn.Request(ctx, call.job.ID)
	switch {
	case err != nil || len(asked.Inputs) == 0:
		c.Against = "the ledger does not have the inputs of the job, so its rows cannot be compared with them"
	case state.HasResult():
		var from *result
		if from, err = call.openResult(inner, 0, 0); err == nil {
			defer from.close()
			err = c.compare(asked.Inputs, from)
		}
		if err != nil {
			c.Against = "its rows could not be read, so whose inputs it has is not known"
		}
	case state.Final():
		c.Against = "it has no rows, so whose inputs it has is not known"
	default:
		c.Against = "it has no rows yet that tell whose inputs it has"
	}
	return context.Cause(ctx)
}

// compare reads rows until they have named every input, or one is of another input.
func (c *Candidate) compare(inputs []model.JobInput, from *result) error {
	match, named, read := rows.NewMatch(inputs), map[int]bool{}, 0
	err := rows.EachRow(from, "json", func(row rows.Row) error {
		places := match.Named(row)
		for _, i := range places {
			named[i] = true
		}
		c.Other = len(places) == 0 && len(row.Input) > 0
		if read++; c.Other || len(named) == len(inputs) || read == maxWhoseRows {
			return errSeenEnough
		}
		return nil
	})
	switch all := model.Counted(len(inputs), "input"); {
	case c.Other:
		c.Against = "its rows are of other inputs"
	case len(named) == len(inputs):
		c.For = all + ", named by its rows"
	case err != nil && !errors.Is(err, errSeenEnough):
		return err
	default:
		c.For = fmt.Sprintf("%s, %d of them named by its rows", all, len(named))
		c.Other = err == nil && read > 0 && len(named) == 0
		c.Against = fmt.Sprintf("no row that was read names %s of the job", model.Counted(len(inputs)-len(named), "input"))
	}
	return nil
}

// maySame reports whether two jobs of the ledger with as many inputs may have the same ones: also if those of one are not known.
func (rn *Runner) maySame(ctx context.Context, a, b string) bool {
	first, lacks := rn.Request(ctx, a)
	second, too := rn.Request(ctx, b)
	both := NewEarlierJobs(first.Inputs)
	both.Add(model.Job{}, second.Inputs)
	return lacks != nil || too != nil || len(both.Unlaunched(first.Inputs)) == 0
}

// postOver is how long after its beginning the POST of a job was certainly over: when its outcome was written down, by the
// sender or by whoever found it dead, and after triggerTimeout at the latest.
func postOver(job model.Job) time.Duration {
	for _, s := range job.Steps {
		if over := s.At.Sub(job.Created); s.State == model.JobMayHave && over >= 0 {
			return min(over, triggerTimeout)
		}
	}
	return triggerTimeout
}
