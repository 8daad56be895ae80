package service

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/jobs"
	"zonedeck/service/servicetest"
	"zonedeck/service/webhook"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// dueAfter is how long to wait for a webhook.
type dueAfter time.Duration

func (d dueAfter) WebhookDue() time.Duration { return time.Duration(d) }

// hooked is an emulator that signs webhooks, and a receiver that tells its client's jobs.
type webhookRig struct {
	client   *jobs.Jobs
	inbox    *webhook.Inbox
	receiver *webhook.Receiver
	events   chan webhook.Event
}

func (h webhookRig) Received(e webhook.Event)      { h.events <- e }
func (h webhookRig) Refused(model.WebhookRefusals) {}

// receiving begins to receive. Jobs wait until due for a webhook, 0 for the default.
func receiving(t *testing.T, due time.Duration, rules ...fault.Rule) webhookRig {
	t.Helper()
	sc := scenario.Demo()
	sc.WebhookSecret, sc.Faults, sc.PageDelay = webhookSecret, rules, time.Millisecond
	demo := servicetest.Emulator(t, emulator.Options{StateDir: t.TempDir(), Scenario: sc, LoopbackWebhooks: true})
	l, dir := servicetest.Ledger(t)
	h := webhookRig{events: make(chan webhook.Event, 100), client: joined(jobs.Config{
		Source: demo.Source(demo.Profile), Ledger: l, Queues: servicetest.Work(t), DownloadsDir: filepath.Join(dir, "downloads"), Webhooks: dueAfter(due),
	}, time.Now)}
	in, notice, err := webhook.Open(t.Context(), webhook.Options{File: filepath.Join(dir, "webhooks.db"), Dir: filepath.Join(dir, "webhooks"), Clock: servicetest.ClockFunc(time.Now)})
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	v, err := webhook.NewVerifier(webhook.VerifierConfig{Kind: webhook.KindStandard, Secret: keystore.NewSecret(webhookSecret)})
	noerr.Must(t, err)
	h.inbox = in
	h.receiver, err = webhook.Listen(t.Context(), "127.0.0.1:0", false, webhook.Config{
		Inbox: in, Settings: webhook.Settings{Verifiers: []webhook.Verifier{v}}, Jobs: h.client, Observer: h,
	})
	noerr.Must(t, err)
	t.Cleanup(func() {
		noerr.Want(t, h.receiver.Close())
		noerr.Want(t, in.Close())
	})
	return h
}

// next returns the next event of a kind.
func (h webhookRig) next(t *testing.T, duplicate bool) model.Webhook {
	t.Helper()
	end := time.After(time.Minute)
	for {
		select {
		case e := <-h.events:
			if e.Duplicate == duplicate {
				return e.Webhook
			}
		case <-end:
			t.Fatal("no webhook came")
		}
	}
}

// at is a request whose webhooks come to the receiver.
func (h webhookRig) at(r model.TriggerRequest) model.TriggerRequest {
	r.Settings.Notify = model.WebhookAddress(h.receiver.URL(), strings.ToLower(rand.Text()))
	return r
}

// followed returns a job when it is over. Only followers, which wait for a webhook, ask for it.
func (h webhookRig) followed(t *testing.T, id string) model.Job {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	noerr.Must(t, h.client.Follow(ctx, func(f jobs.Followed) {
		if f.Job.ID == id && f.Job.State.Final() {
			end()
		}
	}))
	job, err := h.client.Job(t.Context(), id)
	noerr.Must(t, err)
	return job
}

func stepsOf(job model.Job) (texts []string) {
	for _, s := range job.Steps {
		texts = append(texts, s.Text)
	}
	return texts
}

func TestAWebhookIsKeptVerifiedAndHasTheServiceAsked(t *testing.T) {
	h := receiving(t, 0)
	due := time.Now().Add(model.WebhookWait)
	job, err := h.client.Trigger(t.Context(), h.at(asked("http://lab.test/product/1")))
	if err != nil || job.State != model.JobAccepted || job.WebhookDue.Before(due) {
		t.Fatalf("%+v, %v", job, err)
	}
	d := h.next(t, false)
	raw, err := os.ReadFile(d.File)
	if err != nil || string(raw) != `{"snapshot_id":"`+job.Snapshot+`","status":"ready"}` {
		t.Errorf("%q, %v", raw, err)
	}
	if d.Verdict != model.WebhookVerified || !slices.Equal(d.By, []string{"Standard Webhooks"}) || d.Job != job.ID || d.Snapshot != job.Snapshot ||
		!d.Worked || d.Outcome != "the service is asked for the job's state" {
		t.Errorf("%+v", d)
	}
	if job = h.followed(t, job.ID); job.State != model.JobReady || !job.WebhookDue.IsZero() || !slices.Contains(stepsOf(job), "webhook "+d.ID+" came (verified by Standard Webhooks)") {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAWebhookSettlesAJobThatMayHaveStarted(t *testing.T) {
	h := receiving(t, 0, fault.Rule{
		ID: "lost", Match: fault.Match{Point: fault.API, Path: "*/trigger"}, When: fault.When{Times: 1}, Do: fault.Action{Kind: fault.Drop, Accepted: true},
	})
	job, err := h.client.Trigger(t.Context(), h.at(asked("http://lab.test/product/1")))
	if err != nil || job.State != model.JobMayHave {
		t.Fatalf("%+v, %v", job, err)
	}
	d := h.next(t, false)
	if d.Job != job.ID || d.Outcome != "the service answered for "+d.Snapshot+": the job is ready" {
		t.Errorf("%+v", d)
	}
	job, err = h.client.Job(t.Context(), job.ID)
	if err != nil || job.State != model.JobReady || job.Snapshot != d.Snapshot || d.Snapshot == "" {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAWebhookThatNeverComesTurnsIntoAQuestion(t *testing.T) {
	h := receiving(t, 100*time.Millisecond, fault.Rule{ID: "never", Match: fault.Match{Point: fault.Webhook}, Do: fault.Action{Kind: fault.Never}})
	job, err := h.client.Trigger(t.Context(), h.at(asked("http://lab.test/product/1")))
	if err != nil || job.WebhookDue.IsZero() {
		t.Fatalf("%+v, %v", job, err)
	}
	job = h.followed(t, job.ID)
	if job.State != model.JobReady || !slices.Contains(stepsOf(job), "no webhook came in time: the service is asked from now on") {
		t.Errorf("%+v", job)
	}
}
