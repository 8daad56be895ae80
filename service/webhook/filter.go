package webhook

import (
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/query"
)

// Filter narrows the inbox. The zero value lets every webhook pass.
type Filter = query.Query[Candidate]

// Candidate is a webhook as a filter sees it.
type Candidate struct {
	model.Webhook
	dataset string // of its job, or empty
}

// noJob stands for no job in a filter.
const noJob = "-"

// Fields are the fields that a filter can ask about. job:- means no job.
func Fields(now time.Time) query.Fields[Candidate] {
	verdicts := []string{string(model.WebhookPending), string(model.WebhookVerified), string(model.WebhookUnverified), string(model.WebhookRejected)}
	return query.Fields[Candidate]{
		query.SearchText(func(c Candidate) string {
			return strings.ToLower(strings.Join([]string{
				c.ID, c.Target, c.Remote, c.SenderID, string(c.Verdict), c.Reason, c.Job, c.Snapshot, c.CameOf(), c.JobState.Label(),
			}, "\n"))
		}),
		query.Enum("verdict", "rejected", verdicts, func(c Candidate) []string { return []string{string(c.Verdict)} }).In("verdict"),
		query.Text("from", "192.0.2.", func(c Candidate) string { return c.Remote }).In("remote"),
		query.List("job", "job-3", func(c Candidate) []string { return []string{c.Job, c.Snapshot} }).In("job", "snapshot"),
		query.Text("dataset", "gd_products", func(c Candidate) string { return c.dataset }),
		query.Since(func(c Candidate) time.Time { return c.Last }, func(Candidate) time.Time { return now }).In("last"),
	}
}

// ParseFilter parses what an operator types.
func ParseFilter(s string, now time.Time) (Filter, error) { return query.Parse(s, Fields(now)) }
