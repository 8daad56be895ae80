package jobs

import (
	"context"
	"errors"
	"reflect"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/work"
)

// How often we look in the ledger and the queue for what other processes did.
const (
	lookBusy = 500 * time.Millisecond // while jobs are in flight
	lookIdle = 2 * time.Second
)

// Followed is a job that was or is in flight.
type Followed struct {
	Job model.Job
	// On is true while this process or another asks the service about the job. It is false if this
	// process cannot ask because its key is rejected or unavailable, even if another one does.
	On bool
	// Next is the time of the next question; zero unless On.
	Next time.Time
	// Err is why this process's last question failed, nil if it did not.
	Err error
}

// Follow keeps the service asked about the profile's jobs in flight until ctx ends, by this process or
// another one with the same ledger; two never ask about a job at once. It calls on from this goroutine for
// each job at the beginning and after each change, also for jobs that other processes launch. A job that is
// over is reported once more and then no longer. One that may have started is reported once, when its webhook
// did not come in time. A Followed without a job says that the service is asked about none.
//
// It returns nil when ctx ends, and otherwise an error if the ledger or the queue cannot be read: ErrNoLedger,
// errNoWork, ErrNotShown (the contract shows no way to ask), or the ledger's.
func (rn *Runner) Follow(ctx context.Context, on func(Followed)) error {
	if rn.cfg.Ledger == nil {
		return ErrNoLedger
	}
	if err := rn.follow(ctx, on); ctx.Err() == nil {
		return err
	}
	return nil
}

func (rn *Runner) follow(ctx context.Context, on func(Followed)) error {
	p, d, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return err
	}
	if !d.AsksForJobs() {
		_, err := d.JobPaths(p.APIVersion, "", "none")
		return err
	}
	feed, unsubscribe := rn.watching.subscribe()
	defer unsubscribe()
	f := follower{rn: rn, profile: p.Name, cadence: d.Cadence(p.Local), reported: map[string]Followed{}, due: map[string]bool{}, on: on}
	defer f.stopWorker()
	defer rn.seeDue(ctx, p.Name)()
	for {
		feed.drain() // look finds them in the ledger
		if err := f.look(ctx); err != nil {
			return err
		}
		every := lookIdle
		if f.leave != nil {
			every = lookBusy
		}
		next := time.NewTimer(every)
		select {
		case <-ctx.Done():
			next.Stop()
			return context.Cause(ctx)
		case <-feed.wake:
		case <-next.C:
		}
		next.Stop()
	}
}

// AskNow makes the next question about a job due at once; the dialect's limit begins anew. The question is
// asked by whoever calls Follow or Watch; AskNow itself asks only about a forgotten job, see Watch. It returns
// the job as it is then. Its errors are those of Watch.
func (rn *Runner) AskNow(ctx context.Context, jobID string) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	job, err := rn.Job(ctx, jobID)
	if err == nil && job.Forgotten() {
		if job, err = rn.askAgain(ctx, job); err == nil && job.State.Final() {
			return job, nil
		}
	}
	if err != nil {
		return job, err
	}
	call, err := rn.callAbout(ctx, job)
	if err == nil {
		job, err = rn.endWait(ctx, job, "the service is asked at once, on request")
	}
	if err != nil {
		return job, err
	}
	q, err := rn.watching.queue(ctx)
	if err != nil {
		return job, err
	}
	return job, call.hasten(ctx, q)
}

func (call jobCall) hasten(ctx context.Context, q work.Queue) error {
	until := call.rn.cfg.Now().Add(call.d.Cadence(call.p.Local).Limit)
	call.rn.watching.forget(call.job.ID)
	return q.Hasten(ctx, work.Item{Lane: lane(call.p.Name), Key: call.job.ID, Until: until})
}

// Watch waits until a job's state is final. It calls on, which may be nil, from this goroutine after every
// change, once the change is in the ledger. A state that the dialect does not know means running. While it
// waits, its process also asks about other jobs with the same key (see Follow). A job that expired because the
// service no longer knew it (model.Job.Forgotten) is asked about once, and taken back if the service knows it
// again. A job that is on its way is waited for until it was sent; one that may have started then is returned.
//
// It returns ctx's error when ctx ends, with the job as last seen. Other errors: ErrUnknownJob, ErrNoSnapshot,
// errNoWork, ErrNotShown (dialect documented: the contract shows no way to ask), a *model.RequestError, or a
// *exchange.CallError if the service refuses to answer, cannot be reached for the dialect's patience, or the
// job is not over after its limit. None of them says anything about the job itself, and Watch can be called again.
func (rn *Runner) Watch(ctx context.Context, jobID string, on func(model.Job)) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	job, err := rn.Job(ctx, jobID)
	for err == nil && onItsWay(job) {
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(lookBusy):
			if _, err = rn.Recover(ctx); err == nil {
				job, err = rn.Job(ctx, jobID)
			}
		}
	}
	if err != nil || job.State == model.JobMayHave {
		return job, err
	}
	if on == nil {
		on = func(model.Job) {}
	}
	on(job)
	if job.Forgotten() {
		if job, err = rn.askAgain(ctx, job); err != nil {
			return job, err
		}
		on(job)
	}
	if job.State.Final() {
		return job, nil
	}
	call, err := rn.callAbout(ctx, job)
	if err == nil {
		job, err = rn.endWait(ctx, job, "the service is asked at once, on request")
	}
	if err != nil {
		return job, err
	}
	feed, unsubscribe := rn.watching.subscribe()
	defer unsubscribe()
	q, leave, err := rn.watching.join(ctx, call.p.Name, job.KeyName, false)
	if err != nil {
		return job, err
	}
	defer leave()
	if err := call.hasten(ctx, q); err != nil {
		return job, err
	}
	w := waiter{rn: rn, queue: q, call: call, job: job, on: on, cadence: call.d.Cadence(call.p.Local), began: rn.cfg.Now()}
	next := time.NewTicker(lookBusy)
	defer next.Stop()
	for {
		over, err := w.look(ctx, feed.drain())
		if err != nil || over {
			return w.job, err
		}
		select {
		case <-ctx.Done():
			return w.job, context.Cause(ctx)
		case <-feed.wake:
		case <-next.C:
		}
	}
}

