package jobs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
)

const testToken = "tokentokentokento"

// awaiting is an accepted job that waits for its webhook until a time.
func awaiting(t *testing.T, rn *Runner, due time.Time) model.Job {
	t.Helper()
	return begun(t, rn, testToken, func(job *model.Job) {
		job.State, job.Snapshot, job.Accepted, job.WebhookDue = model.JobAccepted, "sd_1", rn.cfg.Now(), due
	})
}

// texts are the steps of a job as the ledger has it now.
func texts(t *testing.T, rn *Runner, id string) (out []string) {
	t.Helper()
	job := noerr.Try(rn.Job(t.Context(), id)).Must(t)
	for _, s := range job.Steps {
		out = append(out, s.Text)
	}
	return out
}

func TestAWebhookThatIsNobodysChangesNothing(t *testing.T) {
	rn, asked := script(t, text(200, `{"status":"running"}`))
	job := awaiting(t, rn, time.Now().Add(time.Hour))
	before := texts(t, rn, job.ID)
	for _, forged := range []model.WebhookNews{{Snapshot: "sd_1"}, {Snapshot: "sd_1", Token: testToken + "x"}} {
		forged.ID, forged.How = "hook-1", "unverified"
		got, said, err := rn.HandleWebhook(t.Context(), forged)
		if err != nil || got.ID != job.ID || !strings.HasPrefix(said, "nothing was done") {
			t.Errorf("%+v: %s, %q, %v", forged, got.ID, said, err)
		}
	}
	job, err := rn.Job(t.Context(), job.ID)
	if err != nil || job.WebhookDue.IsZero() || !slices.Equal(texts(t, rn, job.ID), before) || asked.Load() != 0 {
		t.Errorf("%+v, %v", job, err)
	}
	for i, real := range []model.WebhookNews{{Token: testToken, How: "unverified"}, {Snapshot: "sd_1", How: "verified by it", Verified: true}} {
		real.ID = "hook-" + string(rune('2'+i))
		if _, said, err := rn.HandleWebhook(t.Context(), real); err != nil || said != "the service is asked for the job's state" {
			t.Errorf("%+v: %q, %v", real, said, err)
		}
		if all := texts(t, rn, job.ID); !slices.Contains(all, "webhook "+real.ID+" came ("+real.How+")") {
			t.Errorf("%q", all)
		}
	}
	if job, err = rn.Job(t.Context(), job.ID); err != nil || !job.WebhookDue.IsZero() {
		t.Errorf("%+v, %v", job, err)
	}
}

// TestAWebhookWithoutAnAddressOfItsOwn is one of a job whose webhooks an operator has sent to the
// inbox: it is known by its identifier alone.
func TestAWebhookWithoutAnAddressOfItsOwn(t *testing.T) {
	rn, _ := script(t, text(200, `{"status":"ready"}`))
	job := accepted(t, rn)
	before := texts(t, rn, job.ID)
	_, said, err := rn.HandleWebhook(t.Context(), model.WebhookNews{ID: "hook-1", Snapshot: "sd_1", How: "unverified"})
	if err != nil || said != "the service is asked for the job's state" || !slices.Equal(texts(t, rn, job.ID), before) {
		t.Errorf("%q, %v, %q", said, err, texts(t, rn, job.ID))
	}
	changed(t, rn, job.ID, func(job *model.Job) { job.State = model.JobReady })
	before = texts(t, rn, job.ID)
	_, said, err = rn.HandleWebhook(t.Context(), model.WebhookNews{ID: "hook-2", Snapshot: "sd_1", How: "verified by it", Verified: true})
	if err != nil || !strings.HasSuffix(said, "already") || !slices.Equal(texts(t, rn, job.ID), before) {
		t.Errorf("%q, %v, %q", said, err, texts(t, rn, job.ID))
	}
}

