package keystore

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

// rotated is a rotation whose first steps are done.
func rotated(t *testing.T, method RotationMethod, done int, change func(*RotationPlan)) RotationPlan {
	t.Helper()
	p := PlanRotation(goodKey(), method, []RotationUser{{Name: "profile acme", Ref: "env:A"}}, today)
	p.OldLast4 = "1111"
	var err error
	for i := range done {
		if p, err = p.Record(i, Proof{By: Measured}, today); err != nil {
			t.Fatal(err)
		}
	}
	if done > 0 {
		p.NewFingerprint, p.NewLast4 = "feedfacefeedface", "2222"
	}
	if change != nil {
		change(&p)
	}
	return p
}

func givenUp(p *RotationPlan) { p.Abandoned, p.Ended = true, today }

func TestARotationThatDidNotEndIsNotHealthy(t *testing.T) {
	tests := map[string]struct {
		plan        RotationPlan
		state, rule string
	}{
		"begun":                   {rotated(t, RotateByNewKey, 0, nil), "rotating 0 of 6", ruleRotationUnderWay},
		"half done":               {rotated(t, RotateByNewKey, 3, nil), "rotating 3 of 6", ruleRotationUnderWay},
		"done":                    {rotated(t, RotateByNewKey, 6, nil), "", ""},
		"given up with two":       {rotated(t, RotateByNewKey, 2, givenUp), "given up, two values valid", ruleRotationGivenUp},
		"given up before":         {rotated(t, RotateByNewKey, 0, givenUp), "", ""},
		"given up when deleted":   {rotated(t, RotateByNewKey, 4, givenUp), "", ""},
		"given up when refreshed": {rotated(t, RotateByRefresh, 1, givenUp), "given up after a refresh", ruleRotationGivenUp},
		"refused after a refresh": {rotated(t, RotateByRefresh, 4, givenUp), "", ""},
		"of a password":           {rotated(t, RotateByNewKey, 2, func(p *RotationPlan) { p.Zone = "z" }), "", ""},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			p, left := Unfinished([]RotationPlan{want.plan})("", want.plan.Key)
			if left != (want.state != "") || p.UnfinishedState() != want.state {
				t.Errorf("%v, %q, want %q", left, p.UnfinishedState(), want.state)
			}
			found := Checks{Now: func(model.Key) time.Time { return today }, Usage: func(model.Key) KeyUsage { return KeyUsage{Rotation: p} }}.Lint([]model.Key{goodKey()})
			switch {
			case want.rule == "" && len(found) > 0, want.rule != "" && len(found) != 1:
				t.Errorf("%+v", found)
			case want.rule != "" && (found[0].Rule != want.rule || !strings.Contains(found[0].Evidence, p.ID) || found[0].Fix == ""):
				t.Errorf("%+v", found[0])
			}
		})
	}
}

func TestALaterRotationThatEndedSettlesAnEarlierOne(t *testing.T) {
	up, whole, begun := rotated(t, RotateByNewKey, 2, givenUp), rotated(t, RotateByNewKey, 6, nil), rotated(t, RotateByNewKey, 0, givenUp)
	if _, left := Unfinished([]RotationPlan{whole, up})("", up.Key); left {
		t.Error("left after a whole one")
	}
	if p, left := Unfinished([]RotationPlan{begun, up})("", up.Key); !left || p.NewFingerprint == "" {
		t.Error("one that made nothing settles it")
	}
	if _, left := Unfinished([]RotationPlan{up})("acme", up.Key); left {
		t.Error("it is that of a key of another profile")
	}
}
