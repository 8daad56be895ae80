package model

import "testing"

func TestHowAWebhookCameOnceMoreIsSaidOnce(t *testing.T) {
	for want, r := range map[string]WebhookRepeat{
		"from 192.0.2.1 ×2, verified by Standard Webhooks":      {Remote: "192.0.2.1", Times: 2, Verdict: WebhookVerified, Reason: "verified by Standard Webhooks"},
		"from 192.0.2.1 ×1, rejected: it has no Authorization":  {Remote: "192.0.2.1", Times: 1, Verdict: WebhookRejected, Reason: "it has no Authorization"},
		"from 192.0.2.1 ×1, unverified: nothing is set up here": {Remote: "192.0.2.1", Times: 1, Verdict: WebhookUnverified, Reason: "nothing is set up here"},
	} {
		if got := r.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatCameOfAWebhookIsWhatTheServiceSaidSince(t *testing.T) {
	for want, d := range map[string]Webhook{
		"by now the job is ready":   {Outcome: WebhookAsked, JobState: JobReady},
		"by now the job has failed": {Outcome: WebhookAsked, JobState: JobFailed},
		WebhookAsked:                {Outcome: WebhookAsked, JobState: JobRunning},
		"no job is waiting for it":  {Outcome: "no job is waiting for it", JobState: JobReady},
	} {
		if got := d.CameOf(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
