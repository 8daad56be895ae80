package batch

import (
	"context"
	"slices"

	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/drift"
	"zonedeck/service/work"
)

// learnAlong has drift learn beside the sends, whenever half as many results again have come: all are read each time.
func (r *runner) learnAlong(ctx context.Context, s State) {
	if s.Tally.Answered < r.learned || len(r.plan.Request.Required) == 0 || !r.learning.TryLock() {
		return
	}
	r.learned = s.Tally.Answered*3/2 + files.SliceItems/2
	r.along.Go(func() {
		defer r.learning.Unlock()
		if r.eldest(ctx) {
			r.learn(ctx, s)
		}
	})
}

// eldest reports whether no living worker began before this one: of several, that one alone reads the results of all.
func (r *runner) eldest(ctx context.Context) bool {
	if r.store.Server == nil {
		return true
	}
	all, err := r.store.Server.Workers(ctx)
	workers := all[lane(r.id)]
	i := slices.IndexFunc(workers, func(w work.Worker) bool { return !w.Dead })
	return err == nil && i >= 0 && workers[i].Process == r.name
}

// learn has drift learn the coverage of the required fields: one run for the batch, which replaces an earlier one.
// It gives a line for the history, empty without drift.
func (r *runner) learn(ctx context.Context, s State) (said string) {
	required := r.plan.Request.Required
	if len(required) == 0 || r.b.Drift == nil {
		return ""
	}
	pages := &drift.Pages{Profile: s.Profile, Batch: s.ID, Source: s.Plan.Source, At: s.Created}
	var err error
	for line, wrong := range r.b.Results(ctx, s.ID, false) {
		if err = wrong; err == nil {
			pages.Take(line.URL, line.Class == string(model.ClassOK) || len(line.Missing) > 0, line.Missing, model.Class(line.Class), model.Cause(line.Cause))
		}
	}
	if err == nil {
		said, err = r.b.Drift.Pages(ctx, pages, required)
	}
	if err != nil && ctx.Err() == nil {
		r.b.Log.Warn("drift did not learn of a batch", "batch", s.ID, "error", err)
	}
	return said
}
