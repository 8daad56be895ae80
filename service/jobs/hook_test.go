package jobs

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
)

const hookToken = "tokentokentokento"

// awaiting is an accepted job that waits for its webhook until a time.
func awaiting(t *testing.T, rn *Runner, due time.Time) model.Job {
	t.Helper()
	job, err := rn.cfg.Ledger.Begin(t.Context(), model.Job{Profile: "test", Dataset: "d", KeyName: "batch-user", Inputs: 3, Done: -1, Records: -1, Hook: hookToken}, "", nil)
	if err == nil {
		job, err = rn.cfg.Ledger.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.State, job.Snapshot, job.Accepted, job.HookDue = model.JobAccepted, "sd_1", rn.cfg.Now(), due
			return "", nil
		})
	}
	noerr.Must(t, err)
	return job
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

func TestAJobIsNotAskedForBeforeItsWebhookIsDue(t *testing.T) {
	rn, asked := script(t, text(200, `{"status":"ready"}`))
	now := time.Now().Truncate(time.Second)
	rn.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
	rn.watching.everyJob, rn.watching.calls = callers{all: 1}, map[string]jobCall{}
	job := awaiting(t, rn, now.Add(20*time.Second))
	before := texts(t, rn, job.ID)
	for _, want := range []time.Duration{hookLookLocal, 5 * time.Second} {
		left, err := rn.ask(t.Context(), work.Item{Key: job.ID})
		if err != nil || left != want || asked.Load() != 0 || !slices.Equal(texts(t, rn, job.ID), before) {
			t.Errorf("again in %s, want %s; %v after %d questions", left, want, err, asked.Load())
		}
		now = now.Add(hookLookLocal)
	}
	now = now.Add(hookLookLocal)
	if _, err := rn.ask(t.Context(), work.Item{Key: job.ID}); err != nil || asked.Load() != 1 {
		t.Errorf("when it is due: %v after %d questions", err, asked.Load())
	}
	job, err := rn.Job(t.Context(), job.ID)
	if err != nil || job.State != model.JobReady || !job.HookDue.IsZero() || !strings.Contains(strings.Join(texts(t, rn, job.ID), "|"), "no webhook came in time") {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAWebhookThatIsNobodysChangesNothing(t *testing.T) {
	rn, asked := script(t, text(200, `{"status":"running"}`))
	job := awaiting(t, rn, time.Now().Add(time.Hour))
	before := texts(t, rn, job.ID)
	for _, forged := range []model.HookNews{{Snapshot: "sd_1"}, {Snapshot: "sd_1", Token: hookToken + "x"}} {
		forged.Delivery, forged.How = "hook-1", "unverified"
		got, said, err := rn.Heard(t.Context(), forged)
		if err != nil || got.ID != job.ID || !strings.HasPrefix(said, "nothing was done") {
			t.Errorf("%+v: %s, %q, %v", forged, got.ID, said, err)
		}
	}
	job, err := rn.Job(t.Context(), job.ID)
	if err != nil || job.HookDue.IsZero() || !slices.Equal(texts(t, rn, job.ID), before) || asked.Load() != 0 {
		t.Errorf("%+v, %v", job, err)
	}
	for i, real := range []model.HookNews{{Token: hookToken, How: "unverified"}, {Snapshot: "sd_1", How: "verified by it", Verified: true}} {
		real.Delivery = "hook-" + string(rune('2'+i))
		if _, said, err := rn.Heard(t.Context(), real); err != nil || said != "the service is asked for the job's state" {
			t.Errorf("%+v: %q, %v", real, said, err)
		}
		if all := texts(t, rn, job.ID); !slices.Contains(all, "webhook "+real.Delivery+" came ("+real.How+")") {
			t.Errorf("%q", all)
		}
	}
	if job, err = rn.Job(t.Context(), job.ID); err != nil || !job.HookDue.IsZero() {
		t.Errorf("%+v, %v", job, err)
	}
}

// TestAWebhookWithoutAnAddressOfItsOwn is one of a job whose webhooks an operator has sent to the
// inbox: it is known by its identifier alone.
func TestAWebhookWithoutAnAddressOfItsOwn(t *testing.T) {
	rn, _ := script(t, text(200, `{"status":"ready"}`))
	job := accepted(t, rn)
	before := texts(t, rn, job.ID)
	_, said, err := rn.Heard(t.Context(), model.HookNews{Delivery: "hook-1", Snapshot: "sd_1", How: "unverified"})
	if err != nil || said != "the service is asked for the job's state" || !slices.Equal(texts(t, rn, job.ID), before) {
		t.Errorf("%q, %v, %q", said, err, texts(t, rn, job.ID))
	}
	noerr.Must(t, noerr.From(rn.cfg.Ledger.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
		job.State = model.JobReady
		return "", nil
	})))
	before = texts(t, rn, job.ID)
	_, said, err = rn.Heard(t.Context(), model.HookNews{Delivery: "hook-2", Snapshot: "sd_1", How: "verified by it", Verified: true})
	if err != nil || !strings.HasSuffix(said, "already") || !slices.Equal(texts(t, rn, job.ID), before) {
		t.Errorf("%q, %v, %q", said, err, texts(t, rn, job.ID))
	}
}

// TestAWebhookForAJobThatIsBeingSent waits for the answer to the trigger, unless nobody does any
// more.
func TestAWebhookForAJobThatIsBeingSent(t *testing.T) {
	rn, _ := script(t, text(200, `{"status":"ready"}`))
	sending := model.Job{Profile: "test", Dataset: "d", KeyName: "batch-user", Inputs: 1, Done: -1, Records: -1, Hook: hookToken}
	noerr.Must(t, noerr.From(rn.cfg.Ledger.Begin(t.Context(), sending, "", nil)))
	news := model.HookNews{Delivery: "hook-1", Token: hookToken}
	if _, _, err := rn.Heard(t.Context(), news); !errors.Is(err, ErrOnItsWay) {
		t.Errorf("%v", err)
	}
	other, _, err := ledger.Open(t.Context(), rn.cfg.Ledger.Path(), time.Now)
	noerr.Must(t, err)
	sending.Hook, news.Token = "other"+hookToken, "other"+hookToken
	dead, err := other.Begin(t.Context(), sending, "", nil)
	if err = errors.Join(err, other.Close()); err != nil {
		t.Fatal(err)
	}
	if job, said, err := rn.Heard(t.Context(), news); err != nil || job.ID != dead.ID || job.State != model.JobNotSent || !strings.Contains(said, "that was not sent") ||
		!slices.Contains(texts(t, rn, dead.ID), "webhook hook-1 came ()") {
		t.Errorf("%+v, %q, %v", job, said, err)
	}
}
