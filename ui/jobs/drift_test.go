package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/drift"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeMonitor has one collector with drift, and one that gives nothing.
type fakeMonitor struct {
	mu      sync.Mutex
	calls   []string
	accept  bool
	left    []drift.Finding // what stays drift when it is accepted
	alone   bool            // no earlier run was otherwise
	hold    chan struct{}   // Show answers once it is closed
	listErr error
	unknown bool  // why the dead collector gives nothing
	err     error // of what is done
	older   bool  // the run that is shown is not the newest
}

func (f *fakeMonitor) called(words ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(words, " "))
}

func (f *fakeMonitor) standing() drift.Standing {
	of := drift.Subject{Profile: "acme", Kind: drift.Dataset, Name: "gd_shop"}
	s := drift.Standing{Run: drift.Run{
		Seq: 2, Subject: of, Ref: "job-2", At: time.Now(), Form: drift.FormJSON, Returned: 40, Useful: 40,
		Fields: []drift.Field{{Path: "name", Present: 40, Filled: 40}, {Path: "price", Present: 40}},
	}}
	s.Remaining, s.Older, s.States = f.left, f.older, []drift.State{drift.First, drift.Good, drift.Drift}
	if f.accept {
		s.Verdict = drift.Verdict{State: drift.Good, Accepted: true}
		if len(f.left) > 0 {
			s.Verdict = drift.Verdict{State: drift.Drift, Accepted: true, Contract: true, Findings: f.left}
		}
		s.Accepted = drift.Acceptance{Seq: 1, Ref: "job-2", At: time.Now(), Person: "ops"}
		return s
	}
	if f.alone {
		s.Verdict = drift.Verdict{State: drift.Drift, Contract: true, Findings: f.left}
		return s
	}
	s.Verdict = drift.Verdict{State: drift.Drift, Against: 1, Findings: []drift.Finding{{Field: "price", Word: drift.Emptied, Text: "price is there and empty in each of 40 rows", Since: "job-2"}}}
	return s
}

func (f *fakeMonitor) List(context.Context) ([]drift.Standing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dead := drift.Standing{
		Run:     drift.Run{Subject: drift.Subject{Profile: "acme", Kind: drift.Dataset, Name: "gd_dead"}, Ref: "job-1", At: time.Now()},
		Verdict: drift.Verdict{State: drift.Empty}, Silent: 4, SilentClass: model.ClassAccessRestricted, Since: time.Now(),
	}
	if f.unknown {
		dead.SilentClass, dead.SilentCause = model.ClassOutside, model.CauseUnrecognised
		dead.Incomplete = "job-7"
	}
	return []drift.Standing{dead, f.standing()}, f.listErr
}

func (f *fakeMonitor) Show(ctx context.Context, kind drift.Kind, name, ref string) (drift.Detail, error) {
	f.called(slices.DeleteFunc([]string{"show", string(kind), name, ref}, func(s string) bool { return s == "" })...)
	f.mu.Lock()
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.standing()
	return drift.Detail{Standing: s, Runs: []drift.Run{s.Run, {Seq: 1, Subject: s.Run.Subject, Ref: "job-0"}}, Lines: []drift.Line{
		{Field: "price", Requested: true, Now: 0, Before: 1, History: []float64{1, 0}, Type: "number", Against: 1, Findings: s.Verdict.Findings, Since: "job-1", Matches: ".card", Fails: ".price", Matched: true},
		{Field: "name", Requested: true, Now: 1, Before: 1, History: []float64{1, 1}, Type: "text", Against: 1},
	}}, nil
}

func (f *fakeMonitor) Accept(_ context.Context, kind drift.Kind, name string, seq int64, reason string) (drift.Standing, error) {
	f.called("accept", string(kind), name, strconv.FormatInt(seq, 10), reason)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accept = f.err == nil
	return f.standing(), f.err
}

