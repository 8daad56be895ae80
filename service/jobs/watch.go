package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/work"
)

// atOnce bounds how many questions a process has under way at a time: hundreds would themselves be
// "sending too fast" (service.md 7).
const atOnce = 8

// notMine is how soon an item that another process should take comes up again: a process that cannot ask
// gets it as often as one that can.
const notMine = 3 * time.Second

// lookAgain is after how long a process that could not have a job's key tries again.
const lookAgain = 15 * time.Second

// errNoWork means that jobs cannot be followed, because there is no queue of work.
var errNoWork = errors.New("no job can be followed in this run: there is no queue of work")

// watching asks about the jobs in flight, and is what this process knows of the questions.
type watching struct {
	rn       *Runner
	mu       sync.Mutex
	everyJob callers            // of those that follow all jobs
	keys     map[string]callers // of those that wait for one job, by its key
	end      func()             // ends the worker; nil while there is none
	failed   error              // why there is no worker
	jobs     map[string]questions
	inFlight int // jobs that are being asked about
	feeds    map[*feed]struct{}
	due      chan struct{} // signals that fields of results are due
}

// questions is what is known here of those about one job.
type questions struct {
	call     *jobCall   // for the next one; nil after a failure
	err      error      // of the last one
	answered lastAnswer // the last answer
	lacked   time.Time  // when the job's key was last unavailable
	rejected *keyValue  // of the job's key, which was rejected or is of another account: the job is left to other processes
}

// about is what is known of the questions about a job.
func (w *watching) about(id string) questions {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.jobs[id]
}

// learn changes what is known of the questions about a job.
func (w *watching) learn(id string, change func(*questions)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learnLocked(id, change)
}

func (w *watching) learnLocked(id string, change func(*questions)) {
	q := w.jobs[id]
	change(&q)
	if w.jobs == nil {
		w.jobs = map[string]questions{}
	}
	w.jobs[id] = q
	if q == (questions{}) {
		delete(w.jobs, id)
	}
}

// keyValue is how the inventory tells one value of a key from the next.
type keyValue struct {
	ref, fingerprint string
	made             time.Time
}

// callers counts the calls of Follow and Watch that are under way.
type callers struct {
	all       int
	prompting int // those whose user may be asked for a passphrase
}

// feed collects the jobs that this process saw change.
type feed struct {
	wake chan struct{}
	mu   sync.Mutex
	jobs []model.Job
}

func (f *feed) drain() []model.Job {
	f.mu.Lock()
	defer f.mu.Unlock()
	jobs := f.jobs
	f.jobs = nil
	return jobs
}

func (f *feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default: // an earlier signal is still waiting
	}
}

func (w *watching) subscribe() (f *feed, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.feeds == nil {
		w.feeds = map[*feed]struct{}{}
	}
	f = &feed{wake: make(chan struct{}, 1)}
	w.feeds[f] = struct{}{}
	return f, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.feeds, f)
	}
}

// publish hands a job to all feeds, and keeps the error of the last question about it. The prepared call is
// kept as long as questions are answered.
func (w *watching) publish(job model.Job, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learnLocked(job.ID, func(q *questions) {
		q.err, q.lacked = err, time.Time{}
		if err != nil || job.State.Final() {
			q.call = nil
		}
		if job.State.Final() {
			q.answered = lastAnswer{}
		}
	})
	for f := range w.feeds {
		f.mu.Lock()
		f.jobs = append(f.jobs, job)
		f.mu.Unlock()
		f.signal()
	}
}

// rejectedHere reports whether this process leaves a job to others because its key was rejected or may be
// of another account. It does so until the inventory has another value for the key.
func (w *watching) rejectedHere(job model.Job) bool {
	was := w.about(job.ID).rejected
	return was != nil && *was == w.keyValue(job)
}

func (w *watching) keyValue(job model.Job) keyValue {
	k, _ := w.rn.cfg.Source.Key(job.KeyName)
	return keyValue{k.Secret, k.Fingerprint, k.Rotation.Last.UTC()}
}

// leaves reports whether this process leaves a job to others, because its key is rejected or unavailable.
// why is the error of the last question.
func (w *watching) leaves(job model.Job) (why error, left bool) {
	why = w.about(job.ID).err
	return why, w.rejectedHere(job) || why != nil && !errors.As(why, new(*exchange.CallError))
}

