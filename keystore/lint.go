package keystore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
)

// The severities of a finding. An error breaks a rule of service.md or stops
// requests; a warning wants a decision; a note is good to know.
const (
	SeverityError = "error"
	SeverityWarn  = "warn"
	SeverityNote  = "note"
)

// Area is what a finding is about.
type Area string

// The areas of findings.
const (
	AreaExpiry     Area = "expiry"
	AreaRotation   Area = "rotation"
	AreaPermission Area = "permission"
	AreaSharing    Area = "sharing"
)

// The rules, as findings name them.
const (
	RuleAdminAutomated  = "admin-automated"
	RuleLevelCannotUse  = "level-cannot-use"
	RuleLevelNotForJobs = "level-not-for-jobs"
	RuleLevelUnknown    = "level-unknown"
	RuleMoreThanNeeded  = "more-than-needed"
	RuleExpired         = "expired"
	RuleExpiresSoon     = "expires-soon"
	RuleExpiryUnlimited = "expiry-unlimited"
	RuleExpiryUnknown   = "expiry-unknown"
	RuleRotationOverdue = "rotation-overdue"
	RuleRotationDue     = "rotation-due"
	RuleRotationSoon    = "rotation-soon"
	RuleRotationUnknown = "rotation-unknown"
	RuleSharedDuties    = "shared-duties"
	RuleSharedValue     = "shared-value"
	RuleSharedReference = "shared-reference"
	RuleDutyUnknown     = "duty-unknown"
	RuleLevelPartial    = "level-partial"
)

// Finding is one thing a rule found wrong with a key.
type Finding struct {
	Rule     string // the rule's name, stable for --json and for ignoring it
	Key      string // the key's name
	Severity string
	Area     Area
	Text     string // what is wrong
	Fix      string // what to do
	Source   string // where service.md says so
}

// LintRule is one rule of Lint as data, for the help and the documents.
type LintRule struct {
	Name     string
	Severity string
	Area     Area
	Reason   string // why it is a rule
	Source   string
	check    func(c lintCase) (text, fix string, hit bool)
}

// lintCase is what a rule looks at: one key among all.
type lintCase struct {
	key    model.Key
	all    []model.Key
	now    time.Time
	within time.Duration
}

const soon = model.SoonDays * 24 * time.Hour

// Lint checks an inventory against the rules of service.md 2.1, 5.3 and 5.4 at a
// moment. A date within model.SoonDays counts as soon. Findings come in the order
// of the keys, the worst of a key first.
func Lint(keys []model.Key, now time.Time) []Finding { return LintWithin(keys, now, soon) }

// LintWithin is Lint with another meaning of soon.
func LintWithin(keys []model.Key, now time.Time, within time.Duration) []Finding {
	var out []Finding
	for _, k := range keys {
		var findings []Finding
		for _, r := range LintRules() {
			if text, fix, hit := r.check(lintCase{k, keys, now, within}); hit {
				findings = append(findings, r.finding(k, text, fix))
			}
		}
		slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
		out = append(out, findings...)
	}
	return out
}

func (r LintRule) finding(k model.Key, text, fix string) Finding {
	return Finding{Rule: r.Name, Key: k.Name, Severity: r.Severity, Area: r.Area, Text: text, Fix: fix, Source: r.Source}
}

func rank(severity string) int {
	return slices.Index([]string{SeverityError, SeverityWarn, SeverityNote}, severity)
}

// LintRules lists the rules in the order in which they are checked.
func LintRules() []LintRule {
	return slices.Concat(permissionRules(), expiryRules(), rotationRules(), sharingRules())
}

func permissionRules() []LintRule {
	return []LintRule{
		{
			RuleAdminAutomated, SeverityError, AreaPermission,
			"an ADMIN key is for people; in an automated job it puts billing and settings at stake", "contract 5.4",
			func(c lintCase) (string, string, bool) {
				return fmt.Sprintf("ADMIN is used for %s", c.key.Duty),
					"issue a USER key for it (OPS where it changes settings), switch, then delete this use", c.key.Level == model.LevelAdmin && c.key.Duty.Automated()
			},
		},
		{
			RuleLevelCannotUse, SeverityError, AreaPermission,
			"a level without proxy and API use is refused on every request", "contract 5.3",
			func(c lintCase) (string, string, bool) {
				return fmt.Sprintf("%s may not use proxies or the API, and the duty is %s", c.key.Level, c.key.Duty),
					"issue a USER key for it", c.key.Duty.Automated() && c.key.Level.Permission(model.CapUse) == model.PermNo
			},
		},
		{
			RuleLevelNotForJobs, SeverityWarn, AreaPermission,
			"automated jobs use USER or OPS", "contract 5.4",
			func(c lintCase) (string, string, bool) {
				return fmt.Sprintf("%s is used for %s", c.key.Level, c.key.Duty),
					"issue a USER key for it; LIMIT is for proxy passwords and IP lists", c.key.Level == model.LevelLimit && c.key.Duty.Automated()
			},
		},
		{
			RuleLevelUnknown, SeverityWarn, AreaPermission,
			"what is not known cannot be checked against the matrix", "contract 5.3",
			func(c lintCase) (string, string, bool) {
				return "the permission level is not recorded", "look it up in the account settings and record it", c.key.Level == model.LevelUnknown
			},
		},
		{
			RuleDutyUnknown, SeverityNote, AreaPermission,
			"every duty has a key of its own", "contract 5.4",
			func(c lintCase) (string, string, bool) {
				return "the duty is not recorded", "record what the key is for", c.key.Duty == model.DutyUnknown
			},
		},
	}
}

