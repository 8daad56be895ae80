package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/exchange"
	"zonedeck/service/ledger"
)

// How often a job that waits for its webhook is looked at, so that one that came meanwhile is not
// missed. Each look is a write. The emulator's clock may be moved meanwhile.
const (
	webhookLook      = 5 * time.Minute
	webhookLookLocal = 15 * time.Second
)

// ErrOnItsWay says that the trigger of a job is still on its way, so that a webhook for it has to wait.
var ErrOnItsWay = errors.New("the trigger of the job is still on its way")

// webhookToken is the token of the inbox's address in a request, or "".
func webhookToken(s model.JobSettings) string {
	return cmp.Or(model.WebhookToken(s.Notify), model.WebhookToken(s.Endpoint))
}

// webhookDue is until when the webhook of a job that begins now is waited for; zero if none comes to the
// inbox.
func (rn *Runner) webhookDue(token string) time.Time {
	if token == "" {
		return time.Time{}
	}
	var wait time.Duration
	if rn.cfg.Webhooks != nil {
		wait = rn.cfg.Webhooks.WebhookDue()
	}
	return rn.cfg.Now().Add(cmp.Or(wait, model.WebhookWait))
}

// awaits is how long a job goes on waiting for its webhook before it is looked at again, 0 if it does not
// wait. A wait in vain is recorded once.
func (rn *Runner) awaits(ctx context.Context, job model.Job) (model.Job, time.Duration, error) {
	if job.WebhookDue.IsZero() {
		return job, 0, nil
	}
	if left := job.WebhookDue.Sub(rn.cfg.Now()); left > 0 {
		look := webhookLook
		p, _, err := exchange.Current(ctx, rn.cfg.Source)
		if err == nil && p.Local {
			look = webhookLookLocal
		}
		return job, min(left, look), err
	}
	job, err := rn.endWait(ctx, job, "no webhook came in time: the service is asked from now on")
	return job, 0, err
}

// ErrNoAddress says that no webhook comes to the inbox for a job.
var ErrNoAddress = errors.New("the service was given no address of the inbox with the job, so that no webhook comes for it")

// AwaitWebhook waits once more for the webhook of a job that may have started: one that comes to its
// address settles it (see HandleWebhook). Nothing is sent. If none comes in time, whoever follows jobs
// records that.
//
// Errors: ErrNoAddress, ErrSettled, ErrUnknownJob, the ledger's.
func (st Settler) AwaitWebhook(ctx context.Context, id string) (model.Job, error) {
	job, err := st.toSettle(ctx, id)
	if err == nil && job.WebhookToken == "" {
		err = fmt.Errorf("job %s: %w", job.ID, ErrNoAddress)
	}
	if err != nil {
		return job, err
	}
	return st.rn.change(ctx, job.ID, func(row *model.Job) (note, error) {
		if row.State != model.JobMayHave {
			return note{}, fmt.Errorf("job %s %s: %w", row.ID, row.State.Predicate(), ErrSettled)
		}
		row.WebhookDue = st.rn.webhookDue(row.WebhookToken)
		wait := row.WebhookDue.Sub(st.rn.cfg.Now()).Round(time.Second)
		return note{step: fmt.Sprintf("waits %s for its webhook; nothing is sent", wait), entry: fmt.Sprintf("%s %s: waits %s for its webhook", row.ID, row.Dataset, wait)}, nil
	})
}

// listKey names the item of a lane for which the service's list is searched for jobs that may have started and
// whose webhook did not come in time. Like a job, it is worked on by one process at a time.
const listKey = "list"

const (
	// listTimeout bounds one look. The lease of work.Queue is longer.
	listTimeout = 35 * time.Second
	// leftToOthers is for how long a process without a job's key leaves the look to one that has it.
	leftToOthers = 2 * time.Minute
)