// lacks records that a job's key is unavailable, and tells why. It is logged once.
func (w *watching) lacks(job model.Job, why error) {
	if before := w.about(job.ID).err; before == nil || before.Error() != why.Error() {
		w.rn.cfg.Log.Warn("a job is left to other processes", "job", job.ID, "profile", job.Profile, "error", why)
	}
	w.publish(job, why)
	w.learn(job.ID, func(q *questions) { q.lacked = time.Now() })
}

// lackedKey reports whether a job's key was unavailable a moment ago.
func (w *watching) lackedKey(id string) bool { return time.Since(w.about(id).lacked) < lookAgain }

// reject leaves a job to others until somebody asks about it here, or its key has another value.
func (w *watching) reject(job model.Job) {
	value := w.keyValue(job)
	w.learn(job.ID, func(q *questions) { q.rejected = &value })
}

func (w *watching) broken() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// claim reports whether this process asks about a job, and returns the context to do so: it says whether the
// user may be asked for a passphrase. A process that waits for one job also asks about others with the same key.
func (w *watching) claim(ctx context.Context, job model.Job) (context.Context, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	every, key := w.everyJob, w.keys[job.KeyName]
	if every.prompting+key.prompting == 0 {
		ctx = ask.By(ctx, ask.Nobody)
	}
	return ctx, every.all+key.all > 0
}

// lane holds the questions about a profile's jobs.
func lane(profile string) string { return "ask/" + profile }

// queue is where the questions wait.
func (w *watching) queue(ctx context.Context) (work.Queue, error) {
	if w.rn.cfg.Queues == nil {
		return nil, errNoWork
	}
	q, err := w.rn.cfg.Queues.Work(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoWork, err)
	}
	return q, nil
}

// join makes this process work on the profile's questions until leave is called: on all of them, or on
// those about jobs with the key.
func (w *watching) join(ctx context.Context, profile, key string, all bool) (q work.Queue, leave func(), err error) {
	if q, err = w.queue(ctx); err != nil {
		return nil, nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[string]callers{}
	}
	mayAsk := ask.MayAsk(ctx)
	count := func(by int) {
		n := w.everyJob
		if !all {
			n = w.keys[key]
		}
		if n.all += by; mayAsk {
			n.prompting += by
		}
		switch {
		case all:
			w.everyJob = n
		case n.all == 0:
			delete(w.keys, key)
		default:
			w.keys[key] = n
		}
	}
	count(1)
	if w.end == nil {
		w.end, w.failed = w.work(ctx, q, profile), nil
	}
	return q, sync.OnceFunc(func() {
		w.mu.Lock()
		count(-1)
		var end func()
		if w.everyJob.all == 0 && len(w.keys) == 0 {
			end, w.end = w.end, nil
		}
		w.mu.Unlock()
		if end != nil {
			end()
		}
	}), nil
}

