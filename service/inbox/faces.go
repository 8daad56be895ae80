package inbox

import (
	"time"

	"zonedeck/service/query"
	"zonedeck/service/webhook"
)

// The types of package webhook that user interfaces need.
type (
	// Filter narrows the inbox.
	Filter = webhook.Filter
	// Head is the beginning of a body.
	Head = webhook.Head
)

// Fields are the fields that a filter of webhooks can ask about.
func Fields(now time.Time) query.Fields[webhook.Candidate] { return webhook.Fields(now) }

// CheckReplay returns why webhooks cannot be replayed to an address, or nil.
func CheckReplay(to string) error {
	_, err := webhook.ReplayHost(to)
	return err
}