// lookInList is the work.Handler of listKey.
func (rn *Runner) lookInList(ctx context.Context) (again time.Duration, err error) {
	p, _, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return 0, err
	}
	due, err := rn.cfg.Ledger.WebhooksDue(ctx, p.Name, rn.cfg.Now())
	if err != nil || len(due) == 0 {
		return 0, err
	}
	for _, job := range due {
		ctx, _ := rn.watching.claim(ctx, job)
		if rn.cfg.Now().Sub(job.WebhookDue) < leftToOthers && !rn.hasKey(ctx, p, job) {
			continue
		}
		if job, err = rn.endDueWait(ctx, job); err == nil {
			rn.watching.publish(job, nil)
		}
		return lookIdle, err
	}
	return notMine, nil
}

// hasKey reports whether this process has a job's key. A key that it could not get is not looked up again
// for a while.
func (rn *Runner) hasKey(ctx context.Context, p model.Profile, job model.Job) bool {
	w := &rn.watching
	if w.lackedKey(job.ID) {
		return false
	}
	_, _, err := exchange.KeyFor(ctx, rn.cfg.Source, p, rn.Settler().keyOf(job))
	if err != nil && ctx.Err() == nil {
		rn.watching.lacks(job, err)
	}
	return err == nil
}

// endDueWait looks in the service's list for a job that is due. Only then it records what it saw and that the wait is
// over, so that a look that does not finish is made again. It adopts no job: that is for a person to decide.
func (rn *Runner) endDueWait(ctx context.Context, due model.Job) (job model.Job, err error) {
	inner, cancel := context.WithTimeoutCause(ctx, listTimeout, exchange.ErrTimeout)
	defer cancel()
	found, err := rn.Settler().Candidates(inner, due.ID)
	said := "no job in the service's list matches it"
	switch {
	case errors.Is(err, ErrSettled):
		return due, nil
	case context.Cause(ctx) != nil:
		return due, context.Cause(ctx)
	case err != nil:
		said = line("what the service's list has is not known: " + exchange.Explain(err))
	case len(found) == 1:
		said = fmt.Sprintf("%s in the service's list may be it: adopt it if it is", found[0].Snapshot)
	case len(found) > 1:
		said = fmt.Sprintf("%d jobs in the service's list may be it, %s first: adopt the one that it is", len(found), found[0].Snapshot)
	}
	job, err = rn.change(context.WithoutCancel(ctx), due.ID, func(row *model.Job) (note, error) {
		if row.State != model.JobMayHave || !row.WebhookDue.Equal(due.WebhookDue) { // somebody was faster
			return note{}, ErrSettled
		}
		row.WebhookDue = time.Time{}
		step := "no webhook came in time, and " + said
		return note{step: step, entry: row.ID + " " + row.Dataset + ": " + step}, nil
	})
	if errors.Is(err, ErrSettled) {
		return due, nil
	}
	return job, err
}

// endWait ends the wait for a webhook. It changes nothing if there is no wait.
func (rn *Runner) endWait(ctx context.Context, job model.Job, why string) (model.Job, error) {
	if job.WebhookDue.IsZero() {
		return job, nil
	}
	return rn.change(context.WithoutCancel(ctx), job.ID, func(row *model.Job) (note, error) {
		if row.WebhookDue.IsZero() {
			return note{}, nil
		}
		row.WebhookDue = time.Time{}
		return note{step: why, entry: row.ID + " " + row.Dataset + ": " + why}, nil
	})
}