// TestAWebhookForAJobThatIsBeingSent waits for the answer to the trigger, unless nobody does any
// more.
func TestAWebhookForAJobThatIsBeingSent(t *testing.T) {
	rn, _ := script(t, text(200, `{"status":"ready"}`))
	sending := model.Job{Profile: "test", Dataset: "d", KeyName: "batch-user", Inputs: 1, Done: -1, Records: -1, WebhookToken: testToken}
	noerr.Must(t, noerr.From(rn.cfg.Ledger.Begin(t.Context(), sending, "", nil, nil)))
	news := model.WebhookNews{ID: "hook-1", Token: testToken}
	if _, _, err := rn.HandleWebhook(t.Context(), news); !errors.Is(err, ErrOnItsWay) {
		t.Errorf("%v", err)
	}
	other, _, err := ledger.Open(t.Context(), rn.cfg.Ledger.Path(), time.Now)
	noerr.Must(t, err)
	sending.WebhookToken, news.Token = "other"+testToken, "other"+testToken
	dead, err := other.Begin(t.Context(), sending, "", nil, nil)
	if err = errors.Join(err, other.Close()); err != nil {
		t.Fatal(err)
	}
	if job, said, err := rn.HandleWebhook(t.Context(), news); err != nil || job.ID != dead.ID || job.State != model.JobNotSent || !strings.Contains(said, "that was not sent") ||
		!slices.Contains(texts(t, rn, dead.ID), "webhook hook-1 came ()") {
		t.Errorf("%+v, %q, %v", job, said, err)
	}
}

// mayHave is a job of the ledger that may have started, with an address of the inbox or none.
func mayHave(t *testing.T, rn *Runner, webhook string) model.Job {
	t.Helper()
	return begun(t, rn, webhook, func(job *model.Job) { job.State = model.JobMayHave })
}

func TestTheWebhookOfAJobThatMayHaveStartedIsWaitedForUntilADeadline(t *testing.T) {
	rn, asked := script(t, text(200, `{"status":"ready"}`))
	now := time.Now().Truncate(time.Second)
	rn.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
	lost := func(hook string) model.Job { return mayHave(t, rn, hook) }
	if _, err := rn.Settler().AwaitWebhook(t.Context(), lost("").ID); !errors.Is(err, ErrNoAddress) {
		t.Errorf("without an address: %v", err)
	}
	job, err := rn.Settler().AwaitWebhook(t.Context(), lost(testToken).ID)
	if err != nil || !job.WebhookDue.Equal(now.Add(model.WebhookWait)) || asked.Load() != 0 {
		t.Fatalf("%+v, %v after %d questions", job, err, asked.Load())
	}
	// The watch writes down once that it did not come.
	for _, c := range []struct {
		after time.Duration
		told  bool
	}{{model.WebhookWait - time.Second, false}, {time.Second, true}, {time.Hour, false}} {
		now = now.Add(c.after)
		again, err := rn.lookInList(t.Context())
		looked, err1 := rn.Job(t.Context(), job.ID)
		if err := errors.Join(err, err1); err != nil || (again > 0) != c.told || looked.State != model.JobMayHave || c.told && !looked.WebhookDue.IsZero() {
			t.Errorf("after %s: again in %s, %+v, %v", c.after, again, looked, err)
		}
	}
	steps := texts(t, rn, job.ID)
	if want := []string{
		"waits 30m0s for its webhook; nothing is sent",
		"no webhook came in time, and what the service's list has is not known: the service's list of jobs cannot be asked for",
	}; !slices.Equal(steps[len(steps)-2:], want) {
		t.Errorf("%q", steps)
	}
	// One that names no identifier shows that it started. One that comes in time and names it settles the job.
	if open, said, err := rn.HandleWebhook(t.Context(), model.WebhookNews{ID: "hook-0", Token: testToken}); err != nil || open.State != model.JobMayHave || !strings.HasPrefix(said, "the job did start") {
		t.Errorf("%+v, %q, %v", open, said, err)
	}
	noerr.Must(t, noerr.From(rn.Settler().AwaitWebhook(t.Context(), job.ID)))
	settled, said, err := rn.HandleWebhook(context.WithoutCancel(t.Context()), model.WebhookNews{ID: "hook-1", Token: testToken, Snapshot: "sd_1"})
	if err != nil || settled.State != model.JobReady || !settled.WebhookDue.IsZero() || !strings.Contains(said, "answered for sd_1") {
		t.Errorf("%+v, %q, %v", settled, said, err)
	}
	if _, err := rn.Settler().AwaitWebhook(t.Context(), job.ID); !errors.Is(err, ErrSettled) {
		t.Errorf("a job that is settled: %v", err)
	}
}

