package jobs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

// mayHave is a job of the ledger that may have started, with an address of the inbox or none.
func mayHave(t *testing.T, rn *Runner, hook string) model.Job {
	t.Helper()
	job, err := rn.cfg.Ledger.Begin(t.Context(), model.Job{Profile: "test", Dataset: "d", KeyName: "batch-user", Inputs: 3, Done: -1, Records: -1, Hook: hook}, "", nil)
	if err == nil {
		job, err = rn.cfg.Ledger.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.State = model.JobMayHave
			return "it broke", nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func TestTheWebhookOfAJobThatMayHaveStartedIsWaitedForUntilADeadline(t *testing.T) {
	rn, asked := script(t, text(200, `{"status":"ready"}`))
	now := time.Now().Truncate(time.Second)
	rn.cfg.Now = func() time.Time { return now }
	lost := func(hook string) model.Job { return mayHave(t, rn, hook) }
	if _, err := rn.AwaitHook(t.Context(), lost("").ID); !errors.Is(err, ErrNoHook) {
		t.Errorf("without an address: %v", err)
	}
	job, err := rn.AwaitHook(t.Context(), lost(hookToken).ID)
	if err != nil || !job.HookDue.Equal(now.Add(model.HookDue)) || asked.Load() != 0 {
		t.Fatalf("%+v, %v after %d questions", job, err, asked.Load())
	}
	// The watch writes down once that it did not come.
	for _, c := range []struct {
		after time.Duration
		told  int
	}{{model.HookDue - time.Second, 0}, {time.Second, 1}, {time.Hour, 0}} {
		now = now.Add(c.after)
		var told []Followed
		f := follower{rn: rn, profile: "test", seen: map[string]Followed{}, on: func(e Followed) {
			if e.Job.ID != "" {
				told = append(told, e)
			}
		}}
		if err := f.look(t.Context()); err != nil || len(told) != c.told {
			t.Errorf("after %s: %v, %v", c.after, told, err)
		}
		for _, e := range told {
			if e.On || e.Job.ID != job.ID || e.Job.State != model.JobMayHave || !e.Job.HookDue.IsZero() {
				t.Errorf("%+v", e)
			}
		}
	}
	steps := texts(t, rn, job.ID)
	if want := []string{
		"waits 30m0s for its webhook; nothing is sent", "no webhook came in time: the service's list is looked at",
		"what the service's list has is not known: the service's list of jobs cannot be asked for",
	}; !slices.Equal(steps[len(steps)-3:], want) {
		t.Errorf("%q", steps)
	}
	// One that comes in time settles it.
	if _, err := rn.AwaitHook(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	settled, said, err := rn.Heard(context.WithoutCancel(t.Context()), model.HookNews{Delivery: "hook-1", Token: hookToken, Snapshot: "sd_1"})
	if err != nil || settled.State != model.JobReady || !settled.HookDue.IsZero() || !strings.Contains(said, "answered for sd_1") {
		t.Errorf("%+v, %q, %v", settled, said, err)
	}
	if _, err := rn.AwaitHook(t.Context(), job.ID); !errors.Is(err, ErrSettled) {
		t.Errorf("a job that is settled: %v", err)
	}
}

// Where the service has a list it is looked at once, and what it has is written down and not taken.
func TestTheListIsLookedAtWhereNoWebhookCame(t *testing.T) {
	for name, c := range map[string]struct {
		began []time.Duration // after the job was written down; those without a time are negative
		says  string
	}{
		"none":  {nil, "no job that was seen in the service's list can be it"},
		"other": {[]time.Duration{24 * time.Hour}, "no job that was seen in the service's list can be it"},
		"one":   {[]time.Duration{time.Second}, "sd_0 of the service's list can be it: adopt it if it is"},
		"two":   {[]time.Duration{time.Minute, time.Second}, "2 jobs of the service's list can be it, sd_1 first: adopt the one that it is"},
		"cut":   {[]time.Duration{-1}, "what the service's list has is not known: " + ErrListCut.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			rn, _ := script(t, text(200, `{"status":"running"}`))
			now := time.Now()
			rn.cfg.Now = func() time.Time { return now }
			job := mayHave(t, rn, hookToken)
			looks := 0
			rn.cfg.List = func(context.Context, string, string, int) (list []model.RemoteJob, skipped int, err error) {
				looks++
				for i, after := range c.began {
					remote := model.RemoteJob{Snapshot: "sd_" + strconv.Itoa(i)}
					if after >= 0 {
						remote.Created = job.Created.Add(after)
					}
					list = append(list, remote)
				}
				return list, 0, nil
			}
			if _, err := rn.AwaitHook(t.Context(), job.ID); err != nil {
				t.Fatal(err)
			}
			now = now.Add(model.HookDue)
			for range 2 {
				if err := rn.endWaits(t.Context(), "test", func(model.Job) {}); err != nil {
					t.Fatal(err)
				}
			}
			after, err := rn.Job(t.Context(), job.ID)
			if steps := texts(t, rn, job.ID); err != nil || looks != 1 || after.State != model.JobMayHave || steps[len(steps)-1] != c.says {
				t.Errorf("%d looks, %s, %q, %v", looks, after.State, steps, err)
			}
		})
	}
}
