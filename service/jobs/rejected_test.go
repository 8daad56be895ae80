package jobs

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
)

// items are the jobs that are in the queue of work.
func items(t *testing.T, rn *Runner) int {
	t.Helper()
	q := noerr.Try(rn.cfg.Queues.Work(t.Context())).Must(t)
	list := noerr.Try(itemsOf(t.Context(), q, "test")).Must(t)
	return len(list)
}

// A process whose key is rejected leaves the job to others, which may have another key.
func TestARejectedKeyDoesNotEndTheQuestionsOfOthers(t *testing.T) {
	for _, status := range []int{401, 403} {
		var right atomic.Bool
		cl, asked := script(t, func(w http.ResponseWriter, r *http.Request) {
			if !right.Load() {
				text(status, "no")(w, r)
				return
			}
			text(200, `{"status":"ready"}`)(w, r)
		})
		job := accepted(t, cl)
		var fault *exchange.CallError
		if _, err := cl.Watch(t.Context(), job.ID, nil); !errors.As(err, &fault) || fault.Status != status || asked.Load() != 1 {
			t.Fatalf("%v after %d polls", err, asked.Load())
		}
		if n := items(t, cl); n != 1 {
			t.Errorf("%d: %d jobs are left for others", status, n)
		}
		// It is asked for again here once somebody wants it.
		right.Store(true)
		if job, err := cl.Watch(t.Context(), job.ID, nil); err != nil || job.State != model.JobReady {
			t.Errorf("%+v, %v", job, err)
		}
	}
}

// A key that was rotated since the last question is looked up again.
func TestARotatedKeyIsLookedUpAgain(t *testing.T) {
	var looked atomic.Int32
	var asked atomic.Int32
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			text(200, `{"status":"running"}`)(w, r)
		case 2:
			text(401, "Invalid credentials")(w, r)
		default:
			text(200, `{"status":"ready"}`)(w, r)
		}
	})
	p.Local = true
	ledger, _ := withLedger(t)
	cl := newRunner(t, p, ledger, func(c *Config) {
		c.Source = servicetest.Source{Base: c.Source, SecretBy: func(ctx context.Context, ref string) (keystore.Secret, error) {
			looked.Add(1)
			return servicetest.Secret(ctx, ref)
		}}
	})
	job, err := cl.Watch(t.Context(), accepted(t, cl).ID, nil)
	if err != nil || job.State != model.JobReady || asked.Load() != 3 {
		t.Errorf("%+v, %v after %d polls", job, err, asked.Load())
	}
	if n := looked.Load(); n != 3 { // the watch's own, the first question's, and the one after the refusal
		t.Errorf("the key was looked up %d times", n)
	}
}

// A rejected key has another value once the inventory says so: the job is asked for again.
func TestAJobIsAskedForAgainOnceItsRejectedKeyWasRotated(t *testing.T) {
	t.Parallel()
	var rotated atomic.Bool
	cl, asked := script(t, text(401, "Invalid credentials"), text(200, `{"status":"ready"}`))
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, KeyBy: func(name string) (model.Key, bool) {
		k, ok := servicetest.Key(name)
		if rotated.Load() {
			k.Fingerprint = "0123456789abcdef"
		}
		return k, ok
	}}
	job := accepted(t, cl)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	noerr.Must(t, cl.Follow(ctx, func(f Followed) {
		switch {
		case f.Job.State == model.JobReady:
			end()
		case f.Job.ID == job.ID && !f.On:
			rotated.Store(true)
		}
	}))
	if got, err := cl.Job(t.Context(), job.ID); err != nil || got.State != model.JobReady || asked.Load() != 2 {
		t.Errorf("%s, %v after %d questions", got.State, err, asked.Load())
	}
}

