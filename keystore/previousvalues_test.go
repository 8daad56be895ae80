package keystore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// left is a rotation of etl-main from one value to another, by its new key, with so many steps done.
func left(t *testing.T, from, to string, steps int, at time.Time) RotationPlan {
	t.Helper()
	k := fullKey()
	k.Fingerprint, k.Last4 = from, from
	p := PlanRotation(k, RotateByNewKey, nil, at)
	p.NewFingerprint, p.NewLast4 = to, to
	var err error
	for n := range steps {
		if p, err = p.Record(n, Proof{By: Measured}, at); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestTheValuesThatRotationsLeft has several rotations of one key, newest first.
func TestTheValuesThatRotationsLeft(t *testing.T) {
	givenUp := func(p RotationPlan) RotationPlan {
		p, err := p.Abandon(today)
		noerr.Must(t, err)
		return p
	}
	whole := len(left(t, "a", "b", 0, today).Steps)
	live := func(value string) PreviousValue { return PreviousValue{value, value, time.Time{}} }
	ended := func(value string) PreviousValue { return PreviousValue{value, value, today} }
	other := left(t, "x", "y", 1, today)
	other.Profile = "local"
	for name, c := range map[string]struct {
		plans []RotationPlan
		want  []PreviousValue
	}{
		"none":                           {nil, nil},
		"begun":                          {[]RotationPlan{left(t, "a", "", 0, today)}, []PreviousValue{live("a")}},
		"a value that nobody accepted":   {[]RotationPlan{left(t, "a", "b", 0, today)}, []PreviousValue{live("a")}},
		"under way":                      {[]RotationPlan{left(t, "a", "b", 2, today)}, []PreviousValue{live("a"), live("b")}},
		"given up":                       {[]RotationPlan{givenUp(left(t, "a", "b", 2, today))}, []PreviousValue{live("a"), live("b")}},
		"given up before":                {[]RotationPlan{givenUp(left(t, "a", "", 0, today))}, nil},
		"done":                           {[]RotationPlan{left(t, "a", "b", whole, today)}, []PreviousValue{ended("a")}},
		"given up once it was refused":   {[]RotationPlan{givenUp(left(t, "a", "b", whole-1, today))}, []PreviousValue{ended("a")}},
		"done after one was given up":    {[]RotationPlan{left(t, "b", "c", whole, today), givenUp(left(t, "a", "b", 2, today))}, []PreviousValue{ended("b"), live("a")}},
		"given up after one was done":    {[]RotationPlan{givenUp(left(t, "b", "c", 2, today)), left(t, "a", "b", whole, today)}, []PreviousValue{live("b"), live("c"), ended("a")}},
		"the older of two ends the same": {[]RotationPlan{givenUp(left(t, "a", "c", 2, today)), left(t, "a", "b", whole, today)}, []PreviousValue{ended("a"), live("c")}},
		"of another key":                 {[]RotationPlan{other}, nil},
	} {
		if got := PreviousValues(c.plans)("", fullKey().Name); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestAnEndedValueInAFileIsAFinding has what a scan found.
func TestAnEndedValueInAFileIsAFinding(t *testing.T) {
	for ended, want := range map[int]bool{0: false, 1: true} {
		c := Checks{Now: func(model.Key) time.Time { return today }, Usage: func(model.Key) KeyUsage { return KeyUsage{Ended: []string{"deploy/.env:4"}[:ended]} }}
		findings := c.Lint([]model.Key{goodKey()})
		i := slices.IndexFunc(findings, func(f Finding) bool { return f.Rule == ruleEndedValue })
		if (i >= 0) != want || i >= 0 && (findings[i].Evidence != "deploy/.env:4" || findings[i].Severity != SeverityWarn) {
			t.Errorf("%d places: %+v", ended, findings)
		}
	}
}

// TestARecordOfAnEndedValueIsAFinding has the rotation of another key that had the same value.
func TestARecordOfAnEndedValueIsAFinding(t *testing.T) {
	whole := len(left(t, "a", "b", 0, today).Steps)
	for name, c := range map[string]struct {
		plan RotationPlan
		want bool
	}{
		"ended":               {left(t, "held", "b", whole, today), true},
		"not refused yet":     {left(t, "held", "b", whole-2, today), false},
		"of another value":    {left(t, "a", "b", whole, today), false},
		"of an unknown value": {left(t, "", "b", whole, today), false},
	} {
		endedBy := EndedBy([]RotationPlan{c.plan})
		k := goodKey()
		k.Fingerprint = "held"
		checks := Checks{Now: func(model.Key) time.Time { return today }, Usage: func(k model.Key) KeyUsage { return KeyUsage{EndedBy: endedBy(k.Fingerprint)} }}
		findings := checks.Lint([]model.Key{k})
		i := slices.IndexFunc(findings, func(f Finding) bool { return f.Rule == ruleEndedRecord })
		if (i >= 0) != c.want || i >= 0 && !strings.Contains(findings[i].Evidence, "the rotation of "+c.plan.Key) {
			t.Errorf("%s: %+v", name, findings)
		}
		if got := endedBy(""); got != "" {
			t.Errorf("%s: an unknown value was ended by %s", name, got)
		}
	}
}