// Where the service has a list it is looked at once, and what it has is written down and not taken.
func TestTheListIsLookedAtWhereNoWebhookCame(t *testing.T) {
	for name, c := range map[string]struct {
		began []time.Duration // after the job was written down; those without a time are negative
		says  string
	}{
		"none":  {nil, "no job in the service's list matches it"},
		"other": {[]time.Duration{24 * time.Hour}, "no job in the service's list matches it"},
		"one":   {[]time.Duration{time.Second}, "sd_0 in the service's list may be it: adopt it if it is"},
		"two":   {[]time.Duration{time.Minute, time.Second}, "2 jobs in the service's list may be it, sd_1 first: adopt the one that it is"},
		"cut":   {[]time.Duration{-1}, "what the service's list has is not known: " + errListCut.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			rn, _ := script(t, text(200, `{"status":"running"}`))
			now := time.Now()
			rn.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
			job := mayHave(t, rn, testToken)
			looks := 0
			rn.cfg.List = remoteList(func(context.Context, string, string, int) (list []model.RemoteJob, skipped int, err error) {
				looks++
				for i, after := range c.began {
					remote := model.RemoteJob{Snapshot: "sd_" + strconv.Itoa(i)}
					if after >= 0 {
						remote.Created = job.Created.Add(after)
					}
					list = append(list, remote)
				}
				return list, 0, nil
			})
			noerr.Must(t, noerr.From(rn.Settler().AwaitWebhook(t.Context(), job.ID)))
			now = now.Add(model.WebhookWait)
			for range 2 {
				noerr.Must(t, noerr.From(rn.lookInList(t.Context())))
			}
			after, err := rn.Job(t.Context(), job.ID)
			if steps := texts(t, rn, job.ID); err != nil || looks != 1 || after.State != model.JobMayHave || steps[len(steps)-1] != "no webhook came in time, and "+c.says {
				t.Errorf("%d looks, %s, %q, %v", looks, after.State, steps, err)
			}
		})
	}
}

// A look that does not come to its end leaves the job as it was: it is made again, and nothing is said of it.
func TestALookInTheListThatIsCutShortIsMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		during func(rn *Runner, id string) error
		says   string
	}{
		"the process ends": {func(*Runner, string) error { return errors.New("cancelled") }, "waits 30m0s for its webhook; nothing is sent"},
		"it is settled": {func(rn *Runner, id string) error {
			_, err := rn.Settler().NotStarted(t.Context(), id)
			return err
		}, "marked as not started by a person"},
		"its webhook is waited for again": {func(rn *Runner, id string) error {
			_, err := rn.Settler().AwaitWebhook(t.Context(), id)
			return err
		}, "waits 30m0s for its webhook; nothing is sent"},
	} {
		t.Run(name, func(t *testing.T) {
			rn, _ := script(t, text(200, `{"status":"running"}`))
			now := time.Now().Truncate(time.Second)
			rn.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
			job := mayHave(t, rn, testToken)
			noerr.Must(t, noerr.From(rn.Settler().AwaitWebhook(t.Context(), job.ID)))
			now = now.Add(model.WebhookWait)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			rn.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
				now = now.Add(time.Second)
				if err := c.during(rn, job.ID); err != nil {
					cancel()
					return nil, 0, err
				}
				return nil, 0, nil
			})
			if _, err := rn.lookInList(ctx); (err != nil) != (ctx.Err() != nil) {
				t.Error(err)
			}
			after, err := rn.Job(t.Context(), job.ID)
			if steps := texts(t, rn, job.ID); err != nil || after.WebhookDue.IsZero() || steps[len(steps)-1] != c.says {
				t.Errorf("due %s, %q, %v", after.WebhookDue, steps, err)
			}
		})
	}
}