// work starts the worker; end stops it and waits. The worker may outlast the call that started it and serves
// other calls too: takes says for each question whether a passphrase may be asked for.
func (w *watching) work(ctx context.Context, q work.Queue, profile string) (end func()) {
	ctx, cancel := context.WithCancel(ask.By(context.WithoutCancel(ctx), nil))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := q.Work(ctx, lane(profile), atOnce, w.ask); err != nil {
			w.mu.Lock()
			w.failed = err
			for f := range w.feeds {
				f.signal()
			}
			w.mu.Unlock()
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// ask is the work.Handler. It asks the service about one job.
func (w *watching) ask(ctx context.Context, item work.Item) (again time.Duration, err error) {
	defer w.rn.cfg.Wire.Begin()()
	if item.Key == listKey {
		return w.rn.lookInList(ctx)
	}
	job, err := w.rn.Job(ctx, item.Key)
	over := !item.Until.IsZero() && w.rn.cfg.Now().After(item.Until)
	worker := ctx
	ctx, claimed := w.claim(worker, job)
	switch {
	case errors.Is(err, ErrUnknownJob):
		return 0, nil
	case err != nil:
		w.publish(model.Job{ID: item.Key}, err)
		return 0, err
	case job.State.Final():
		w.publish(job, nil)
		return 0, nil
	case w.rejectedHere(job), w.lackedKey(job.ID):
		if over {
			return 0, nil
		}
		return notMine, nil
	case !claimed:
		return notMine, nil
	}
	job, left, err := w.rn.awaits(ctx, job)
	if err != nil || left > 0 {
		return left, err
	}
	call, used, err := w.prepared(ctx, job)
	if err != nil && ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if now, _ := w.claim(worker, job); err != nil && ask.MayAsk(now) && !ask.MayAsk(ctx) {
		return notMine, nil // meanwhile a call began that waits for the job and may ask its user
	}
	if err != nil {
		w.lacks(job, err)
		if over {
			return 0, nil
		}
		return notMine, nil
	}
	cadence := call.d.Cadence(call.p.Local)
	job, again, err = call.askOnce(ctx, cadence, used)
	if err != nil || again == 0 || !over || w.undecided(job, cadence) {
		return again, err
	}
	w.giveUp(ctx, job, cadence.Limit)
	return 0, nil
}

// prepared is the call about a job; used says that it was made before. The key is resolved again only after a
// failure or a change of the profile, because its reference may be a command that asks a person.
func (w *watching) prepared(ctx context.Context, job model.Job) (call jobCall, used bool, err error) {
	before := w.about(job.ID).call
	used = before != nil && before.job.Snapshot == job.Snapshot
	if used && !before.p.Local { // new addresses of the embedded emulator show when a call fails
		now, err := w.rn.cfg.Source.Profile(ctx)
		used = err == nil && reflect.DeepEqual(now, before.p)
	}
	if used {
		call = *before
		call.job = job
		return call, true, nil
	}
	call, err = w.rn.callAbout(ctx, job)
	if err == nil {
		w.learn(job.ID, func(q *questions) { q.call = &call })
	}
	return call, false, err
}

// askOnce asks and writes down the outcome. again is 0 if the job is over or asking again would not help.
// A rejected key does not end the questions: one that was used before may have been rotated and is looked up
// again, and another process may have another key.
func (call jobCall) askOnce(ctx context.Context, cadence dialect.Cadence, used bool) (job model.Job, again time.Duration, err error) {
	w := &call.rn.watching
	job = call.job
	progress, err := call.poll(ctx)
	fault := (*exchange.CallError)(nil)
	switch {
	case err == nil:
		w.learn(job.ID, func(q *questions) { q.answered = lastAnswer{call.rn.cfg.Now(), call.place()} })
		if job, err = call.rn.record(ctx, job, progress); err != nil {
			w.publish(call.job, err)
			return call.job, 0, err
		}
		w.publish(job, nil)
		if job.State.Final() {
			return job, 0, nil
		}
		return job, max(call.rn.watching.wait(cadence, job), min(progress.After, dialect.MaxWait)), nil
	case !errors.As(err, &fault):
		return job, 0, err // ctx ended
	case fault.Status == http.StatusNotFound && call.rn.cfg.Now().Sub(job.Accepted) < cadence.New:
		return job, call.rn.watching.wait(cadence, job), nil
	case fault.Status == http.StatusUnauthorized, fault.Status == http.StatusForbidden:
		job, again = call.rn.failed(ctx, job, model.CallProgress, err), call.rn.watching.wait(cadence, job)
		if !used {
			call.rn.watching.reject(job)
			again = notMine
		}
		w.publish(job, err)
		return job, again, nil
	case fault.Diagnosis.Rule == model.RuleResultExpired:
		if job, err = call.rn.failed(ctx, job, model.CallProgress, err), nil; !job.State.Final() {
			job, err = call.rn.expire(ctx, job, fault)
		}
		w.publish(job, err)
		return job, 0, err
	case fault.Status == http.StatusNotFound:
		return call.unknown(ctx, cadence, fault)
	case !passing(fault):
		w.publish(call.rn.givenUp(ctx, job, err), err)
		return job, 0, nil
	default:
		job = call.rn.failed(ctx, job, model.CallProgress, err)
		w.publish(job, err)
		return job, max(call.rn.watching.wait(cadence, job), min(fault.After, dialect.MaxWait)), nil
	}
}

// wait is how long to wait before the next question: 80 to 120 % of the cadence's wait, so that many jobs
// are not asked about in step.
func (w *watching) wait(cadence dialect.Cadence, job model.Job) time.Duration {
	since := job.Accepted
	if since.IsZero() {
		since = job.Created
	}
	w.mu.Lock()
	jobs := w.inFlight
	w.mu.Unlock()
	d := cadence.Wait(w.rn.cfg.Now().Sub(since), job.Done, job.Inputs, jobs)
	return d*4/5 + time.Duration(w.rn.cfg.Rand.Uint64()%uint64(d*2/5+1))
}

// giveUp writes down that nobody asks about a job any more, although it is not over.
func (w *watching) giveUp(ctx context.Context, job model.Job, limit time.Duration) {
	d := model.NotOver(limit, joinText(job.Wire, job.Detail))
	err := &exchange.CallError{Doing: "following job " + job.ID, Diagnosis: d, Text: d.Summary}
	w.publish(w.rn.givenUp(ctx, job, err), err)
}
