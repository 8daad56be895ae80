package cli

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/drift"
	"zonedeck/service/view"
)

func TestACollectorThatGivesNothingFailsTheCheckWhateverItsLastRunWas(t *testing.T) {
	s := drift.Standing{
		Run: drift.Run{Ref: "job-1", Useful: 40}, Verdict: drift.Verdict{State: drift.Good, Against: 3},
		Silent: 2, SilentClass: model.ClassTooFast, Since: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC),
	}
	if c := view.NewStoredDriftCheck(s); checkedCode([]view.DriftCheck{c}, false) != exitOK || !c.Judged {
		t.Errorf("two silent runs: %+v", c)
	}
	s.Silent = 3
	c := view.NewStoredDriftCheck(s)
	if checkedCode([]view.DriftCheck{c}, false) != exitParsingDrift || c.Reason != "no useful row in the last 3 runs, since 2026-08-01: too fast" {
		t.Errorf("three: %+v", c)
	}
}

func TestTheCheckDoesNotSpeakOfAnIncompleteResult(t *testing.T) {
	s := drift.Standing{Run: drift.Run{Ref: "job-1", Useful: 40}, Verdict: drift.Verdict{State: drift.Good, Against: 3}, Incomplete: "job-2"}
	c := view.NewStoredDriftCheck(s)
	if c.Judged || !strings.HasPrefix(c.Reason, "the result of job-2 is incomplete") || checkedCode([]view.DriftCheck{c}, true) != exitChecksFailed {
		t.Errorf("%+v", c)
	}
	s.Verdict = drift.Verdict{State: drift.Drift, Findings: []drift.Finding{{Field: "price", Word: drift.Lost}}}
	if c := view.NewStoredDriftCheck(s); checkedCode([]view.DriftCheck{c}, true) != exitParsingDrift {
		t.Errorf("drift before it: %+v", c)
	}
}

func TestTheCheckIsNoSuccessWhereARunGaveNothing(t *testing.T) {
	good, empty := view.DriftCheck{Judged: true, State: string(drift.Good)}, view.DriftCheck{State: string(drift.Empty)}
	first, drifts := view.DriftCheck{State: string(drift.First)}, view.DriftCheck{Judged: true, State: string(drift.Drift), Fields: []string{"a"}}
	for _, c := range []struct {
		all   []view.DriftCheck
		asked bool
		want  int
	}{
		{[]view.DriftCheck{good}, false, exitOK},
		{[]view.DriftCheck{good, first}, false, exitOK},
		{[]view.DriftCheck{good, first}, true, exitChecksFailed},
		{[]view.DriftCheck{first}, false, exitChecksFailed},
		{[]view.DriftCheck{good, empty}, false, exitChecksFailed},
		{[]view.DriftCheck{empty, drifts, empty}, true, exitParsingDrift},
		{nil, false, exitChecksFailed},
	} {
		if got := checkedCode(c.all, c.asked); got != c.want {
			t.Errorf("%+v, asked for %v: %d, want %d", c.all, c.asked, got, c.want)
		}
	}
}