// The service's list may be slow to come: meanwhile jobs are followed.
func TestJobsAreFollowedWhileTheListIsLookedAt(t *testing.T) {
	rn, _ := script(t, text(200, `{"status":"running"}`))
	lost, now := mayHave(t, rn, testToken), time.Now()
	rn.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
	noerr.Must(t, noerr.From(rn.Settler().AwaitWebhook(t.Context(), lost.ID)))
	now = now.Add(model.WebhookWait)
	followed := make(chan struct{})
	rn.cfg.List = remoteList(func(ctx context.Context, _, _ string, _ int) ([]model.RemoteJob, int, error) {
		select {
		case <-followed:
		case <-ctx.Done():
		}
		return nil, 0, nil
	})
	running := accepted(t, rn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var order []string
	if err := rn.Follow(ctx, func(f Followed) {
		switch f.Job.ID {
		case running.ID:
			if len(order) == 0 {
				order = append(order, f.Job.ID)
				close(followed)
			}
		case lost.ID:
			order = append(order, f.Job.ID)
			cancel()
		}
	}); err != nil || !slices.Equal(order, []string{running.ID, lost.ID}) {
		t.Errorf("%q, %v", order, err)
	}
}

func TestTwoProcessesNeverLookInTheListAtOnce(t *testing.T) {
	rn, _ := script(t, text(200, `{"status":"running"}`))
	other := New(rn.cfg)
	lost, now := mayHave(t, rn, testToken), time.Now()
	for _, r := range []*Runner{rn, other} {
		r.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
	}
	noerr.Must(t, noerr.From(rn.Settler().AwaitWebhook(t.Context(), lost.ID)))
	now = now.Add(model.WebhookWait)
	running := accepted(t, rn)
	var looks atomic.Int32
	looking, both := make(chan struct{}), make(chan struct{})
	list := func(ctx context.Context, _, _ string, _ int) ([]model.RemoteJob, int, error) {
		if looks.Add(1) == 1 {
			close(looking)
		}
		select {
		case <-both:
		case <-ctx.Done():
		}
		return nil, 0, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var following sync.WaitGroup
	var told atomic.Int32 // of both, that the look came to its end
	follow := func(r *Runner, on func(Followed)) {
		r.cfg.List = remoteList(list)
		following.Go(func() {
			noerr.Want(t, r.Follow(ctx, func(f Followed) {
				if on(f); f.Job.ID == lost.ID && told.Add(1) == 2 {
					cancel()
				}
			}))
		})
	}
	follow(rn, func(Followed) {})
	select {
	case <-looking:
	case <-ctx.Done():
	}
	var joined sync.Once
	follow(other, func(f Followed) {
		if f.Job.ID == running.ID {
			joined.Do(func() { close(both) })
		}
	})
	following.Wait()
	if looks.Load() != 1 || told.Load() != 2 {
		t.Errorf("%d looks, told %d times", looks.Load(), told.Load())
	}
}

// A process without the job's key leaves the look to one that has it, for some time.
func TestTheLookInTheListIsLeftToAProcessThatHasTheKey(t *testing.T) {
	rn, _ := script(t, text(200, `{"status":"running"}`))
	locked := errors.New("the key is locked")
	rn.cfg.Source = servicetest.Source{Base: rn.cfg.Source, SecretBy: func(context.Context, string) (keystore.Secret, error) { return keystore.Secret{}, locked }}
	rn.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) { return nil, 0, locked })
	job, now := mayHave(t, rn, testToken), time.Now()
	rn.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
	noerr.Must(t, noerr.From(rn.Settler().AwaitWebhook(t.Context(), job.ID)))
	now = now.Add(model.WebhookWait)
	if again, err := rn.lookInList(t.Context()); err != nil || again != notMine {
		t.Errorf("again in %s, %v", again, err)
	}
	if got, err := rn.Job(t.Context(), job.ID); err != nil || got.WebhookDue.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	now = now.Add(leftToOthers)
	noerr.Want(t, noerr.From(rn.lookInList(t.Context())))
	if steps := texts(t, rn, job.ID); steps[len(steps)-1] != "no webhook came in time, and what the service's list has is not known: the key is locked" {
		t.Errorf("%q", steps)
	}
}
