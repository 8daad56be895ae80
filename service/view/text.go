package view

import (
	"time"

	"zonedeck/service/rules"
	"zonedeck/service/saved"
)

// Text is what a command prints that has no more to say than a text (docs/schema/text.json).
type Text struct {
	SchemaVersion Version `json:"schema_version"`
	Text          string  `json:"text"`
}

// Rule is one of the operator's rules (docs/schema/rules.json).
type Rule struct {
	Name     string   `json:"name"`
	Place    string   `json:"place" jsonschema:"file and line"`
	Class    string   `json:"class"`
	Cause    string   `json:"cause"`
	Profiles []string `json:"profiles" jsonschema:"empty means all"`
	Reason   string   `json:"reason"`
}

// SavedRequest is one saved request in "saved list --json" (docs/schema/saved.json).
type SavedRequest struct {
	Name      string   `json:"name" jsonschema:"with its folders, as in shop/de/cart"`
	Updated   string   `json:"updated" format:"date-time"`
	Zone      string   `json:"zone"`
	URL       string   `json:"url"`
	Via       string   `json:"via"`
	Variables []string `json:"variables" jsonschema:"names of the variables in its texts"`
	Problem   string   `json:"problem,omitempty" jsonschema:"why the file cannot be opened"`
}

// Rules are what "rules --json" prints (docs/schema/rules.json).
type Rules struct {
	SchemaVersion Version `json:"schema_version"`
	Rules         []Rule  `json:"rules"`
}

// NewRules are the operator's rules.
func NewRules(all []rules.Rule) Rules {
	return Rules{Rules: each(all, func(r rules.Rule) Rule {
		return Rule{r.Name, r.Place, string(r.Class), string(r.Cause), list(r.Profiles), r.Reason}
	})}
}

// SavedRequests are what "saved list --json" prints (docs/schema/saved.json).
type SavedRequests struct {
	SchemaVersion Version        `json:"schema_version"`
	Requests      []SavedRequest `json:"requests"`
}

// NewSavedRequests are saved requests.
func NewSavedRequests(all []saved.Entry) SavedRequests {
	return SavedRequests{Requests: each(all, func(e saved.Entry) SavedRequest {
		return SavedRequest{
			Name: e.Name, Updated: e.Changed.UTC().Format(time.RFC3339), Zone: string(e.Request.Zone.Name),
			URL: e.Request.URL, Via: string(e.Request.Via), Variables: list(e.Request.Variables()), Problem: e.Problem,
		}
	})}
}

// Build is what "version --json" prints (docs/schema/version.json).
type Build struct {
	Arch          string  `json:"arch"`
	Commit        string  `json:"commit,omitempty"`      // as in git; unknown to a build that "go run" made
	CommitTime    string  `json:"commit_time,omitempty"` // RFC 3339
	Go            string  `json:"go"`
	OS            string  `json:"os"`
	SchemaVersion Version `json:"schema_version"`
	Version       string  `json:"version"`
}

// Paths are what "paths --json" prints (docs/schema/paths.json).
type Paths struct {
	Batches         string  `json:"batches"`
	Bodies          string  `json:"bodies"`
	Config          string  `json:"config"`
	Contracts       string  `json:"contracts"`
	Downloads       string  `json:"downloads"`
	Drift           string  `json:"drift"`
	Emulator        string  `json:"emulator"`
	EmulatorRunning string  `json:"emulator_running"`
	Filters         string  `json:"filters"`
	Inbox           string  `json:"inbox"`
	Journal         string  `json:"journal"`
	Keys            string  `json:"keys"`
	Ledger          string  `json:"ledger"`
	Log             string  `json:"log"`
	Requests        string  `json:"requests"`
	Rotations       string  `json:"rotations"`
	Rules           string  `json:"rules"`
	SchemaVersion   Version `json:"schema_version"`
	Secrets         string  `json:"secrets"`
	Webhooks        string  `json:"webhooks"`
	Work            string  `json:"work"`
}
