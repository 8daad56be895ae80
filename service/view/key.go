package view

import (
	"cmp"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/service/radius"
)

// Key is one key (docs/schema/keys.json). Days are null where unknown.
type Key struct {
	Name             string   `json:"name"`
	Profile          string   `json:"profile" jsonschema:"The profile that the key comes with; empty for one of the inventory, which serves every profile, and for that of ZONEDECK_API_KEY."`
	Level            string   `json:"level" enum:"ADMIN|FINANCE|LIMIT|OPS|USER|unknown"`
	Duty             string   `json:"duty"`
	Fingerprint      string   `json:"fingerprint" pattern:"^([0-9a-f]{16})?$"`
	Last4            string   `json:"last4"`
	State            string   `json:"state" enum:"due|expired|ok|overdue|soon|unknown|unlimited"`
	Expires          string   `json:"expires"`
	ExpiryState      string   `json:"expiry_state" enum:"expired|expires|unknown|unlimited|valid"`
	ExpiryDaysLeft   *int     `json:"expiry_days_left"`
	Rotated          string   `json:"rotated"`
	RotationState    string   `json:"rotation_state" enum:"due|due soon|fresh|overdue|unknown"`
	RotationDaysLeft *int     `json:"rotation_days_left"`
	RotationInterval int      `json:"rotation_interval_days"`
	Due              bool     `json:"due"`
	Threshold        *int     `json:"threshold_days" enum:"0|1|14|30|7" jsonschema:"the last of 30, 14, 7 and 1 that the key has reached, 0 once a clock has run out; null before"`
	Created          string   `json:"created"`
	FirstSeen        string   `json:"first_seen"`
	LastUsed         string   `json:"last_used"`
	Secret           string   `json:"secret" jsonschema:"the reference, as keys.toml has it"`
	Note             string   `json:"note"`
	UsedBy           []string `json:"used_by"`
	OtherProfiles    []string `json:"other_profiles,omitempty" jsonschema:"The profiles whose key it is, where they are of another account than the profile in use."`
	Rotating         string   `json:"rotating,omitempty" jsonschema:"A rotation of the key that did not come to its end: \"rotating 3 of 9\", or \"given up, two values valid\"."`
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
	ClockSkew     *Skew   `json:"clock_skew" jsonschema:"how far the service's clock is ahead of this machine's, by the Date header of its answer; null where it was not measured, which is without --skew"`
}

// NewKeys are the keys of an audit; within is how long before a date a key counts as due soon.
func NewKeys(audit keys.Audit, within time.Duration) Keys {
	return Keys{Due: audit.Due, Keys: each(audit.Keys, func(k model.Key) Key { return newKey(k, audit, within) })}
}

// newKey is a key at the time of its clocks.
func newKey(k model.Key, audit keys.Audit, within time.Duration) Key {
	now, used := audit.Now(k), audit.Used(k)
	out := Key{
		Name: k.Name, Profile: audit.Origin(k), Level: k.Level.String(), Duty: string(k.Duty), Fingerprint: k.Fingerprint, Last4: k.Last4,
		State: k.State(now, within).String(), Expires: k.Expires.String(),
		ExpiryState: k.Expires.State(now, within).String(), Rotated: "unknown",
		RotationState: k.Rotation.State(now, within).String(), UsedBy: list(keystore.PortableUsers(k)),
		RotationInterval: k.Rotation.Every(), Due: k.DueWithin(now, within), Created: Moment(k.Created), FirstSeen: Moment(used.First), LastUsed: Moment(used.Last),
		Secret: keystore.Portable(k.Secret), Note: k.Note, OtherProfiles: audit.OtherProfiles(k), Rotating: audit.Rotating(k),
		Threshold: known(k.Threshold(now)), ExpiryDaysLeft: known(k.Expires.DaysLeft(now)), RotationDaysLeft: known(k.Rotation.DaysLeft(now)),
	}
	if out.RotationDaysLeft != nil {
		out.Rotated = keystore.FormatMoment(k.Rotation.Last)
	}
	return out
}

// Moment is a moment in JSON and tables, in UTC.
func Moment(t time.Time) string {
	return cmp.Or(moment(t), "unknown")
}

// Skew is how far the service's clock is ahead of this machine's.
type Skew struct {
	Seconds     float64 `json:"seconds"`
	Uncertainty float64 `json:"uncertainty_seconds" jsonschema:"what the measurement leaves open, to either side"`
	MeasuredAt  string  `json:"measured_at"`
	Service     string  `json:"service"`
}

// NewFindings are findings of the lint.
func NewFindings(findings []keystore.Finding) []Finding {
	return each(findings, func(f keystore.Finding) Finding {
		return Finding{Rule: f.Rule, Key: f.Key, Severity: f.Severity, Text: f.Text, Evidence: f.Evidence, Fix: f.Fix, Source: f.Source}
	})
}

// KeyUse is one use of a key (docs/schema/keys-uses.json).
type KeyUse struct {
	Kind        string `json:"kind" enum:"env file|git-tracked file|profile|recorded|running job|saved request"`
	Name        string `json:"name"`
	Place       string `json:"place"`
	Reference   string `json:"reference"`
	Fingerprint string `json:"fingerprint" pattern:"^([0-9a-f]{16})?$"`
	Last4       string `json:"last4"`
	LastSeen    string `json:"last_seen"`
	Measurable  bool   `json:"measurable"`
	Unmeasured  string `json:"unmeasured"`
	Previous    bool   `json:"previous,omitempty" jsonschema:"It has a value of the key beside the present one, which may be valid."`
	Ended       string `json:"ended,omitempty" jsonschema:"When the value that it has was seen to have ended; what reads it there is refused."`
}

// NewKeyUse is a use of a key; ref is its reference as it may be shown.
func NewKeyUse(u radius.Use, ref string) KeyUse {
	return KeyUse{
		Kind: string(u.Kind), Name: u.Name, Place: u.Place, Reference: ref, Fingerprint: u.Fingerprint, Last4: u.Last4,
		LastSeen: Moment(u.LastSeen), Measurable: u.Measurable(), Unmeasured: u.Unmeasured, Previous: u.Previous, Ended: moment(u.Ended),
	}
}

// KeysCheck is what "keys check --json" prints (docs/schema/keys-check.json).
type KeysCheck struct {
	SchemaVersion Version   `json:"schema_version"`
	OK            bool      `json:"ok"`
	ExitCode      int       `json:"exit_code" enum:"0|1|40|41|42"`
	Due           int       `json:"due"`
	Keys          []Key     `json:"keys"`
	Findings      []Finding `json:"findings"`
	ClockSkew     *Skew     `json:"clock_skew" jsonschema:"how far the service's clock is ahead of this machine's, by the Date header of its answer; null where it was not measured, which is without --skew"`
}

// KeysLint is what "keys lint --json" prints (docs/schema/keys-lint.json).
type KeysLint struct {
	SchemaVersion Version   `json:"schema_version"`
	OK            bool      `json:"ok"`
	ExitCode      int       `json:"exit_code" enum:"0|1|42"`
	Keys          int       `json:"keys"`
	Files         int       `json:"files" jsonschema:"Files that were searched for values of keys."`
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
	Skipped       []string `json:"skipped"`
}
