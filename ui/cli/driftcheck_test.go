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
	if c := view.NewStoredDriftCheck(s, s.Run.At, 0); checkedCode([]view.DriftCheck{c}, false) != exitOK || !c.Judged {
		t.Errorf("two silent runs: %+v", c)
	}
	s.Silent = 3
	c := view.NewStoredDriftCheck(s, s.Run.At, 0)
	if checkedCode([]view.DriftCheck{c}, false) != exitParsingDrift || c.Reason != "no useful row in the last 3 runs, since 2026-08-01: too fast" {
		t.Errorf("three: %+v", c)
	}
}

func TestTheCheckDoesNotSpeakOfAnIncompleteResult(t *testing.T) {
	s := drift.Standing{Run: drift.Run{Ref: "job-1", Useful: 40}, Verdict: drift.Verdict{State: drift.Good, Against: 3}, Incomplete: "job-2"}
	c := view.NewStoredDriftCheck(s, s.Run.At, 0)
	if c.Judged || !strings.HasPrefix(c.Reason, "the result of job-2 is incomplete") || checkedCode([]view.DriftCheck{c}, true) != exitChecksFailed {
		t.Errorf("%+v", c)
	}
	s.Verdict = drift.Verdict{State: drift.Drift, Findings: []drift.Finding{{Field: "price", Word: drift.Lost}}}
	if c := view.NewStoredDriftCheck(s, s.Run.At, 0); checkedCode([]view.DriftCheck{c}, true) != exitParsingDrift {
		t.Errorf("drift before it: %+v", c)
	}
}

func TestACollectorWithoutANewRunFailsTheCheck(t *testing.T) {
	at := time.Date(2026, 8, 1, 6, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		state drift.State
		age   time.Duration
		most  time.Duration
		want  int
		says  string
	}{
		"no limit":  {drift.Good, 1000 * time.Hour, 0, exitOK, ""},
		"new":       {drift.Good, 48 * time.Hour, 48 * time.Hour, exitOK, ""},
		"old":       {drift.Good, 48*time.Hour + time.Second, 48 * time.Hour, exitChecksFailed, "its newest run, job-1, is of 2026-08-01T06:00:00Z and older than --max-age"},
		"old drift": {drift.Drift, 49 * time.Hour, 48 * time.Hour, exitParsingDrift, ""},
	} {
		s := drift.Standing{Run: drift.Run{Ref: "job-1", Useful: 40, At: at}, Verdict: drift.Verdict{State: c.state, Against: 3}}
		if c.state == drift.Drift {
			s.Verdict.Findings = []drift.Finding{{Field: "price", Word: drift.Lost}}
		}
		got := view.NewStoredDriftCheck(s, at.Add(c.age), c.most)
		if code := checkedCode([]view.DriftCheck{got}, false); code != c.want || got.Reason != c.says {
			t.Errorf("%s: %d, %+v", name, code, got)
		}
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