func TestAJobIsLeftToOthersWhileItsKeyHasTheValueThatWasRejected(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Key)
		left   bool
	}{
		"another reference":   {func(k *model.Key) { k.Secret = "env:OTHER" }, false},
		"another fingerprint": {func(k *model.Key) { k.Fingerprint = "0123456789abcdef" }, false},
		"a fresh value":       {func(k *model.Key) { k.Rotation.Last = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC) }, false},
		"another note":        {func(k *model.Key) { k.Note = "rotated by hand" }, true},
	} {
		cl, _ := script(t, text(401, "no"))
		job := accepted(t, cl)
		cl.watching.reject(job)
		k, _ := servicetest.Key(job.KeyName)
		c.change(&k)
		cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, KeyBy: func(string) (model.Key, bool) { return k, true }}
		if left := cl.watching.rejectedHere(job); left != c.left {
			t.Errorf("%s: left to others %t, want %t", name, left, c.left)
		}
	}
}

// A follow says that nothing is asked for any more, though jobs that it gave up are in flight.
func TestAFollowIsIdleOnceItHasGivenUpAllJobs(t *testing.T) {
	for _, status := range []int{400, 401, 403} {
		cl, asked := script(t, text(status, "no"))
		accepted(t, cl)
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		var last Followed
		noerr.Must(t, cl.Follow(ctx, func(f Followed) {
			if f.Job.ID == "" {
				end()
				return
			}
			last = f
		}))
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Fatalf("%d: it goes on without end", status)
		}
		end()
		var fault *exchange.CallError
		if last.On || !errors.As(last.Err, &fault) || fault.Status != status || asked.Load() != 1 {
			t.Errorf("%d: %+v after %d polls", status, last, asked.Load())
		}
	}
}

// A job whose time passed while no zonedeck ran is asked for; one that was asked for since then is given up.
func TestAJobWhoseTimePassedUnseenIsAskedForOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		seen  bool
		asked int32
		state model.JobState
	}{"unseen": {false, 1, model.JobReady}, "seen since": {true, 0, model.JobAccepted}} {
		cl, asked := script(t, text(200, `{"status":"ready"}`))
		job := accepted(t, cl)
		if c.seen {
			changed(t, cl, job.ID, func(job *model.Job) { job.Accepted = job.Accepted.Add(-60 * time.Hour) })
		} else {
			cl.cfg.Clock = servicetest.ClockFunc(func() time.Time { return time.Now().Add(60 * time.Hour) })
		}
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		noerr.Must(t, cl.Follow(ctx, func(f Followed) {
			if f.Job.ID == "" {
				end()
			}
		}))
		end()
		if got, err := cl.Job(t.Context(), job.ID); err != nil || got.State != c.state || asked.Load() != c.asked {
			t.Errorf("%s: %s after %d questions, %v", name, got.State, asked.Load(), err)
		}
	}
}

// A process without a key takes an item as often as one that has it, and gives it back soon.
func TestAProcessThatCannotAskHoldsNobodyUp(t *testing.T) {
	locked := errors.New("the key is locked")
	var looked atomic.Int32
	lacks := func(c *Config) {
		c.Source = servicetest.Source{Base: c.Source, SecretBy: func(context.Context, string) (keystore.Secret, error) {
			looked.Add(1)
			return keystore.Secret{}, locked
		}}
	}
	for name, c := range map[string]struct {
		change func(*Config)
		looks  int32 // for the key, in two turns and a wish
	}{
		"its key cannot be had": {lacks, 2},
		"its key is rejected":   {func(*Config) {}, 0},
	} {
		p := servicetest.API(t, text(401, "no"))
		ledger, _ := withLedger(t)
		cl := newRunner(t, p, ledger, c.change)
		job := accepted(t, cl)
		_, leave, err := cl.watching.join(t.Context(), "other", "", true) // as one that follows all jobs
		noerr.Must(t, err)
		defer leave()
		item := work.Item{Lane: lane("test"), Key: job.ID}
		for turn := range 3 {
			if turn == 2 {
				cl.watching.forget(job.ID)
			}
			if again, err := cl.watching.ask(t.Context(), item); err != nil || again != notMine {
				t.Errorf("%s: turn %d: again in %s, %v", name, turn, again, err)
			}
			if why, left := cl.watching.leaves(job); !left || why == nil {
				t.Errorf("%s: turn %d: %v", name, turn, why)
			}
		}
		if n := looked.Swap(0); n != c.looks {
			t.Errorf("%s: the key was looked up %d times, want %d", name, n, c.looks)
		}
	}
}
