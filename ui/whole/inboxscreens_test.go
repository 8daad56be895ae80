package whole

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/servicetest"
	"zonedeck/service/webhook"
	"zonedeck/ui/uitest"
)

const inboxSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// webhookPost is a webhook that comes to a home's inbox.
type webhookPost struct {
	body     string
	verify   bool // its receiver has a check of signatures
	sign     bool
	job      string
	says     string
	fails    error
	unworked bool // its receiver ends before it is worked on
}

// posted is a post whose job hears of it, and which says when it was worked on.
type posted struct {
	webhookPost
	reached chan struct{}
}

func (p posted) Received(webhook.Event)        { p.reached <- struct{}{} }
func (p posted) Refused(model.WebhookRefusals) {}

func (p posted) HeardWebhook(ctx context.Context, _ model.WebhookNews) (job, said string, err error) {
	if p.unworked {
		p.reached <- struct{}{}
		<-ctx.Done()
	}
	return p.job, p.says, p.fails
}

// received has a webhook come to the home's inbox, by a receiver of its own.
func (h *home) received(p webhookPost) {
	h.t.Helper()
	paths := config.FindPaths(func(name string) string { return h.env[name] })
	noerr.Must(h.t, paths.Ensure())
	now := servicetest.ClockFunc(func() time.Time { return h.now })
	in, _, err := webhook.Open(h.t.Context(), webhook.Options{File: paths.InboxFile(), Dir: paths.InboxDir(), Clock: now})
	noerr.Must(h.t, err)
	post := posted{p, make(chan struct{}, 1)}
	c := webhook.Config{Inbox: in, Wall: now, Jobs: post, Observer: post}
	if p.verify {
		v, err := webhook.NewVerifier(webhook.VerifierConfig{Kind: webhook.KindStandard, Secret: keystore.NewSecret(inboxSecret)})
		noerr.Must(h.t, err)
		c.Settings.Verifiers = []webhook.Verifier{v}
	}
	r, err := webhook.Listen(h.t.Context(), "127.0.0.1:0", false, c)
	noerr.Must(h.t, err)
	q, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, model.WebhookAddress(r.URL(), "t0kent0kent0kent0ken"), strings.NewReader(p.body))
	noerr.Must(h.t, err)
	q.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"a service"}, "Authorization": {"Bearer secret"}}
	if p.sign {
		lib, err := standardwebhooks.NewWebhook(inboxSecret)
		noerr.Must(h.t, err)
		signature, err := lib.Sign("msg_1", h.now, []byte(p.body))
		noerr.Must(h.t, err)
		for name, value := range map[string]string{
			standardwebhooks.HeaderWebhookID: "msg_1", standardwebhooks.HeaderWebhookTimestamp: strconv.FormatInt(h.now.Unix(), 10), standardwebhooks.HeaderWebhookSignature: signature,
		} {
			q.Header.Set(name, value)
		}
	}
	resp, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(q)
	if err != nil || resp.StatusCode != http.StatusOK {
		h.t.Fatalf("%+v, %v", resp, err)
	}
	<-post.reached
	noerr.Must(h.t, errors.Join(resp.Body.Close(), r.Close(), in.Close()))
}

// inboxOfAll has a webhook of each state: unverified, failed, verified, rejected, pending.
func inboxOfAll(h *home) {
	for _, p := range []webhookPost{
		{body: `{"snapshot_id":"sd_1","status":"ready"}`, says: "no job is waiting for it"},
		{body: `{"snapshot_id":"sd_2","status":"ready"}`, job: "job-1", fails: errors.New("reading job-1: the file is locked by another process")},
		{body: `{"snapshot_id":"sd_3","status":"ready"}`, verify: true, sign: true, job: "job-2", says: "the service is asked for the job's state"},
		{body: `{"snapshot_id":"sd_3","status":"failed"}`, verify: true},
		{body: `{"snapshot_id":"sd_4","status":"ready"}`, unworked: true},
	} {
		h.received(p)
	}
}

func inboxScreens() []screen {
	inbox := func(p *uitest.Whole) {
		ready(p)
		p.PressFor("2", "[2 Jobs]", "no jobs yet")
		p.PressFor("i", "Webhooks · not receiving")
		p.WaitGone("reading…")
	}
	one := func(down int, texts ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			inbox(p)
			for range down {
				p.Press("down")
			}
			p.PressFor("enter", append(texts, "Authorization: ••••")...) // the headers are read after the rest
			p.WaitGone("reading its bytes")
		}
	}
	return []screen{
		{name: "jobs/inbox-empty", steps: script(inbox, shows("no webhooks yet"))},
		{name: "jobs/inbox-receive", steps: script(inbox, see("s", "Receive webhooks", "Address"))},
		{name: "jobs/inbox-replay", before: inboxOfAll, steps: script(inbox, shows("hook-5"), see("R", "Replay hook-5", "Address"))},
		{name: "jobs/inbox", before: inboxOfAll, steps: script(inbox, shows("hook-1", "hook-5"))},
		{name: "jobs/inbox-filter", before: inboxOfAll, steps: func(p *uitest.Whole) {
			inbox(p)
			p.WaitFor("hook-1", "hook-5")
			p.Press("/")
			p.Type("verdict:unverified")
			p.WaitFor("2 of 5")
		}},
		{name: "jobs/inbox-filtered", before: inboxOfAll, steps: func(p *uitest.Whole) {
			inbox(p)
			p.WaitFor("hook-1", "hook-5")
			p.Press("/")
			p.Type("job:job-2")
			p.PressFor("enter", "1 of 5 · esc shows all")
		}},
		{name: "jobs/inbox-no-match", before: inboxOfAll, steps: func(p *uitest.Whole) {
			inbox(p)
			p.WaitFor("hook-1", "hook-5")
			p.Press("/")
			p.Type("from:192.0.2. since:2h")
			p.PressFor("enter", "0 of 5", "nothing matches")
		}},
		{name: "jobs/inbox-pending", before: inboxOfAll, steps: one(0, "pending")},
		{name: "jobs/inbox-rejected", before: inboxOfAll, steps: one(1, "rejected", "it has no webhook-signature")},
		{name: "jobs/inbox-verified", before: inboxOfAll, steps: one(2, "verified by Standard Webhooks")},
		{name: "jobs/inbox-failed", before: inboxOfAll, steps: one(3, "locked by another process")},
		{name: "jobs/inbox-unverified", before: inboxOfAll, steps: one(4, "no check of the sender is set up")},
	}
}
