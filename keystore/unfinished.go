package keystore

import (
	"fmt"
	"slices"
)

// Unfinished finds, among records with the newest first, the last rotation of a key that did not come to
// its end, unless a later one did: one under way, or one that was given up with a new value made.
// profile is the one that the key comes with, empty for a key of the inventory.
func Unfinished(plans []RotationPlan) func(profile, key string) (RotationPlan, bool) {
	left, settled := map[[2]string]RotationPlan{}, map[[2]string]bool{}
	for _, p := range plans {
		id := [2]string{p.Profile, p.Key}
		if settled[id] || !p.OfKey(p.Profile, p.Key) {
			continue
		}
		unfinished := p.UnfinishedWord() != ""
		if unfinished {
			left[id] = p
		}
		settled[id] = unfinished || !p.Abandoned
	}
	return func(profile, key string) (RotationPlan, bool) {
		p, ok := left[[2]string{profile, key}]
		return p, ok
	}
}

// UnfinishedWord is "rotating" while the rotation of a key is under way, and "given up" where one ended
// with two values of which neither was seen to end; else it is empty.
func (p RotationPlan) UnfinishedWord() string {
	deleted, _ := p.Step(StepDelete, "")
	refused, _ := p.Step(StepRefused, "")
	switch {
	case !p.Proven() || p.Zone != "" || p.Undone:
		return ""
	case !p.Over():
		return "rotating"
	case p.Abandoned && p.made() && !deleted.Done && !refused.Done:
		return "given up"
	}
	return ""
}

// made reports whether the service was seen to accept the new value.
func (p RotationPlan) made() bool {
	return slices.ContainsFunc(p.Steps, func(s RotationStep) bool { return s.Done && (s.Kind == StepCreate || s.Kind == StepRefresh) })
}

// UnfinishedState is "rotating 3 of 9", or "given up, two values valid".
func (p RotationPlan) UnfinishedState() string {
	switch word := p.UnfinishedWord(); {
	case word == "":
		return ""
	case !p.Over():
		measured, vouched := p.Count()
		return fmt.Sprintf("%s %d of %d", word, measured+vouched, len(p.Steps))
	case p.Method == RotateByRefresh:
		return word + " after a refresh"
	default:
		return word + ", two values valid"
	}
}

// unfinishedRules are about the rotation that KeyUsage has.
func unfinishedRules() []LintRule {
	const source = "contract 5.4"
	return []LintRule{
		{
			ruleRotationGivenUp, SeverityWarn, areaRotation,
			"of a rotation that was given up the new value and the old one stay valid: the old key is to be deleted", source,
			func(c lintCase) bool { return c.usage.Rotation.UnfinishedWord() != "" && c.usage.Rotation.Over() },
			func(c lintCase) (text, fix string) {
				p := c.usage.Rotation
				if p.Method == RotateByRefresh {
					return "its last rotation was given up after the refresh: not every use was seen to have the new value (••••" + p.NewLast4 + ")", "see that each use has the new value, or rotate it to the end"
				}
				return fmt.Sprintf("its last rotation was given up: the old value (••••%s) and the new one (••••%s) were both valid then", p.OldLast4, p.NewLast4),
					"delete the key that is not used in the account settings, and rotate this one to the end"
			},
		},
		{
			ruleRotationUnderWay, SeverityWarn, areaRotation,
			"until a rotation is at its end, what uses the key has one value or the other", source,
			func(c lintCase) bool { return c.usage.Rotation.UnfinishedWord() != "" && !c.usage.Rotation.Over() },
			func(c lintCase) (text, fix string) {
				return "it is being rotated: " + c.usage.Rotation.UnfinishedState(), "go on with it (keys rotate " + c.key.Name + "), or end it with --abandon"
			},
		},
	}
}

// unfinished is the evidence of those rules.
func (c lintCase) unfinished() string {
	p := c.usage.Rotation
	if p.Over() {
		return "record " + p.ID + ", given up " + FormatMoment(p.Ended)
	}
	said := "record " + p.ID + ", begun " + FormatMoment(p.Started)
	if n := p.Now(); n >= 0 {
		said += ", next " + p.Steps[n].Name()
	}
	return said
}
