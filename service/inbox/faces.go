package inbox

import (
	"time"

	"zonedeck/service/query"
	"zonedeck/service/webhook"
)

// Filter and Head are what faces name of webhooks; see webhook.
type (
	// Filter narrows the inbox.
	Filter = webhook.Filter
	// Head is the beginning of a body.
	Head = webhook.Head
)

// Fields is what webhooks can be asked in a filter.
func Fields(now time.Time) query.Fields[webhook.Candidate] { return webhook.Fields(now) }

// CheckReplay says why webhooks are not sent again to an address, or is nil.
func CheckReplay(to string) error {
	_, err := webhook.ReplayHost(to)
	return err
}
