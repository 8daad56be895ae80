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
// requests; a warning needs a decision; a note is for information.
const (
	SeverityError = "error"
	SeverityWarn  = "warn"
	SeverityNote  = "note"
)

// area is what a finding is about.
type area string

// The areas of findings.
const (
	areaExpiry     area = "expiry"
	areaRotation   area = "rotation"
	areaPermission area = "permission"
	areaSharing    area = "sharing"
	areaSecret     area = "secret"
)

// The rules, as findings name them.
const (
	RuleAdminAutomated   = "admin-automated"
	RuleAdminUnseen      = "admin-unrecognised"
	ruleLevelCannotUse   = "level-cannot-use"
	ruleLevelNotForJobs  = "level-not-for-jobs"
	ruleLevelUnknown     = "level-unknown"
	ruleMoreThanNeeded   = "more-than-needed"
	ruleExpired          = "expired"
	ruleExpiresSoon      = "expires-soon"
	ruleExpiryUnlimited  = "expiry-unlimited"
	ruleExpiryUnknown    = "expiry-unknown"
	ruleRotationOverdue  = "rotation-overdue"
	ruleRotationDue      = "rotation-due"
	ruleRotationSoon     = "rotation-soon"
	ruleRotationUnknown  = "rotation-unknown"
	ruleRotationUnderWay = "rotation-under-way"
	ruleRotationGivenUp  = "rotation-given-up"
	ruleSharedDuties     = "shared-duties"
	ruleSharedValue      = "shared-value"
	ruleSharedReference  = "shared-reference"
	ruleDutyUnknown      = "duty-unknown"
	ruleLevelPartial     = "level-partial"
	ruleFinanceFetches   = "finance-fetches"
	ruleLimitBeyondPart  = "limit-beyond-part"
	ruleValueInGit       = "value-in-git"
	ruleEndedValue       = "ended-value-in-file"
	ruleEndedRecord      = "ended-value"
)

// Finding is one thing a rule found wrong with a key.
type Finding struct {
	Rule     string // the rule's name, stable for --json and for ignoring it
	Key      string // the key's name
	Severity string
	Area     area
	Text     string // what is wrong
	Evidence string // the record's fields, the other names or the places that show it
	Fix      string // what to do
	Source   string // the section of service.md
}

// lintRule is one rule of Lint.
type lintRule struct {
	Name     string
	Severity string
	Area     area
	Reason   string // why the rule exists
	Source   string
	hit      func(c lintCase) bool
	judge    func(c lintCase) (text, fix string)
}

// KeyUsage is what is known of a key's uses beyond its record.
type KeyUsage struct {
	// Fetches names what fetches or launches jobs with it: "profile acme", "saved request daily".
	Fetches []string
	// Automated names the uses on which no person decides: "job-3 (running)", "deploy/.env:4".
	Automated []string
	// Tracked are the places, path:line, of its value in files that git tracks.
	Tracked []string
	// Ended are the places, path:line, of values in files that a rotation has ended.
	Ended []string
	// EndedBy is the key whose rotation saw this record's value refused; empty if none did.
	EndedBy string
	// Rotation is the last unfinished rotation (see Unfinished); the zero value if there is none.
	Rotation RotationPlan
}

// Checks is what Lint works with besides the keys. Only Now is required.
type Checks struct {
	// Now is the present time by the clock that applies to a key.
	Now func(model.Key) time.Time
	// Within is how long before its date a clock counts as soon; 0 means model.SoonDays.
	Within time.Duration
	Usage  func(model.Key) KeyUsage
}

// lintCase is what a rule looks at: one of the keys.
type lintCase struct {
	key    model.Key
	names  map[string][]string // the names of the keys, by fingerprint and by reference
	usage  KeyUsage
	now    time.Time
	within time.Duration
}

const soon = model.SoonDays * 24 * time.Hour

// Lint checks keys against the rules of service.md 2.1, 5.3 and 5.4 at the time now.
// A date within model.SoonDays counts as soon. Findings come in the order of the keys,
// the worst of each key first.
func Lint(keys []model.Key, now time.Time) []Finding {
	return Checks{Now: func(model.Key) time.Time { return now }}.Lint(keys)
}

// Lint is the function Lint, with these checks.
func (c Checks) Lint(keys []model.Key) []Finding {
	var out []Finding
	rules, names := lintRules(), marked(keys)
	for _, k := range keys {
		at := lintCase{key: k, names: names, now: c.Now(k), within: cmp.Or(c.Within, soon)}
		if c.Usage != nil {
			at.usage = c.Usage(k)
		}
		var findings []Finding
		for _, r := range rules {
			if r.hit(at) {
				findings = append(findings, r.finding(at))
			}
		}
		slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
		out = append(out, findings...)
	}
	return out
}