func (f *fakeMonitor) TakeBack(_ context.Context, kind drift.Kind, name string) error {
	f.called("take back", string(kind), name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accept = false
	return f.err
}

func (f *fakeMonitor) ToEdit(kind drift.Kind, name string) (string, error) {
	f.called("contract", string(kind), name)
	return "/home/ops/contracts/dataset-gd_shop.toml", f.err
}

func flowDrift(t *testing.T, f *fakeMonitor, body func(s *uitest.Screen)) {
	t.Helper()
	flow(t, &fakeJobs{jobs: []model.Job{{ID: "job-2", Dataset: "gd_shop", State: model.JobDownloaded, Profile: "acme"}}, drift: f}, "brightdata", 120, 40, body)
}

func TestDriftIsReadAnewWhenTheTabIsShownAgain(t *testing.T) {
	f := &fakeMonitor{}
	flowDrift(t, f, func(s *uitest.Screen) {
		s.Press("D", "j")
		s.Expect("›! drift             gd_shop", "·✓!")
		s.Press("enter")
		s.Expect("Drift · gd_shop", "! emptied since job-1")
		s.Press("down")
		s.Expect("name is as in the good run before")
		s.Press("2")
		s.Expect("[2 Elsewhere]")
		f.mu.Lock()
		f.accept = true // by another process
		f.mu.Unlock()
		s.Press("1")
		s.Expect("✓ ok", "normal since job-2; accepted by ops")
	})
}

// The board says what its words for a collector mean, and that a cell leaves fields out.
func TestTheBoardOfDriftSaysWhatItsWordsMean(t *testing.T) {
	f := &fakeMonitor{unknown: true, left: []drift.Finding{
		{Field: strings.Repeat("very_long_", 12), Word: drift.Lost, Text: "one is lost"}, {Field: "price", Word: drift.Lost, Text: "price is lost"},
	}, accept: true}
	flowDrift(t, f, func(s *uitest.Screen) {
		s.Press("D")
		s.Expect("unrecognised: the console does not know these errors", "the result of job-7 is incomplete and not judged", "2 fields: very_long_")
	})
}

func TestDriftIsAcceptedAndTakenBackInOneKey(t *testing.T) {
	f := &fakeMonitor{}
	flowDrift(t, f, func(s *uitest.Screen) {
		s.Press("D")
		s.Expect("Drift · 2 collectors · 1 with drift · 1 without useful rows", "✗ no useful row ×4", "access restricted", "no useful row in the last 4 runs")
		s.Press("a") // of a collector without a run
		s.Expect("no run of it is stored: its jobs left no result")
		s.Press("j")
		s.Expect("price is there and empty in each of 40 rows")
		s.Press("u")
		s.Expect("nothing was accepted")
		s.Press("enter")
		s.Expect("Drift · gd_shop", "█▁", "! emptied since job-1")
		s.Expect("! .price matches nothing any more; .card still matches")
		s.Press("a")
		s.Expect("job-2 is the new normal of gd_shop · u undoes this")
		s.Expect("✓ ok", "normal since job-2; accepted by ops")
		s.Press("a")
		s.Expect("its newest run is accepted already")
		s.Press("u")
		s.Expect("undid the newest acceptance of gd_shop")
		s.Expect("! drift")
		s.Press("e")
		s.Expect("the contract is /home/ops/contracts/dataset-gd_shop.toml: set $EDITOR to edit it here")
		s.Press("o")
		s.Expect("Jobs (1)", "job-2")
		s.Press("D", "esc", "esc")
		s.Expect("Jobs (1)")
		for _, want := range []string{"show dataset gd_shop", "accept dataset gd_shop 2 in the console", "take back dataset gd_shop", "contract dataset gd_shop"} {
			if !slices.Contains(f.calls, want) {
				t.Errorf("%q is not among %q", want, f.calls)
			}
		}
	})
}

// refused is what the contract says of the run.
func refused() []drift.Finding {
	return []drift.Finding{{Field: "price", Word: drift.Emptied, Contract: true, Text: "price filled in 0 of 40 rows (0 %); the contract wants at least 95 %"}}
}

func TestWhatTheContractRefusesIsAskedBeforeItIsAccepted(t *testing.T) {
	f := &fakeMonitor{left: refused()}
	flowDrift(t, f, func(s *uitest.Screen) {
		s.Press("D", "j", "a")
		s.Expect("Accept gd_shop?", "Accepting job-2 makes this normal:", "· price is there and empty in each of 40 rows",
			"This stays wrong, and job-2 is still drift:", "! price filled in 0 of 40 rows (0 %); the contract wants at least 95 %",
			"The contract requires it: e edits it.")
		s.Press("a")
		s.Expect("job-2 is the new normal of gd_shop · u undoes this. Its contract still refuses it: price filled in 0 of 40 rows", "! drift")
		s.Press("a") // only the contract is left
		s.Expect("Accepting job-2 would change nothing. Only this makes it drift")
		s.Press("a")
		s.Expect("accept anyway: it does not differ from earlier runs")
		s.Press("e")
		s.Expect("the contract is /home/ops/contracts/dataset-gd_shop.toml: set $EDITOR to edit it here")
	})
}

func TestARunThatItsContractAndItsFetchRefuseLeadsToBoth(t *testing.T) {
	f := &fakeMonitor{left: append(refused(), drift.Finding{Field: ".price", Word: drift.Missing, Text: ".price matched nothing, and the fetch requires it"})}
	flowDrift(t, f, func(s *uitest.Screen) {
		s.Press("D", "j", "a")
		s.Expect("The fetch requires some of it: o opens it in the Sandbox", "The contract asks for the rest: e edits it.")
		screen := s.Screen()
		s.Press("o")
		if refusal := s.Refusal("o", screen); refusal != "" {
			t.Error(refusal)
		}
	})
}

func TestWhatAFetchRequiresLeadsToTheSandbox(t *testing.T) {
	f := &fakeMonitor{left: []drift.Finding{{Field: ".price", Word: drift.Missing, Text: ".price matched nothing, and the fetch requires it"}}}
	flowDrift(t, f, func(s *uitest.Screen) {
		s.Press("D", "j", "a")
		s.Expect("The fetch requires it: o opens it in the Sandbox")
		s.Press("e")
		s.Expect("edit: no contract refuses it")
		s.Press("esc")
		s.Expect("Drift · 2 collectors")
	})
}

func TestFieldsThatComeAfterThePageWasLeftDoNotOpenIt(t *testing.T) {
	f := &fakeMonitor{}
	flowDrift(t, f, func(s *uitest.Screen) {
		f.hold = make(chan struct{})
		s.Press("D", "j", "enter", "esc")
		s.Expect("Jobs (1)")
		close(f.hold)
		s.Press("D")
		s.Expect("Drift · 2 collectors")
	})
}

func TestWhatGoesWrongWithDriftIsTold(t *testing.T) {
	f := &fakeMonitor{err: errors.New("the disk is full"), listErr: &textfile.Error{File: "c.toml", Line: 4, Column: 1, Msg: "\"int\" is not a type", Expected: "text"}}
	flowDrift(t, f, func(s *uitest.Screen) {
		s.Press("D", "j")
		s.Expect("a contract is left out: c.toml:4:1", "gd_shop")
		f.mu.Lock()
		f.listErr = &textfile.Error{File: "c.toml", Line: 5, Column: 1, Msg: strings.Repeat("wrong ", 400), Expected: "text"}
		f.mu.Unlock()
		s.Press("r")
		s.Expect("a contract is left out: c.toml:5:1", "wrong …", "gd_shop")
		for key, want := range map[string]string{"a": "accept gd_shop: the disk is full", "e": "the contract: the disk is full"} {
			s.AllowError(want)
			s.Press(key)
			s.Expect(want)
			s.Press("esc")
		}
		f.mu.Lock()
		f.err = drift.ErrNewer
		f.mu.Unlock()
		s.AllowError("a newer run is there")
		s.Press("a")
		s.Expect("accept gd_shop: a newer run is there: look at it first")
		s.Press("esc")
		f.mu.Lock()
		f.listErr = errors.New("the file is locked by another process")
		f.mu.Unlock()
		s.Press("r")
		s.Expect("The stored runs cannot be read: the file is locked by another process")
	})
}

// A result whose fields were emptied is no success: the message, the row and the detail say so, and D shows the fields.
func TestADownloadThatDriftsSaysSo(t *testing.T) {
	m := &fakeMonitor{}
	f := &fakeJobs{jobs: []model.Job{readyJob()}, drift: m, drifts: model.JobDrift{Text: "5 fields emptied since job-1", Fields: 5, Since: "job-1"}}
	flow(t, f, "brightdata", 80, 30, func(s *uitest.Screen) {
		s.Press("d", "ctrl+s")
		s.Expect("! job-9: drift: 5 fields emptied since job-1 (D shows the fields) · downloaded")
		s.Expect("›! drift: 5 fields emptied since job-1 job-9", "│ ! drift: 5 fields emptied since job-1 (D shows the fields)")
		s.ExpectNot("✓ downloaded")
		s.Press("D")
		if !slices.Equal(m.calls, []string{"show dataset gd_products job-9"}) {
			t.Errorf("%q", m.calls)
		}
	})
}

// A line of the history about drift leads to the fields of that run; an older run cannot be accepted.
func TestDriftOfAnOlderRunIsShownAndNotAccepted(t *testing.T) {
	m := &fakeMonitor{older: true}
	job := readyJob()
	job.State, job.Rows.Drift = model.JobDownloaded, model.JobDrift{Text: "1 field emptied since job-1", Fields: 1, Since: "job-1"}
	flow(t, &fakeJobs{jobs: []model.Job{job}, drift: m}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Send(kit.OpenEntry(model.HistoryEntry{Kind: model.HistoryJob, Ref: "job-9", Class: model.ClassParsingDrift})())
		s.Expect("Drift · gd_shop", "! emptied since job-1")
		if !slices.Equal(m.calls, []string{"show dataset gd_products job-9"}) {
			t.Errorf("%q", m.calls)
		}
		s.Press("a")
		s.Expect("a newer run is there")
		s.Send(kit.OpenEntry(model.HistoryEntry{Kind: model.HistoryJob, Ref: "job-9"})())
		s.Expect("▌job-9 · gd_products")
	})
}
