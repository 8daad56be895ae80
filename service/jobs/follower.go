package jobs

import (
	"context"
	"errors"
	"reflect"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/work"
)

// follower is one call of Follow. One goroutine uses it.
type follower struct {
	rn       *Runner
	profile  string
	cadence  dialect.Cadence
	on       func(Followed)
	reported map[string]Followed // the last report about each job in flight
	due      map[string]bool     // jobs whose webhook did not come in time; they are looked for in the service's list
	queue    work.Queue          // open while something is in flight
	leave    func()              // ends the worker; nil while there is none
	idle     bool                // the last report was that the service is asked about no job
}

// stopWorker ends the worker while there is nothing to ask. It costs more than everything else an idle console does.
func (f *follower) stopWorker() {
	if f.leave != nil {
		f.leave()
		f.leave = nil
	}
}

// items are those in the profile's lane; none until the queue is open.
func (f *follower) items(ctx context.Context) (map[string]work.Item, error) {
	if f.queue == nil {
		return map[string]work.Item{}, nil
	}
	return itemsOf(ctx, f.queue, f.profile)
}

func (f *follower) look(ctx context.Context) error {
	items, err := f.items(ctx) // first, as an item that is gone has written its outcome to the ledger
	if err != nil {
		return err
	}
	jobs, err := f.rn.cfg.Ledger.AtService(ctx, f.profile)
	if err != nil {
		return err
	}
	due, err := f.rn.cfg.Ledger.HooksDue(ctx, f.profile, f.rn.cfg.Now())
	if err != nil {
		return err
	}
	if len(jobs)+len(due) > 0 && f.queue == nil {
		if f.queue, err = f.rn.queue(ctx); err != nil {
			return err
		}
		if items, err = f.items(ctx); err != nil {
			return err
		}
	}
	asked, err := f.ask(ctx, jobs, items)
	if err != nil {
		return err
	}
	looked, err := f.lookInList(ctx, due, items)
	if err != nil {
		return err
	}
	if err := f.work(ctx, len(jobs)+len(due), len(items)); err != nil {
		return err
	}
	idle := asked+looked == 0
	if idle && !f.idle {
		f.on(Followed{})
	}
	f.idle = idle
	return nil
}

// ask queues the jobs to be asked about, and reports all of them. It returns how many are asked about.
func (f *follower) ask(ctx context.Context, jobs []model.Job, items map[string]work.Item) (asked int, err error) {
	there, waiting := map[string]bool{}, 0
	for _, job := range jobs {
		there[job.ID] = true
		item, in := items[job.ID]
		until := f.until(job)
		if _, before := f.reported[job.ID]; !in && !before && f.rn.cfg.Now().Before(until) {
			item = work.Item{Lane: lane(f.profile), Key: job.ID, Until: until, Due: time.Now()}
			if err := f.queue.Put(ctx, item); err != nil {
				return 0, err
			}
			items[job.ID], in = item, true
		}
		why, left := f.rn.leaves(job)
		if left {
			in, item.Due = false, time.Time{}
		}
		if in {
			asked++
		}
		if in && !job.HookDue.IsZero() {
			waiting++
		}
		f.report(Followed{Job: job, On: in, Next: item.Due, Err: why})
	}
	f.rn.watching.among(len(items) - waiting) // the service is asked about the others
	return asked, f.over(ctx, there)
}

// lookInList queues a look in the service's list for the jobs that are due, and reports those for which that was
// done. It returns how many are to be looked for here.
func (f *follower) lookInList(ctx context.Context, due []model.Job, items map[string]work.Item) (looked int, err error) {
	if _, in := items[listKey]; len(due) > 0 && !in {
		item := work.Item{Lane: lane(f.profile), Key: listKey}
		if err := f.queue.Put(ctx, item); err != nil {
			return 0, err
		}
		items[listKey] = item
	}
	there := map[string]bool{}
	for _, job := range due {
		there[job.ID], f.due[job.ID] = true, true
		if _, left := f.rn.leaves(job); !left {
			looked++
		}
	}
	for id := range f.due {
		if there[id] {
			continue
		}
		job, err := f.rn.Job(ctx, id)
		if err != nil && !errors.Is(err, ErrUnknownJob) {
			return looked, err
		}
		delete(f.due, id)
		if err == nil && job.State == model.JobMayHave && job.HookDue.IsZero() { // else it is settled, or waits for its webhook again
			f.on(Followed{Job: job})
		}
	}
	return looked, nil
}

// work keeps the worker running while there are items. Jobs that were given up are in flight without one.
func (f *follower) work(ctx context.Context, inFlight, items int) (err error) {
	switch {
	case items == 0:
		f.stopWorker()
		if inFlight == 0 {
			f.queue = nil
		}
	case f.leave == nil:
		_, f.leave, err = f.rn.join(ctx, f.profile, "", true)
	default:
		err = f.rn.watching.broken()
	}
	return err
}

// over reports the jobs that are no longer in flight.
func (f *follower) over(ctx context.Context, there map[string]bool) error {
	for id := range f.reported {
		if there[id] {
			continue
		}
		job, err := f.rn.Job(ctx, id)
		if err != nil && !errors.Is(err, ErrUnknownJob) {
			return err
		}
		delete(f.reported, id)
		if err == nil {
			f.on(Followed{Job: job})
		}
	}
	return nil
}

// until is when a job is given up. It follows from the ledger, so that it does not depend on which processes
// come and go. A job whose time passed while nobody asked may be ready by now: it is asked about for as long as
// the service may be out of reach.
func (f *follower) until(job model.Job) time.Time {
	since := job.Accepted
	if since.IsZero() {
		since = job.Created
	}
	until, now := since.Add(f.cadence.Limit), f.rn.cfg.Now()
	if job.Updated.Before(until) && !now.Before(until) {
		return now.Add(f.cadence.Patience)
	}
	return until
}

// report reports a job unless nothing has changed since the last report. The whole job is compared: a clock other than
// the machine's may stand still, and a job's steps are read after its row, so that they may have a change before it.
func (f *follower) report(now Followed) {
	before, ok := f.reported[now.Job.ID]
	f.reported[now.Job.ID] = now
	same := ok && before.On == now.On && before.Next.Equal(now.Next) && (before.Err == nil) == (now.Err == nil) &&
		reflect.DeepEqual(before.Job, now.Job)
	if !same {
		f.on(now)
	}
}

func itemsOf(ctx context.Context, q work.Queue, profile string) (map[string]work.Item, error) {
	list, err := q.Items(ctx, lane(profile))
	items := make(map[string]work.Item, len(list))
	for _, it := range list {
		items[it.Key] = it
	}
	return items, err
}