// MayShare reports whether two keys have the same fingerprint or the same reference.
func MayShare(a, b model.Key) bool {
	return a.Fingerprint != "" && a.Fingerprint == b.Fingerprint || a.Secret != "" && a.Secret == b.Secret
}

// marked maps each fingerprint and each reference to the names of its keys.
func marked(keys []model.Key) map[string][]string {
	names := map[string][]string{}
	for _, k := range keys {
		for _, mark := range []string{k.Fingerprint, k.Secret} {
			if mark != "" {
				names[mark] = append(names[mark], k.Name)
			}
		}
	}
	return names
}

func (r lintRule) finding(c lintCase) Finding {
	text, fix := r.judge(c)
	source := r.Source
	if r.Area == areaRotation && c.ownInterval() {
		source = ownInterval
	}
	return Finding{
		Rule: r.Name, Key: c.key.Name, Severity: r.Severity, Area: r.Area, Text: text, Evidence: c.evidence(r), Fix: fix, Source: source,
	}
}

// ownInterval is the source of a finding about an interval of the configuration: the contract recommends
// 90 days only.
const ownInterval = "zonedeck's interval"

func (c lintCase) ownInterval() bool { return c.key.Rotation.Every() != model.RotationDays }

// evidence is what a rule found.
func (c lintCase) evidence(r lintRule) string {
	k := c.key
	switch r.Area {
	case areaRotation:
		if r.Name == ruleRotationGivenUp || r.Name == ruleRotationUnderWay {
			return c.unfinished()
		}
		return fmt.Sprintf("made %s, interval %d days", cmp.Or(FormatMoment(k.Rotation.Last), "unknown"), k.Rotation.Every())
	case areaExpiry:
		return "expires " + k.Expires.String()
	case areaSecret:
		if r.Name == ruleEndedValue {
			return places(c.usage.Ended)
		}
		if r.Name == ruleEndedRecord {
			return "fingerprint " + k.Fingerprint + ", refused at the end of the rotation of " + c.usage.EndedBy
		}
		return places(c.usage.Tracked)
	case areaPermission:
		said := "level " + k.Level.String() + ", duty " + cmp.Or(string(k.Duty), "unknown")
		switch used := c.usage.Fetches; {
		case r.Name == RuleAdminUnseen:
			return "level ADMIN, fingerprint unknown, reference " + cmp.Or(Ref(k.Secret).Label(), "unknown")
		case r.Name == RuleAdminAutomated && len(c.usage.Automated) > 0:
			return said + ", used by " + places(c.usage.Automated)
		case (r.Name == ruleFinanceFetches || r.Name == ruleLimitBeyondPart) && len(used) > 0:
			return said + ", used by " + places(used)
		}
		return said
	default:
		switch r.Name {
		case ruleSharedValue:
			return "fingerprint " + k.Fingerprint
		case ruleSharedReference:
			return "reference " + Ref(k.Secret).Label()
		}
		return "used by " + places(distinct(k.UsedBy))
	}
}

