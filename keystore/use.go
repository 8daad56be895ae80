package keystore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
)

// CheckUse returns the objections to a use of a key, by the matrix of service.md 5.3, the
// ban on ADMIN in automated jobs (5.4) and the two clocks. SeverityError means that the
// request would be refused or breaks a rule. No findings mean go ahead.
func CheckUse(k model.Key, c model.Capability, automated bool, now time.Time) []Finding {
	if automated && !k.Duty.Automated() {
		k.Duty = model.DutyBatch
	}
	if !automated {
		k.Duty = model.DutyHuman
	}
	var out []Finding
	if f, hit := permissionFinding(k, c); hit {
		out = append(out, f)
	}
	matters := []string{RuleAdminAutomated, ruleLevelNotForJobs, ruleLevelUnknown, ruleExpired, ruleExpiresSoon, ruleRotationOverdue}
	for _, f := range (&lintCase{key: k, now: now, within: soon}).check() {
		if slices.Contains(matters, f.Rule) {
			out = append(out, f)
		}
	}
	if !automated && k.Level == model.LevelAdmin && c == model.CapUse {
		out = append(out, Finding{
			Rule: ruleMoreThanNeeded, Key: k.Name, Severity: SeverityNote,
			Text: "ADMIN may do more than this needs", Evidence: "level ADMIN", Fix: "a USER key is enough for proxies and the API", Source: "contract 5.4",
		})
	}
	return out
}

// CheckUnattended returns the finding that forbids an ADMIN key where no person decides: ADMIN
// is for people (service.md 5.3, 5.4). bad is false for every other key.
func CheckUnattended(k model.Key, now time.Time) (f Finding, bad bool) {
	for _, f := range CheckUse(k, model.CapUse, true, now) {
		if f.Rule == RuleAdminAutomated {
			return f, true
		}
	}
	return Finding{}, false
}

// Objections are what a key's record has against its uses: it has expired, or its level does not permit them. Each is
// a sentence that begins with the key's name.
func Objections(k model.Key, now time.Time, uses ...model.Capability) (out []string) {
	c := lintCase{key: k, now: now}
	c.expiry()
	for _, use := range uses {
		if f, hit := permissionFinding(k, use); hit {
			c.found = append(c.found, f)
		}
	}
	for _, f := range c.found {
		if f.Severity == SeverityError {
			out = append(out, strings.TrimSuffix(fmt.Sprintf("key %s: %s (%s); %s; %s", k.Name, f.Text, f.Source, f.Fix, k.Note), "; "))
		}
	}
	return out
}

// HoldsValue reports whether a word of the text is the value with this fingerprint.
func HoldsValue(text, fingerprint string) bool { return holdsValue(text, fingerprint) }

// permissionFinding checks a key's level against the matrix of service.md 5.3.
func permissionFinding(k model.Key, c model.Capability) (Finding, bool) {
	f := Finding{Rule: ruleLevelCannotUse, Key: k.Name, Severity: SeverityError, Evidence: "level " + k.Level.String(), Source: "contract 5.3"}
	switch k.Level.Permission(c) {
	case model.PermNo:
		f.Text = fmt.Sprintf("%s has no %s", k.Level, capability(c))
		f.Fix = "pick a key of level " + levelsWith(c)
	case model.PermPartial:
		f.Rule, f.Severity = ruleLevelPartial, SeverityWarn
		f.Text = fmt.Sprintf("%s has %s for %s only", k.Level, capability(c), "proxy passwords and IP allow/deny lists")
		f.Fix = "for anything else pick a key of level " + levelsWith(c)
	default:
		return Finding{}, false
	}
	return f, true
}

func capability(c model.Capability) string {
	switch c {
	case model.CapBilling:
		return "access to billing"
	case model.CapSettings:
		return "access to product settings"
	default:
		return "proxy and API use"
	}
}

// levelsWith names the levels that fully have a capability, least privilege first.
func levelsWith(c model.Capability) string {
	switch c {
	case model.CapBilling:
		return "FINANCE or ADMIN"
	case model.CapSettings:
		return "OPS or ADMIN"
	default:
		return "USER or OPS"
	}
}