// forget drops the outcome of earlier questions.
func (w *watching) forget(id string) {
	w.learn(id, func(q *questions) { q.err, q.lacked, q.rejected = nil, time.Time{}, nil })
}

// among sets how many jobs are asked about.
func (w *watching) among(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight = n
}

// waiter is one call of Watch.
type waiter struct {
	rn      *Runner
	queue   work.Queue
	call    jobCall
	job     model.Job // as last seen
	on      func(model.Job)
	cadence dialect.Cadence
	began   time.Time
}

// look takes in what this process saw and what others wrote.
func (w *waiter) look(ctx context.Context, seen []model.Job) (over bool, err error) {
	for _, job := range seen {
		w.update(job)
	}
	items, err := itemsOf(ctx, w.queue, w.call.p.Name) // before the ledger: see follower.look
	if err != nil {
		return false, causeOf(ctx, err)
	}
	w.rn.watching.among(len(items))
	job, err := w.rn.Job(ctx, w.job.ID)
	if err != nil {
		return false, causeOf(ctx, err)
	}
	if w.update(job); w.job.State.Final() {
		return true, nil
	}
	if err := w.rn.watching.broken(); err != nil {
		return false, err
	}
	since := w.job.Updated // questions that failed before this call do not count
	if since.Before(w.began) {
		since = w.began
	}
	why, fault := w.rn.watching.about(w.job.ID).err, (*exchange.CallError)(nil)
	_, on := items[w.job.ID]
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case why != nil && (!on || w.rn.watching.rejectedHere(w.job) || !errors.As(why, &fault)): // it is not asked any more, or not by us
		return false, why
	case !on:
		return false, w.fault()
	case w.job.Fault.Call == model.CallProgress && w.rn.cfg.Now().Sub(since) > w.cadence.Patience && (!w.job.Unknown() || w.job.GivenUp()):
		if why == nil {
			why = w.fault()
		}
		return false, why
	}
	return false, nil
}

// update reports a job that is further than the one last seen.
func (w *waiter) update(job model.Job) {
	if job.ID != w.job.ID || job.Updated.Before(w.job.Updated) {
		return
	}
	changed := differs(w.job, job)
	w.job = job
	if changed {
		w.on(job)
	}
}

// fault is what another process wrote down about its last question.
func (w *waiter) fault() error {
	d := w.job.Fault.Diagnosis
	if w.job.Fault.Call != model.CallProgress {
		d = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseUnrecognised, Summary: "nobody asks for it any more"}
	}
	return &exchange.CallError{Doing: "following job " + w.job.ID, Diagnosis: d, Text: d.Summary}
}

func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

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
	due, err := f.rn.cfg.Ledger.WebhooksDue(ctx, f.profile, f.rn.cfg.Now())
	if err != nil {
		return err
	}
	if len(jobs)+len(due) > 0 && f.queue == nil {
		if f.queue, err = f.rn.watching.queue(ctx); err != nil {
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
		why, left := f.rn.watching.leaves(job)
		if left {
			in, item.Due = false, time.Time{}
		}
		if in {
			asked++
		}
		if in && !job.WebhookDue.IsZero() {
			waiting++
		}
		f.report(Followed{Job: job, On: in, Next: item.Due, Err: why})
	}
	f.rn.watching.among(len(items) - waiting) // the service is asked about the others
	return asked, over(ctx, f.rn, f.reported, there, func(job model.Job) { f.on(Followed{Job: job}) })
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
		if _, left := f.rn.watching.leaves(job); !left {
			looked++
		}
	}
	return looked, over(ctx, f.rn, f.due, there, func(job model.Job) {
		if job.State == model.JobMayHave && job.WebhookDue.IsZero() { // else it is settled, or waits for its webhook again
			f.on(Followed{Job: job})
		}
	})
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
		_, f.leave, err = f.rn.watching.join(ctx, f.profile, "", true)
	default:
		err = f.rn.watching.broken()
	}
	return err
}

// over takes the jobs that are not there any more out of those that were, and reports them.
func over[T any](ctx context.Context, rn *Runner, were map[string]T, there map[string]bool, report func(model.Job)) error {
	for id := range were {
		if there[id] {
			continue
		}
		job, err := rn.Job(ctx, id)
		if err != nil && !errors.Is(err, ErrUnknownJob) {
			return err
		}
		delete(were, id)
		if err == nil {
			report(job)
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