// places lists up to three places or names, and counts the rest.
func places(list []string) string {
	const most = 3
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

func rank(severity string) int {
	return slices.Index([]string{SeverityError, SeverityWarn, SeverityNote}, severity)
}

// lintRules lists the rules in the order in which they are checked.
func lintRules() []lintRule {
	return slices.Concat(permissionRules(), secretRules(), expiryRules(), rotationRules(), unfinishedRules(), sharingRules())
}

func permissionRules() []lintRule {
	return []lintRule{
		{
			RuleAdminAutomated, SeverityError, areaPermission,
			"an ADMIN key is for people; in an automated job it puts billing and settings at stake", "contract 5.4",
			func(c lintCase) bool {
				return c.key.Level == model.LevelAdmin && (c.key.Duty.Automated() || len(c.usage.Automated) > 0)
			},
			func(c lintCase) (text, fix string) {
				what := string(c.key.Duty)
				if !c.key.Duty.Automated() {
					what = "automation: " + places(c.usage.Automated)
				}
				return "ADMIN is used for " + what, "issue a USER key for it (OPS where it changes settings), switch, then delete this use"
			},
		},
		{
			RuleAdminUnseen, SeverityWarn, areaPermission,
			"an ADMIN key is known under other names by its fingerprint alone", "contract 5.4",
			func(c lintCase) bool { return c.key.Level == model.LevelAdmin && c.key.Fingerprint == "" },
			func(c lintCase) (text, fix string) {
				fix = "make one call with it by this name: its fingerprint is recorded then"
				if c.key.Secret == "" {
					fix = "record where its value is, and " + fix
				}
				return "its value was never read: under another name it is not recognised as ADMIN, and commands use it", fix
			},
		},
		{
			ruleLevelCannotUse, SeverityError, areaPermission,
			"a level without proxy and API use is refused on every request", "contract 5.3",
			func(c lintCase) bool {
				return c.key.Duty.Automated() && c.key.Level.Permission(model.CapUse) == model.PermNo
			},
			func(c lintCase) (text, fix string) {
				return fmt.Sprintf("%s may not use proxies or the API, and the duty is %s", c.key.Level, c.key.Duty), "issue a USER key for it"
			},
		},
		{
			ruleLevelNotForJobs, SeverityWarn, areaPermission,
			"automated jobs use USER or OPS", "contract 5.4",
			func(c lintCase) bool { return c.key.Level == model.LevelLimit && c.key.Duty.Automated() },
			func(c lintCase) (text, fix string) {
				return fmt.Sprintf("%s is used for %s", c.key.Level, c.key.Duty), "issue a USER key for it; LIMIT is for proxy passwords and IP lists"
			},
		},
		{
			ruleFinanceFetches, SeverityError, areaPermission,
			"FINANCE is for billing review; its fetches are refused", "contract 5.3",
			func(c lintCase) bool { return c.key.Level == model.LevelFinance && len(c.usage.Fetches) > 0 },
			func(c lintCase) (text, fix string) {
				return "FINANCE is used to fetch: " + places(c.usage.Fetches), "give it a USER key"
			},
		},
		{
			ruleLimitBeyondPart, SeverityWarn, areaPermission,
			"LIMIT is meant for proxy passwords and IP allow/deny lists only", "contract 5.3",
			func(c lintCase) bool { return c.key.Level == model.LevelLimit && len(c.usage.Fetches) > 0 },
			func(c lintCase) (text, fix string) {
				return "LIMIT is used to fetch, which is not its purpose: " + places(c.usage.Fetches), "give it a USER key, and keep this one for passwords and lists"
			},
		},
		{
			ruleLevelUnknown, SeverityWarn, areaPermission,
			"what is not known cannot be checked against the matrix", "contract 5.3",
			func(c lintCase) bool { return c.key.Level == model.LevelUnknown },
			func(lintCase) (text, fix string) {
				return "the permission level is not recorded", "look it up in the account settings and record it"
			},
		},
		{
			ruleDutyUnknown, SeverityNote, areaPermission,
			"every duty has a key of its own", "contract 5.4",
			func(c lintCase) bool { return c.key.Duty == model.DutyUnknown },
			func(lintCase) (text, fix string) {
				return "the duty is not recorded", "record what the key is for"
			},
		},
	}
}

func secretRules() []lintRule {
	return []lintRule{{
		ruleValueInGit, SeverityError, areaSecret,
		"keys are kept outside source code: whoever has the repository has the key", "contract 5.1",
		func(c lintCase) bool { return len(c.usage.Tracked) > 0 },
		func(c lintCase) (text, fix string) {
			return "its value stands in " + fmt.Sprint(len(c.usage.Tracked)) + " place" + plural(len(c.usage.Tracked)) + " of files that git tracks", "rotate it: the value stays in the history; then take it from the environment or a secret manager"
		},
	}, {
		ruleEndedValue, SeverityWarn, areaSecret,
		"a program that reads an ended value there is refused", "contract 3",
		func(c lintCase) bool { return len(c.usage.Ended) > 0 },
		func(c lintCase) (text, fix string) {
			return "an ended value of it is still in " + fmt.Sprint(len(c.usage.Ended)) + " place" + plural(len(c.usage.Ended)) + " of files", "give what reads it there the present value"
		},
	}, {
		ruleEndedRecord, SeverityError, areaSecret,
		"a value that a rotation ended is refused, whatever name it has", "contract 3",
		func(c lintCase) bool { return c.usage.EndedBy != "" },
		func(c lintCase) (text, fix string) {
			return "the value that is recorded was ended by the rotation of " + c.usage.EndedBy, "put the new value behind its reference, or forget the record"
		},
	}}
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func expiryRules() []lintRule {
	state := func(c lintCase, s model.ExpiryState) bool { return c.key.Expires.State(c.now, c.within) == s }
	return []lintRule{
		{
			ruleExpired, SeverityError, areaExpiry,
			"requests with an expired key are rejected", "contract 2.1",
			func(c lintCase) bool { return state(c, model.ExpiryStateExpired) },
			func(c lintCase) (text, fix string) {
				return fmt.Sprintf("expired on %s: requests are rejected", c.key.Expires), "refresh it, or issue a new key and delete this one"
			},
		},
		{
			ruleExpiresSoon, SeverityWarn, areaExpiry,
			"requests are rejected from the expiry on", "contract 2.1",
			func(c lintCase) bool { return state(c, model.ExpiryStateSoon) },
			func(c lintCase) (text, fix string) {
				return fmt.Sprintf("expires on %s%s", c.key.Expires, inDays(c.key.Expires.DaysLeft(c.now))), "rotate it before that day"
			},
		},
		{
			ruleExpiryUnlimited, SeverityWarn, areaExpiry,
			"an explicit expiry is recommended", "contract 2.1",
			func(c lintCase) bool { return state(c, model.ExpiryStateUnlimited) },
			func(lintCase) (text, fix string) {
				return "the expiry is Unlimited", "give it an expiry with its next rotation"
			},
		},
		{
			ruleExpiryUnknown, SeverityWarn, areaExpiry,
			"an expiry that nobody recorded comes as a surprise", "contract 2.1",
			func(c lintCase) bool { return state(c, model.ExpiryStateUnknown) },
			func(lintCase) (text, fix string) {
				return "the expiry is not recorded", "look it up in the account settings and record it"
			},
		},
	}
}

func rotationRules() []lintRule {
	state := func(c lintCase, s model.RotationState) bool { return c.key.Rotation.State(c.now, c.within) == s }
	age := func(c lintCase) int { days, _ := c.key.Rotation.AgeDays(c.now); return days }
	const source = "contract 5.4, 8"
	return []lintRule{
		{
			ruleRotationOverdue, SeverityWarn, areaRotation,
			"rotation every 90 days is recommended, or as often as the configuration says", source,
			func(c lintCase) bool { return state(c, model.RotationOverdue) },
			func(c lintCase) (text, fix string) {
				interval := "the recommended rotation"
				if c.ownInterval() {
					interval = fmt.Sprintf("the interval of %d days", c.key.Rotation.Every())
				}
				return fmt.Sprintf("the value is %d days old, %d past %s", age(c), age(c)-c.key.Rotation.Every(), interval), "rotate it: create, set, test, finish"
			},
		},
		{
			ruleRotationDue, SeverityWarn, areaRotation,
			"rotation every 90 days is recommended, or as often as the configuration says", source,
			func(c lintCase) bool { return state(c, model.RotationDue) },
			func(c lintCase) (text, fix string) {
				return fmt.Sprintf("the value is %d days old: rotation is due today", age(c)), "rotate it today"
			},
		},
		{
			ruleRotationSoon, SeverityNote, areaRotation,
			"rotation every 90 days is recommended, or as often as the configuration says", source,
			func(c lintCase) bool { return state(c, model.RotationSoon) },
			func(c lintCase) (text, fix string) {
				return "rotation is due" + inDays(c.key.Rotation.DaysLeft(c.now)), "plan the rotation"
			},
		},
		{
			ruleRotationUnknown, SeverityWarn, areaRotation,
			"a key of unknown age may be of any age", source,
			func(c lintCase) bool { return state(c, model.RotationUnknown) },
			func(c lintCase) (text, fix string) {
				text = "nobody recorded when the value was made"
				if last := c.key.Rotation.Last; !last.IsZero() {
					text = "its value is said to be made on " + last.UTC().Format(time.DateOnly) + ", which is yet to come"
				}
				return text, "record the date, or rotate the key"
			},
		},
	}
}

func sharingRules() []lintRule {
	const reason, source = "separate keys per duty; never share one key", "contract 5.4"
	return []lintRule{
		{
			ruleSharedValue, SeverityError, areaSharing, reason, source,
			func(c lintCase) bool { return len(c.otherKeys(c.key.Fingerprint)) > 0 },
			func(c lintCase) (text, fix string) {
				others := c.otherKeys(c.key.Fingerprint)
				return "the same value is recorded as " + strings.Join(others, ", "), "keep one entry, or issue a key for each duty"
			},
		},
		{
			ruleSharedReference, SeverityWarn, areaSharing, reason, source,
			func(c lintCase) bool { return len(c.otherKeys(c.key.Secret)) > 0 },
			func(c lintCase) (text, fix string) {
				others := c.otherKeys(c.key.Secret)
				return "the same secret reference stands in " + strings.Join(others, ", "), "give every key a reference of its own"
			},
		},
		{
			ruleSharedDuties, SeverityWarn, areaSharing, reason, source,
			func(c lintCase) bool { return len(distinct(c.key.UsedBy)) > 1 },
			func(c lintCase) (text, fix string) {
				users := distinct(c.key.UsedBy)
				return fmt.Sprintf("%d users share it: %s", len(users), strings.Join(users, ", ")), "issue a key for each and take them off this one"
			},
		},
	}
}

// otherKeys names the other keys with this fingerprint or reference.
func (c lintCase) otherKeys(mark string) []string {
	all := c.names[mark]
	if mark == "" || len(all) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == c.key.Name })
}

func distinct(s []string) []string { return slices.Compact(slices.Sorted(slices.Values(s))) }

// inDays says how many days a clock has left. A day that has begun counts.
func inDays(days int, ok bool) string {
	switch {
	case !ok:
		return ""
	case days <= 1:
		return ", within a day"
	default:
		return fmt.Sprintf(", in %d days", days)
	}
}
