package rotate_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
)

func TestAReportHoldsNoSequencesAndNoPictures(t *testing.T) {
	k := model.Key{Name: "etl|main", Secret: "env:ETL"}
	plan := keystore.PlanRotation(k, keystore.RotateByNewKey, []keystore.RotationUser{
		{Name: "a\x1b]0;title\x07\x1b[31mred\u202e.env:1", File: "a"},
		{Name: "![x](http://evil.test/p) *b* `c` <img>:2", File: "b"},
	}, time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	report := rotate.Report(plan)
	for _, r := range report {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("the report holds %q", r)
		}
	}
	for _, want := range []string{
		`test aU+001B\]0;titleU+0007U+001B\[31mredU+202E.env:1 |`,
		`test \!\[x\](http://evil.test/p) \*b\* 'c' &lt;img>:2 |`,
		"# Rotation of etl\\|main\n",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is not in the report:\n%s", want, report)
		}
	}
}

// TestTheReportOfARefreshSaysWhatItsOutageIsMeasuredBy has a use that the console calls as, one that a
// person vouches for, and one that is not reached.
func TestTheReportOfARefreshSaysWhatItsOutageIsMeasuredBy(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	k := model.Key{Name: "etl", Secret: "file:etl"}
	plan := keystore.PlanRotation(k, keystore.RotateByRefresh, []keystore.RotationUser{{Name: "profile acme", Ref: "file:etl"}, {Name: "nightly"}, {Name: "weekly"}}, at)
	plan.LastOld, plan.FirstNew, plan.NewFingerprint = at, at.Add(time.Second), "f00"
	for n := range 6 { // the refresh, three settings, two calls
		proof := keystore.Proof{By: keystore.Measured, Status: 200}
		if plan.Steps[n].Subject == "nightly" {
			proof = keystore.Proof{By: keystore.Vouched}
		}
		plan = noerr.Try(plan.Record(n, proof, at.Add(time.Duration(n+2)*time.Second))).Must(t)
	}
	report := rotate.Report(plan)
	for _, want := range []string{
		"no value worked everywhere for 5s at most", "last reference set 09:00:05.000Z",
		"It is measured by references: what reads its reference before each call", "until it reads it again, which nothing here sees",
		"| profile acme | 2026-11-22 09:00:06 UTC, made by the console as it does |",
		"| nightly | not measured: vouched for 2026-11-22 09:00:07 UTC |", "| weekly | none yet |",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is not in the report:\n%s", want, report)
		}
	}
	if other := rotate.Report(keystore.PlanRotation(k, keystore.RotateByNewKey, plan.Users, at)); strings.Contains(other, "measured by references") {
		t.Errorf("there is no outage:\n%s", other)
	}
}
