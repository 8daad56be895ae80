package service

import (
	"context"
	"errors"

	"zonedeck/model"
	"zonedeck/service/jobs"
	"zonedeck/service/webhook"
)

// HeardWebhook implements webhook.Jobs: it tells the job in the ledger, of any profile. See
// jobs.Runner.Heard.
func (c *Client) HeardWebhook(ctx context.Context, news model.WebhookNews) (job, said string, err error) {
	j, err := c.JobOfWebhook(ctx, news)
	if err == nil {
		j, said, err = c.runnerOf(j.Profile).Heard(ctx, news)
	}
	switch {
	case errors.Is(err, jobs.ErrOnItsWay):
		return j.ID, "", webhook.ErrLater
	case errors.Is(err, jobs.ErrUnknownJob):
		return "", "no job of the ledger waits for it", nil
	default:
		return j.ID, said, err
	}
}