func expiryRules() []LintRule {
	state := func(c lintCase, s model.ExpiryState) bool { return c.key.Expires.State(c.now, c.within) == s }
	return []LintRule{
		{
			RuleExpired, SeverityError, AreaExpiry,
			"requests with an expired key are rejected", "contract 2.1",
			func(c lintCase) (string, string, bool) {
				return fmt.Sprintf("expired on %s: requests are rejected", c.key.Expires),
					"refresh it, or issue a new key and delete this one", state(c, model.ExpiryStateExpired)
			},
		},
		{
			RuleExpiresSoon, SeverityWarn, AreaExpiry,
			"requests are rejected from the expiry on", "contract 2.1",
			func(c lintCase) (string, string, bool) {
				return fmt.Sprintf("expires on %s%s", c.key.Expires, inDays(c.key.Expires.DaysLeft(c.now))),
					"rotate it before that day", state(c, model.ExpiryStateSoon)
			},
		},
		{
			RuleExpiryUnlimited, SeverityWarn, AreaExpiry,
			"an explicit expiry is recommended", "contract 2.1",
			func(c lintCase) (string, string, bool) {
				return "the expiry is Unlimited", "give it an expiry with its next rotation", state(c, model.ExpiryStateUnlimited)
			},
		},
		{
			RuleExpiryUnknown, SeverityWarn, AreaExpiry,
			"an expiry that nobody recorded comes as a surprise", "contract 2.1",
			func(c lintCase) (string, string, bool) {
				return "the expiry is not recorded", "look it up in the account settings and record it", state(c, model.ExpiryStateUnknown)
			},
		},
	}
}

func rotationRules() []LintRule {
	state := func(c lintCase, s model.RotationState) bool { return c.key.Rotation.State(c.now, c.within) == s }
	age := func(c lintCase) int { days, _ := c.key.Rotation.AgeDays(c.now); return days }
	const source = "contract 5.4, 8"
	return []LintRule{
		{
			RuleRotationOverdue, SeverityWarn, AreaRotation,
			"rotation every 90 days is recommended", source,
			func(c lintCase) (string, string, bool) {
				return fmt.Sprintf("the value is %d days old, %d past the recommended rotation", age(c), age(c)-model.RotationDays),
					"rotate it: issue new, store, prove, switch, prove, delete old", state(c, model.RotationOverdue)
			},
		},
		{
			RuleRotationDue, SeverityWarn, AreaRotation,
			"rotation every 90 days is recommended", source,
			func(c lintCase) (string, string, bool) {
				return fmt.Sprintf("the value is %d days old: rotation is due today", age(c)), "rotate it today", state(c, model.RotationDue)
			},
		},
		{
			RuleRotationSoon, SeverityNote, AreaRotation,
			"rotation every 90 days is recommended", source,
			func(c lintCase) (string, string, bool) {
				return "rotation is due" + inDays(c.key.Rotation.DaysLeft(c.now)), "plan the rotation", state(c, model.RotationSoon)
			},
		},
		{
			RuleRotationUnknown, SeverityWarn, AreaRotation,
			"a key of unknown age may be of any age", source,
			func(c lintCase) (string, string, bool) {
				text := "nobody recorded when the value was made"
				if last := c.key.Rotation.Last; !last.IsZero() {
					text = "its value is said to be made on " + last.UTC().Format(time.DateOnly) + ", which is yet to come"
				}
				return text, "record the date, or rotate the key", state(c, model.RotationUnknown)
			},
		},
	}
}

func sharingRules() []LintRule {
	const reason, source = "separate keys per duty; never share one key", "contract 5.4"
	return []LintRule{
		{
			RuleSharedValue, SeverityError, AreaSharing, reason, source,
			func(c lintCase) (string, string, bool) {
				others := twins(c, func(k model.Key) string { return k.Fingerprint })
				return "the same value is recorded as " + strings.Join(others, ", "),
					"keep one entry, or issue a key for each duty", len(others) > 0
			},
		},
		{
			RuleSharedReference, SeverityWarn, AreaSharing, reason, source,
			func(c lintCase) (string, string, bool) {
				others := twins(c, func(k model.Key) string { return k.Secret })
				return "the same secret reference stands in " + strings.Join(others, ", "),
					"give every key a reference of its own", len(others) > 0
			},
		},
		{
			RuleSharedDuties, SeverityWarn, AreaSharing, reason, source,
			func(c lintCase) (string, string, bool) {
				users := distinct(c.key.UsedBy)
				return fmt.Sprintf("%d users share it: %s", len(users), strings.Join(users, ", ")),
					"issue a key for each and take them off this one", len(users) > 1
			},
		},
	}
}

// twins names the other keys that have the same mark, when it has one.
func twins(c lintCase, mark func(model.Key) string) []string {
	if mark(c.key) == "" {
		return nil
	}
	var out []string
	for _, k := range c.all {
		if k.Name != c.key.Name && mark(k) == mark(c.key) {
			out = append(out, k.Name)
		}
	}
	return out
}

func distinct(s []string) []string { return slices.Compact(slices.Sorted(slices.Values(s))) }

func inDays(days int, ok bool) string {
	switch {
	case !ok:
		return ""
	case days == 0:
		return ", within a day"
	case days == 1:
		return ", in 1 day"
	default:
		return fmt.Sprintf(", in %d days", days)
	}
}
