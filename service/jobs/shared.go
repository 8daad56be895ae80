package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// maxShared is how many of the newest jobs are compared with a launch.
const maxShared = 50

// Shared is a job that has some of the inputs of a launch.
type Shared struct {
	Job    model.Job
	Inputs int // of the launch that the job has, too
	has    map[string]bool
}

// Unlaunched are the inputs that no job of a list has.
func Unlaunched(inputs []model.JobInput, shared []Shared) (out []model.JobInput) {
	for _, in := range inputs {
		row := string(rows.Input(in))
		if !slices.ContainsFunc(shared, func(s Shared) bool { return s.has[row] }) {
			out = append(out, in)
		}
	}
	return out
}

// Words begin a sentence about the inputs: "3 of 20 inputs were".
func (s Shared) Words(of int) string {
	if s.Inputs == 1 {
		return fmt.Sprintf("1 of %d inputs was", of)
	}
	return fmt.Sprintf("%d of %d inputs were", s.Inputs, of)
}

// SharedInputs are the jobs begun within the last while that collect the same way and have some of
// the inputs, as a sample has, and that may have cost something, newest first. Those with the very
// same inputs are SameInputs.
func (rn *Runner) SharedInputs(ctx context.Context, r model.TriggerRequest, within time.Duration) ([]Shared, error) {
	if rn.cfg.Ledger == nil || len(r.Inputs) == 0 {
		return nil, nil
	}
	p, _, err := rn.cfg.Access.Current(ctx)
	if err != nil {
		return nil, err
	}
	list, _, err := rn.Jobs(ctx, maxShared)
	if err != nil {
		return nil, err
	}
	asked, same := map[string]bool{}, digest(p, r)
	for _, in := range r.Inputs {
		asked[string(rows.Input(in))] = true
	}
	var out []Shared
	since := rn.cfg.Now().Add(-within)
	for _, j := range list {
		if j.Created.Before(since) || j.Profile != p.Name || j.Dataset != r.Dataset || j.ID == r.Repeats || j.State == model.JobNotSent || j.State == model.JobRefused {
			continue
		}
		before, err := rn.Request(ctx, j.ID)
		if errors.Is(err, ErrNoRequest) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking for inputs that were launched: %w", err)
		}
		has := map[string]bool{}
		for _, in := range before.Inputs {
			if row := string(rows.Input(in)); asked[row] {
				has[row] = true
			}
		}
		if n := len(has); n > 0 && before.Settings.Discover == r.Settings.Discover && digest(p, before) != same {
			out = append(out, Shared{j, n, has})
		}
	}
	return out, nil
}
