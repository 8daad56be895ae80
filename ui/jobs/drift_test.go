package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/drift"
	"zonedeck/service/profile"
	"zonedeck/ui"
	"zonedeck/ui/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeMonitor has one collector with drift, and one that gives nothing.
type fakeMonitor struct {
	mu      sync.Mutex
	calls   []string
	accept  bool
	hold    chan struct{} // Show answers once it is closed
	listErr error
	err     error // of what is done
}

func (f *fakeMonitor) called(words ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(words, " "))
}

func (f *fakeMonitor) standing() drift.Standing {
	of := drift.Collector{Profile: "acme", Kind: drift.Dataset, Name: "gd_shop"}
	s := drift.Standing{Run: drift.Run{
		Seq: 2, Collector: of, Ref: "job-2", At: time.Now(), Form: drift.FormJSON, Returned: 40, Useful: 40,
		Fields: []drift.Field{{Path: "name", Present: 40, Filled: 40}, {Path: "price", Present: 40}},
		Sample: []drift.Sample{{Key: "u1", Text: `{"name":"x","price":null}`}},
	}}
	if f.accept {
		s.Verdict = drift.Verdict{State: drift.Good, Accepted: true}
		s.Accepted = drift.Acceptance{Seq: 1, Ref: "job-2", At: time.Now(), Person: "ops"}
		return s
	}
	s.Verdict = drift.Verdict{State: drift.Drift, Against: 1, Findings: []drift.Finding{{Field: "price", Word: drift.Emptied, Text: "price is there and empty in each of 40 rows", Since: "job-2"}}}
	return s
}

func (f *fakeMonitor) List(context.Context) ([]drift.Standing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dead := drift.Standing{
		Run:     drift.Run{Collector: drift.Collector{Profile: "acme", Kind: drift.Dataset, Name: "gd_dead"}, Ref: "job-1", At: time.Now()},
		Verdict: drift.Verdict{State: drift.Empty}, Silent: 4, SilentClass: model.ClassAccessRestricted, Since: time.Now(),
	}
	return []drift.Standing{dead, f.standing()}, f.listErr
}

func (f *fakeMonitor) Show(ctx context.Context, kind drift.Kind, name string) (drift.Detail, error) {
	f.called("show", string(kind), name)
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
	good := drift.Run{Seq: 1, Collector: s.Run.Collector, Ref: "job-0", Sample: []drift.Sample{{Key: "u1", Text: `{"name":"x","price":5}`}}}
	return drift.Detail{Standing: s, Runs: []drift.Run{s.Run, good}, Good: good, Lines: []drift.Line{
		{Field: "price", Now: 0, Before: 1, History: []float64{1, 0}, Type: "number", Findings: s.Verdict.Findings},
		{Field: "name", Now: 1, Before: 1, History: []float64{1, 1}, Type: "text"},
	}}, nil
}

func (f *fakeMonitor) Accept(_ context.Context, kind drift.Kind, name string, seq int64, reason string) (drift.Run, error) {
	f.called("accept", string(kind), name, strconv.FormatInt(seq, 10), reason)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accept = f.err == nil
	return f.standing().Run, f.err
}

func (f *fakeMonitor) TakeBack(_ context.Context, kind drift.Kind, name string) error {
	f.called("take back", string(kind), name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accept = false
	return f.err
}

func (f *fakeMonitor) ToEdit(_ context.Context, kind drift.Kind, name string) (string, error) {
	f.called("contract", string(kind), name)
	return "/home/ops/contracts/dataset-gd_shop.toml", f.err
}

func startDrift(t *testing.T, f *fakeMonitor) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	view := jobs.New(jobs.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, Ledger: &fakeLedger{jobs: []model.Job{{ID: "job-2", Dataset: "gd_shop", State: model.JobDownloaded, Profile: "acme"}}},
		Drift: f, Profile: func() profile.Profile { return profile.Profile{Name: "acme"} },
	})
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Jobs, View: view}, {ID: kit.Sandbox, View: &uitest.Elsewhere{}}},
		Session: kit.Session{ProfileName: "acme", Ready: true},
	})
	return uitest.Start(t, app, 120, 40)
}

func TestDriftIsAcceptedAndTakenBackInOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMonitor{}
		s := startDrift(t, f)
		s.Press("D")
		s.Expect("Drift · 2 collectors · 1 with drift · 1 without useful rows", "✗ no useful row ×4", "access restricted", "no useful row in the last 4 runs")
		s.Press("a") // of a collector without a run
		s.Expect("no run of it is stored: its jobs left no result")
		s.Press("j")
		s.Expect("price is there and empty in each of 40 rows")
		s.Press("u")
		s.Expect("nothing was accepted")
		s.Press("enter")
		s.Expect("Drift · gd_shop", "█▁", "! emptied since job-2", "first bad run")
		s.Press("enter")
		s.Expect("Before and after: gd_shop", "- before: job-0   + after: job-2", `-   "price": 5`, `+   "price": null`)
		s.Press("esc", "a")
		s.Expect("job-2 is the new normal of gd_shop: u takes it back")
		s.Expect("✓ ok", "normal since job-2, by ops")
		s.Press("a")
		s.Expect("its newest run is accepted already")
		s.Press("u")
		s.Expect("the newest acceptance of gd_shop is taken back")
		s.Expect("! drift")
		s.Press("e")
		s.Expect("the contract is in /home/ops/contracts/dataset-gd_shop.toml: set $EDITOR to edit it here")
		s.Press("o")
		s.Expect("Jobs (1)", "job-2")
		s.Press("D", "esc", "esc")
		s.Expect("Jobs (1)")
		for _, want := range []string{"show dataset gd_shop", "accept dataset gd_shop 2 accepted in the console", "take back dataset gd_shop", "contract dataset gd_shop"} {
			if !slices.Contains(f.calls, want) {
				t.Errorf("%q is not among %q", want, f.calls)
			}
		}
	})
}

func TestFieldsThatComeAfterThePageWasLeftDoNotOpenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMonitor{hold: make(chan struct{})}
		s := startDrift(t, f)
		s.Press("D", "j", "enter", "esc")
		s.Expect("Jobs (1)")
		close(f.hold)
		s.Press("D")
		s.Expect("Drift · 2 collectors")
	})
}

func TestWhatGoesWrongWithDriftIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMonitor{err: errors.New("the disk is full"), listErr: &textfile.Error{File: "c.toml", Line: 4, Column: 1, Msg: "\"int\" is not a type", Expected: "text"}}
		s := startDrift(t, f)
		s.Press("D", "j")
		s.Expect("a contract is left out: c.toml:4:1", "gd_shop")
		for key, want := range map[string]string{"a": "accept gd_shop: the disk is full", "e": "the contract: the disk is full"} {
			s.AllowError(want)
			s.Press(key)
			s.Expect(want)
			s.Press("ctrl+x")
		}
		f.mu.Lock()
		f.err = drift.ErrNewer
		f.mu.Unlock()
		s.AllowError("a newer run is there")
		s.Press("a")
		s.Expect("accept gd_shop: a newer run is there: look at it first")
		s.Press("ctrl+x")
		f.mu.Lock()
		f.listErr = errors.New("the file is locked by another process")
		f.mu.Unlock()
		s.Press("r")
		s.Expect("What is stored of runs cannot be read: the file is locked by another process")
	})
}
