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
	Text     string // what is wrong
	Evidence string // the record's fields, the other names or the places that show it
	Fix      string // what to do
	Source   string // the section of service.md
}

// Due reports whether it is about a date that has passed or comes soon, which decides how a check of the keys ends.
func (f Finding) Due() bool {
	return slices.Contains([]string{ruleExpired, ruleExpiresSoon, ruleRotationOverdue, ruleRotationDue, ruleRotationSoon}, f.Rule)
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

// lintCase is one of the keys, and what the rules have found so far.
type lintCase struct {
	key    model.Key
	names  map[string][]string // the names of the keys, by fingerprint and by reference
	usage  KeyUsage
	now    time.Time
	within time.Duration
	found  []Finding
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
	names := marked(keys)
	for _, k := range keys {
		at := lintCase{key: k, names: names, now: c.Now(k), within: cmp.Or(c.Within, soon)}
		if c.Usage != nil {
			at.usage = c.Usage(k)
		}
		findings := at.check()
		slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
		out = append(out, findings...)
	}
	return out
}

// PasswordFinding is about a zone's password, or a whole login to the zone, in a file that git may track.
func PasswordFinding(zone, what, place string, tracked bool) Finding {
	f := Finding{Rule: "password-in-file", Key: zone, Severity: SeverityNote, Text: what + " stands in a file", Evidence: place, Fix: "take it from the environment or a secret manager", Source: "contract 5.1"}
	if tracked {
		f.Rule, f.Severity, f.Text, f.Fix = "password-in-git", SeverityError, f.Text+" that git tracks", "rotate the password: it stays in the history; then "+f.Fix
	}
	return f
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

// check applies the rules in their order.
func (c *lintCase) check() []Finding {
	c.permission()
	c.secret()
	c.expiry()
	c.rotation()
	c.unfinished()
	c.sharing()
	return c.found
}

// find notes what a rule found.
func (c *lintCase) find(rule, severity, source, text, evidence, fix string) {
	c.found = append(c.found, Finding{rule, c.key.Name, severity, text, evidence, fix, source})
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

func (c *lintCase) permission() {
	k, uses := c.key, c.usage.Fetches
	find := func(rule, severity, source, text, fix string, usedBy []string) {
		evidence := "level " + k.Level.String() + ", duty " + cmp.Or(string(k.Duty), "unknown")
		if len(usedBy) > 0 {
			evidence += ", used by " + places(usedBy)
		}
		c.find(rule, severity, source, text, evidence, fix)
	}
	if k.Level == model.LevelAdmin && (k.Duty.Automated() || len(c.usage.Automated) > 0) {
		what := string(k.Duty)
		if !k.Duty.Automated() {
			what = "automation: " + places(c.usage.Automated)
		}
		find(RuleAdminAutomated, SeverityError, "contract 5.4", "ADMIN is used for "+what, "create a USER key for it (OPS if it changes settings), switch it over, then remove this key there", c.usage.Automated)
	}
	if k.Level == model.LevelAdmin && k.Fingerprint == "" {
		fix := "make one call with the key under this name, which records its fingerprint"
		if k.Secret == "" {
			fix = "record where its value is, and " + fix
		}
		c.find(RuleAdminUnseen, SeverityWarn, "contract 5.4", "its value was never read, so commands would use it under another name without seeing that it is ADMIN",
			"level ADMIN, fingerprint unknown, reference "+cmp.Or(Ref(k.Secret).Label(), "unknown"), fix)
	}
	if k.Duty.Automated() && k.Level.Permission(model.CapUse) == model.PermNo {
		find(ruleLevelCannotUse, SeverityError, "contract 5.3", fmt.Sprintf("%s may not use proxies or the API, and the duty is %s", k.Level, k.Duty), "create a USER key for it", nil)
	}
	if k.Level == model.LevelLimit && k.Duty.Automated() {
		find(ruleLevelNotForJobs, SeverityWarn, "contract 5.4", fmt.Sprintf("%s is used for %s", k.Level, k.Duty), "create a USER key for it; LIMIT is for proxy passwords and IP lists", nil)
	}
	if k.Level == model.LevelFinance && len(uses) > 0 {
		find(ruleFinanceFetches, SeverityError, "contract 5.3", "FINANCE is used to fetch: "+places(uses), "use a USER key there", uses)
	}
	if k.Level == model.LevelLimit && len(uses) > 0 {
		find(ruleLimitBeyondPart, SeverityWarn, "contract 5.3", "LIMIT is used to fetch, which is not its purpose: "+places(uses), "use a USER key there, and keep this one for passwords and lists", uses)
	}
	if k.Level == model.LevelUnknown {
		find(ruleLevelUnknown, SeverityWarn, "contract 5.3", "the permission level is not recorded", "look it up in the account settings and record it", nil)
	}
	if k.Duty == model.DutyUnknown {
		find(ruleDutyUnknown, SeverityNote, "contract 5.4", "the duty is not recorded", "record what the key is for", nil)
	}
}

func (c *lintCase) secret() {
	count := func(list []string) string {
		if len(list) == 1 {
			return "1 place"
		}
		return fmt.Sprintf("%d places", len(list))
	}
	if list := c.usage.Tracked; len(list) > 0 {
		c.find(ruleValueInGit, SeverityError, "contract 5.1", "its value stands in "+count(list)+" of files that git tracks", places(list),
			"rotate it: the value stays in the history; then take it from the environment or a secret manager")
	}
	if list := c.usage.Ended; len(list) > 0 {
		c.find(ruleEndedValue, SeverityWarn, "contract 3", "a value that its rotation ended is still in "+count(list)+" of files", places(list), "put the current value there")
	}
	if by := c.usage.EndedBy; by != "" {
		c.find(ruleEndedRecord, SeverityError, "contract 3", "the rotation of "+by+" ended the value that is recorded here",
			"fingerprint "+c.key.Fingerprint+", refused at the end of the rotation of "+by, "store the new value under its reference, or remove this key from the inventory")
	}
}

func (c *lintCase) expiry() {
	expires, on := c.key.Expires, c.key.Expires.String()
	if expires.Kind == model.ExpiryDate {
		on = moment(expires.At)
	}
	find := func(rule, severity, text, fix string) {
		c.find(rule, severity, "contract 2.1", text, "expires "+on, fix)
	}
	switch expires.State(c.now, c.within) {
	case model.ExpiryStateExpired:
		find(ruleExpired, SeverityError, fmt.Sprintf("expired on %s: requests are rejected", on), "refresh it, or create a new key and delete this one")
	case model.ExpiryStateSoon:
		find(ruleExpiresSoon, SeverityWarn, fmt.Sprintf("expires on %s%s", on, inDays(expires.DaysLeft(c.now))), "rotate it before that day")
	case model.ExpiryStateUnlimited:
		find(ruleExpiryUnlimited, SeverityWarn, "the expiry is Unlimited", "set an expiry date when you rotate it next")
	case model.ExpiryStateUnknown:
		find(ruleExpiryUnknown, SeverityWarn, "the expiry is not recorded", "look it up in the account settings and record it")
	}
}

// rotationSource is the source of a finding about rotation: the contract recommends 90 days only.
func (c *lintCase) rotationSource(contract string) string {
	if c.key.Rotation.Every() != model.RotationDays {
		return "zonedeck's interval"
	}
	return contract
}

func (c *lintCase) rotation() {
	r := c.key.Rotation
	find := func(rule, severity, text, fix string) {
		evidence := fmt.Sprintf("made %s, interval %d days", moment(r.Last), r.Every())
		c.find(rule, severity, c.rotationSource("contract 5.4, 8"), text, evidence, fix)
	}
	age, _ := r.AgeDays(c.now)
	switch r.State(c.now, c.within) {
	case model.RotationOverdue:
		interval := "the recommended rotation"
		if r.Every() != model.RotationDays {
			interval = fmt.Sprintf("the interval of %d days", r.Every())
		}
		find(ruleRotationOverdue, SeverityWarn, fmt.Sprintf("the value is %d days old, %d past %s", age, age-r.Every(), interval), "rotate it: create, set, test, finish")
	case model.RotationDue:
		find(ruleRotationDue, SeverityWarn, fmt.Sprintf("the value is %d days old: rotation is due today", age), "rotate it today")
	case model.RotationSoon:
		find(ruleRotationSoon, SeverityNote, "rotation is due"+inDays(r.DaysLeft(c.now)), "plan the rotation")
	case model.RotationUnknown:
		text := "nobody recorded when the value was made"
		if !r.Last.IsZero() {
			text = "the date on which its value was made, " + moment(r.Last) + ", is in the future"
		}
		find(ruleRotationUnknown, SeverityWarn, text, "record the date, or rotate the key")
	}
}

// unfinished is about a rotation that did not come to its end: what uses the key has one value or the other.
func (c *lintCase) unfinished() {
	p := c.usage.Rotation
	if p.UnfinishedWord() == "" {
		return
	}
	rule, evidence := ruleRotationUnderWay, "record "+p.ID+", begun "+moment(p.Started)
	text, fix := "it is being rotated: "+p.UnfinishedState(), "continue with 'zonedeck keys rotate "+c.key.Name+"', or give it up with --abandon"
	switch {
	case p.Over():
		rule, evidence = ruleRotationGivenUp, "record "+p.ID+", given up "+moment(p.Ended)
		text = fmt.Sprintf("its last rotation was given up: the old value (••••%s) and the new one (••••%s) were both valid then", p.OldLast4, p.NewLast4)
		fix = "find out which of the two is in use, delete the other in the account settings, and rotate the key again"
		if p.Method == RotateByRefresh {
			text = "its last rotation was given up after the refresh: some uses may not have the new value (••••" + p.NewLast4 + ") yet"
			fix = "check that every use has the new value, or rotate the key again"
		}
	case p.Now() >= 0:
		evidence += ", next " + p.Steps[p.Now()].Name()
	}
	c.find(rule, SeverityWarn, c.rotationSource("contract 5.4"), text, evidence, fix)
}

// sharing is about one key for several duties.
func (c *lintCase) sharing() {
	find := func(rule, severity, text, evidence, fix string) {
		c.find(rule, severity, "contract 5.4", text, evidence, fix)
	}
	if others := c.otherKeys(c.key.Fingerprint); len(others) > 0 {
		find(ruleSharedValue, SeverityError, "the same value is recorded as "+strings.Join(others, ", "), "fingerprint "+c.key.Fingerprint, "keep one entry, or create a key for each duty")
	}
	if others := c.otherKeys(c.key.Secret); len(others) > 0 {
		find(ruleSharedReference, SeverityWarn, "the same secret reference stands in "+strings.Join(others, ", "), "reference "+Ref(c.key.Secret).Label(), "give every key a reference of its own")
	}
	if users := distinct(c.key.UsedBy); len(users) > 1 {
		find(ruleSharedDuties, SeverityWarn, fmt.Sprintf("%d users share it: %s", len(users), strings.Join(users, ", ")), "used by "+places(users), "create a key for each of them")
	}
}

// otherKeys names the other keys with this fingerprint or reference.
func (c *lintCase) otherKeys(mark string) []string {
	all := c.names[mark]
	if mark == "" || len(all) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == c.key.Name })
}

func distinct(s []string) []string { return slices.Compact(slices.Sorted(slices.Values(s))) }

// moment is a moment in a finding, as it stands elsewhere on the screen.
func moment(t time.Time) string { return cmp.Or(formatMoment(t, "2006-01-02 15:04 UTC"), "unknown") }

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
