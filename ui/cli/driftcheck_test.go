package cli

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/drift"
)

func TestACollectorThatGivesNothingFailsTheCheckWhateverItsLastRunWas(t *testing.T) {
	s := drift.Standing{
		Run: drift.Run{Ref: "job-1", Useful: 40}, Verdict: drift.Verdict{State: drift.Good, Against: 3},
		Silent: 2, SilentClass: model.ClassTooFast, Since: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC),
	}
	if c := newChecked(s); checkedCode([]checkedJSON{c}, false) != exitOK || !c.Judged {
		t.Errorf("two silent runs: %+v", c)
	}
	s.Silent = 3
	c := newChecked(s)
	if checkedCode([]checkedJSON{c}, false) != exitParsingDrift || c.Why != "no useful row in the last 3 runs, since 2026-08-01: too fast" {
		t.Errorf("three: %+v", c)
	}
}

func TestTheCheckDoesNotSpeakOfAnIncompleteResult(t *testing.T) {
	s := drift.Standing{Run: drift.Run{Ref: "job-1", Useful: 40}, Verdict: drift.Verdict{State: drift.Good, Against: 3}, Incomplete: "job-2"}
	c := newChecked(s)
	if c.Judged || !strings.HasPrefix(c.Why, "the result of job-2 is incomplete") || checkedCode([]checkedJSON{c}, true) != exitChecksFailed {
		t.Errorf("%+v", c)
	}
	s.Verdict = drift.Verdict{State: drift.Drift, Findings: []drift.Finding{{Field: "price", Word: drift.Lost}}}
	if c := newChecked(s); checkedCode([]checkedJSON{c}, true) != exitParsingDrift {
		t.Errorf("drift before it: %+v", c)
	}
}

func TestTheCheckIsNoSuccessWhereARunGaveNothing(t *testing.T) {
	good, empty := checkedJSON{Judged: true, State: string(drift.Good)}, checkedJSON{State: string(drift.Empty)}
	first, drifts := checkedJSON{State: string(drift.First)}, checkedJSON{Judged: true, State: string(drift.Drift), Fields: []string{"a"}}
	for _, c := range []struct {
		all   []checkedJSON
		asked bool
		want  int
	}{
		{[]checkedJSON{good}, false, exitOK},
		{[]checkedJSON{good, first}, false, exitOK},
		{[]checkedJSON{good, first}, true, exitChecksFailed},
		{[]checkedJSON{first}, false, exitChecksFailed},
		{[]checkedJSON{good, empty}, false, exitChecksFailed},
		{[]checkedJSON{empty, drifts, empty}, true, exitParsingDrift},
		{nil, false, exitChecksFailed},
	} {
		if got := checkedCode(c.all, c.asked); got != c.want {
			t.Errorf("%+v, asked for %v: %d, want %d", c.all, c.asked, got, c.want)
		}
	}
}