// HandleWebhook tells a job about its webhook, and has whoever follows jobs ask the service: nothing that a
// webhook says is believed. A job with an address of its own is told only of webhooks that came there
// or are verified; other people's never enter a job's history. A job that may have started is settled
// by a webhook to its own address that names an identifier, once the service has answered for that
// identifier. It returns the job, and in words what came of it.
//
// Errors: ErrUnknownJob (no job is waiting for it), ErrOnItsWay, the ledger's, ctx's.
func (rn *Runner) HandleWebhook(ctx context.Context, news model.WebhookNews) (job model.Job, said string, err error) {
	defer rn.cfg.Wire.Begin()()
	if job, err = rn.JobOfWebhook(ctx, news); err != nil {
		return job, "", err
	}
	if onItsWay(job) { // or its process has died
		if _, err := rn.Recover(ctx); err != nil {
			return job, "", err
		}
		if job, err = rn.Job(ctx, job.ID); err == nil && onItsWay(job) {
			err = ErrOnItsWay
		}
		if err != nil {
			return job, "", err
		}
	}
	known := news.Verified || news.Token != "" && news.Token == job.WebhookToken
	switch {
	case known && job.State == model.JobNotSent: // as an operator said, or as it looked
		job, err = rn.noteWebhook(ctx, job, news)
		return job, "it came to the address of a job that was not sent: look for that in the service's list", err
	case job.State.Final() && !job.Forgotten():
		return job, "the job " + job.State.Predicate() + " already", nil
	case !known && job.WebhookToken != "":
		return job, "nothing was done: the job has an address of its own, it came to another one, and nothing verifies it", nil
	case known:
		if job, err = rn.noteWebhook(ctx, job, news); err != nil {
			return job, "", err
		}
	}
	if job.State == model.JobMayHave {
		return rn.settleByWebhook(ctx, job, news)
	}
	if job, err = rn.AskNow(ctx, job.ID); err != nil {
		return job, "the service was not asked: " + line(err.Error()), nil
	}
	if job.State.Final() {
		return job, "the service was asked: the job " + job.State.Predicate(), nil
	}
	return job, model.WebhookAsked, nil
}

func onItsWay(job model.Job) bool {
	return job.State == model.JobIntent || job.State == model.JobSending
}

// JobOfWebhook is the job that a webhook is about: the job of its address, or else of the identifier
// that it names. Errors: ErrNoLedger, ErrUnknownJob, the ledger's.
func (rn *Runner) JobOfWebhook(ctx context.Context, news model.WebhookNews) (model.Job, error) {
	if err := rn.writable(); err != nil {
		return model.Job{}, err
	}
	job, err := rn.cfg.Ledger.JobOfToken(ctx, news.Token)
	if errors.Is(err, database.ErrNotFound) {
		job, err = rn.cfg.Ledger.OfSnapshot(ctx, news.Snapshot)
	}
	return job, ledgerFault(err)
}

// noteWebhook records that a webhook came, once for each webhook, and ends the wait.
func (rn *Runner) noteWebhook(ctx context.Context, job model.Job, news model.WebhookNews) (model.Job, error) {
	step := fmt.Sprintf("webhook %s came (%s)", news.ID, news.How)
	if slices.ContainsFunc(job.Steps, func(s model.JobStep) bool { return s.Text == step }) {
		return rn.endWait(ctx, job, step)
	}
	return rn.change(context.WithoutCancel(ctx), job.ID, func(row *model.Job) (note, error) {
		row.WebhookDue = time.Time{}
		return note{step: step, entry: row.ID + " " + row.Dataset + ": " + step}, nil
	})
}

// settleByWebhook gives a job that may have started the identifier that a webhook to its own address
// names, unless something speaks against it.
func (rn *Runner) settleByWebhook(ctx context.Context, job model.Job, news model.WebhookNews) (model.Job, string, error) {
	if news.Snapshot == "" {
		return job, "the job did start, by the webhook to its address, which names no identifier: look for it in the service's list", nil
	}
	settled, err := rn.Settler().Claim(ctx, job.ID, news.Snapshot, false)
	doubt, taken := (*DoubtError)(nil), (*ledger.TakenError)(nil)
	switch {
	case err == nil:
		return settled, "the service answered for " + news.Snapshot + ": the job " + settled.State.Predicate(), nil
	case ctx.Err() != nil:
		return job, "", context.Cause(ctx)
	case errors.As(err, &doubt), errors.As(err, &taken):
		return job, "not settled: " + line(err.Error()), nil
	default:
		return job, "not settled, because the service did not answer for " + news.Snapshot + ": " + line(exchange.Explain(err)), nil
	}
}
