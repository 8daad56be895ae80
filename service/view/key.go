package view

import (
	"zonedeck/keystore"
)

// Key is one key (docs/schema/keys.json). Days are null where unknown.
type Key struct {
	Name         string   `json:"name"`
	Profile      string   `json:"profile"` // that the key comes with; empty for one of the inventory or the environment
	Level        string   `json:"level"`
	Duty         string   `json:"duty"`
	Fingerprint  string   `json:"fingerprint"`
	Last4        string   `json:"last4"`
	State        string   `json:"state"`
	Expires      string   `json:"expires"`
	ExpiryState  string   `json:"expiry_state"`
	ExpiryDays   *int     `json:"expiry_days_left"`
	Rotated      string   `json:"rotated"`
	Rotation     string   `json:"rotation_state"`
	RotationDays *int     `json:"rotation_days_left"`
	Interval     int      `json:"rotation_interval_days"`
	Due          bool     `json:"due"`
	Threshold    *int     `json:"threshold_days"`
	Created      string   `json:"created"`
	FirstSeen    string   `json:"first_seen"`
	LastUsed     string   `json:"last_used"`
	Secret       string   `json:"secret"`
	Note         string   `json:"note"`
	UsedBy       []string `json:"used_by"`
	Elsewhere    []string `json:"elsewhere,omitempty"` // the profiles whose key it is, where they are of another account
	Rotating     string   `json:"rotating,omitempty"`  // a rotation that did not come to its end: "rotating 3 of 9"
}

// Finding is what the lint finds at a key.
type Finding struct {
	Rule     string `json:"rule"`
	Key      string `json:"key"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Evidence string `json:"evidence"`
	Fix      string `json:"fix"`
	Source   string `json:"source"`
}

// Keys is docs/schema/keys.json.
type Keys struct {
	SchemaVersion Version `json:"schema_version"`
	Due           int     `json:"due"`
	Keys          []Key   `json:"keys"`
	Skew          *Skew   `json:"clock_skew"`
}

// Skew is how far the service's clock is ahead of this machine's.
type Skew struct {
	Seconds float64 `json:"seconds"`
	Give    float64 `json:"give_seconds"` // what the measurement leaves open, to either side
	At      string  `json:"measured_at"`
	Of      string  `json:"service"`
}

// NewFindings are findings of the lint.
func NewFindings(findings []keystore.Finding) []Finding {
	out := make([]Finding, 0, len(findings))
	for _, f := range findings {
		out = append(out, Finding{
			Rule: f.Rule, Key: f.Key, Severity: f.Severity, Text: f.Text, Evidence: f.Evidence, Fix: f.Fix, Source: f.Source,
		})
	}
	return out
}

// KeyUse is one use of a key (docs/schema/keys-uses.json).
type KeyUse struct {
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Where       string `json:"where"`
	Ref         string `json:"ref"`
	Fingerprint string `json:"fingerprint"`
	Last4       string `json:"last4"`
	Seen        string `json:"seen"`
	Measurable  bool   `json:"measurable"`
	Unmeasured  string `json:"unmeasured"`
	Other       bool   `json:"other,omitempty"` // it has a value beside the present one that may be valid
	Ended       string `json:"ended,omitempty"` // when the value that it has was seen to have ended
}

// KeysCheck is what "keys check --json" prints (docs/schema/keys-check.json).
type KeysCheck struct {
	SchemaVersion Version   `json:"schema_version"`
	OK            bool      `json:"ok"`
	ExitCode      int       `json:"exit_code"`
	Due           int       `json:"due"`
	Keys          []Key     `json:"keys"`
	Findings      []Finding `json:"findings"`
	Seconds       *float64  `json:"clock_skew_seconds"`
	Skew          *Skew     `json:"clock_skew"`
}

// KeysLint is what "keys lint --json" prints (docs/schema/keys-lint.json).
type KeysLint struct {
	SchemaVersion Version   `json:"schema_version"`
	OK            bool      `json:"ok"`
	ExitCode      int       `json:"exit_code"`
	Keys          int       `json:"keys"`
	Files         int       `json:"files"`
	Findings      []Finding `json:"findings"`
	Problems      []string  `json:"problems"`
}

// KeyUses are what "keys uses --json" prints (docs/schema/keys-uses.json).
type KeyUses struct {
	SchemaVersion Version  `json:"schema_version"`
	Key           string   `json:"key"`
	Files         int      `json:"files"`
	Uses          []KeyUse `json:"uses"`
	Problems      []string `json:"problems"`
}

// KeysImport is what "keys import --json" prints (docs/schema/keys-import.json).
type KeysImport struct {
	SchemaVersion Version  `json:"schema_version"`
	Added         []string `json:"added"`
	Changed       []string `json:"changed"`
	Left          []string `json:"left"`
}
