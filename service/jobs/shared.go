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

// Share compares the inputs of a launch with those of a job.
func Share(job model.Job, launch, before []model.JobInput) Shared {
	s, asked := Shared{Job: job, has: map[string]bool{}}, map[string]bool{}
	for _, in := range launch {
		asked[string(rows.Input(in))] = true
	}
	for _, in := range before {
		if row := string(rows.Input(in)); asked[row] {
			s.has[row] = true
		}
	}
	s.Inputs = len(s.has)
	return s
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
// the inputs, as a sample has, or all of them, and that may have cost something, newest first.
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
		if s := Share(j, r.Inputs, before.Inputs); s.Inputs > 0 && before.Settings.Discover == r.Settings.Discover {
			out = append(out, s)
		}
	}
	return out, nil
}
