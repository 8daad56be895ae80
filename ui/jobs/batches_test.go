package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
	"zonedeck/service/rows"
	"zonedeck/service/work"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeBatches has the batches that a test gives it, and remembers what was asked for.
type fakeBatches struct {
	mu       sync.Mutex
	states   []batch.State
	progress batch.Progress // what is seen of each in addition
	results  []batch.Result
	attended int
	calls    []string
	drafts   []batch.Draft
	report   batch.Report
	listErr  error
	err      error // of what is done
}

func (f *fakeBatches) called(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fakeBatches) find(id string) *batch.State {
	i := slices.IndexFunc(f.states, func(s batch.State) bool { return s.ID == id })
	return &f.states[i]
}

// change changes a batch, as the use case does.
func (f *fakeBatches) change(id string, change func(s *batch.State)) (batch.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.find(id)
	if f.err == nil {
		change(s)
	}
	return *s, f.err
}

func (f *fakeBatches) List(context.Context) ([]batch.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.states), f.listErr
}

func (f *fakeBatches) Waiting(ctx context.Context, profile string) ([]batch.State, error) {
	all, err := f.List(ctx)
	return slices.DeleteFunc(all, func(s batch.State) bool { return !s.Waits(profile) }), err
}

func (f *fakeBatches) Watch(ctx context.Context, id string, on func(batch.Progress)) error {
	for {
		f.mu.Lock()
		p := f.progress
		p.State = *f.find(id)
		f.mu.Unlock()
		on(p)
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
	}
}

func (f *fakeBatches) plan(path string, d batch.Draft) (batch.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("plan %s", path)
	f.drafts = append(f.drafts, d)
	return f.report, f.err
}

func (f *fakeBatches) Start(context.Context, batch.Report) (batch.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("start")
	s := running(0)
	s.ID = "batch-new"
	f.states = append(f.states, s)
	return s, f.err
}

func (f *fakeBatches) Discard(batch.Report) error {
	f.called("discard")
	return nil
}

func (f *fakeBatches) Begin(_ context.Context, id string) error {
	_, err := f.change(id, func(s *batch.State) {
		f.called("begin %s", id)
		s.State, s.Live, s.Reason = batch.Running, true, ""
		f.attended++
	})
	return err
}

func (f *fakeBatches) Pause(_ context.Context, id string) (batch.State, error) {
	return f.change(id, func(s *batch.State) { s.State, s.Reason, s.Live = batch.Paused, "by the operator", false })
}

func (f *fakeBatches) Set(_ context.Context, id string, to batch.Settings) (batch.State, error) {
	return f.change(id, func(s *batch.State) {
		f.called("set %d at once, %g/s, $%g", *to.AtOnce, *to.Rate, *to.Cap)
		s.AtOnce, s.Rate, s.Cap = *to.AtOnce, *to.Rate, int64(*to.Cap*1e9)
	})
}

func (f *fakeBatches) Decide(_ context.Context, id string, again bool) (batch.State, error) {
	return f.change(id, func(s *batch.State) {
		f.called("decide %v", again)
		s.Tally.Unanswered, s.State, s.Reason = 0, batch.Paused, ""
	})
}

func (f *fakeBatches) Newest(_ context.Context, _ string, _ int, failed bool) ([]batch.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []batch.Result
	for _, r := range f.results {
		if !failed || r.Class != "ok" {
			out = append(out, r)
		}
	}
	return out, f.err
}

func (f *fakeBatches) Request(_ context.Context, id string, n int64) (model.FetchRequest, error) {
	f.called("request %s %d", id, n)
	return model.FetchRequest{URL: fmt.Sprintf("http://shop.test/%d", n)}, f.err
}

func (f *fakeBatches) Attended() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attended
}

func (f *fakeBatches) Folder(id string) string { return "/state/batches/" + id }

// running is a batch at work: 100,000 items, so many of them with a result.
func running(answered int64) batch.State {
	s := batch.State{Live: true, Batch: store.Batch{
		ID: "batch-1", Name: "prices-1128", Profile: "acme", State: batch.Running,
		Items: 101_204, Duplicates: 1204, AtOnce: 16, Cap: 150e9,
	}}
	s.Plan = batch.Plan{Profile: "acme", Source: "prices.csv", Price: 15e5, Request: model.FetchRequest{Via: model.ViaAPI, Zone: model.Zone{Name: "unlocker1", Product: model.ProductUnlocker}}}
	if s.Tally.Answered = answered; answered == 0 {
		return s
	}
	s.Spent = answered * 15e5
	s.Flying = 12
	v := func(class model.Class, cause model.Cause) store.Verdict {
		return store.Verdict{Class: class, Cause: cause}
	}
	s.Tally.Verdicts = map[store.Verdict]int64{
		v(model.ClassOK, ""): answered - 2098, v(model.ClassCaptcha, ""): 811, v(model.ClassTimeout, ""): 610, v(model.ClassAccessRestricted, model.CauseSiteBlock): 402, v(model.ClassParsingDrift, ""): 275,
	}
	s.Tally.Times = map[int]int64{213: 500, 224: 100}
	s.Tally.Hosts = map[string]store.Host{
		"shop.example": {OK: 1204, Failed: map[store.Verdict]int64{v(model.ClassCaptcha, ""): 811}},
		"slow.example": {OK: 33_000, Failed: map[store.Verdict]int64{v(model.ClassTimeout, ""): 610}},
		"good.example": {OK: 4000},
	}
	return s
}

func flowBatches(t *testing.T, f *fakeJobs, w, h int, body func(s *uitest.Screen)) {
	t.Helper()
	flow(t, f, "brightdata", w, h, func(s *uitest.Screen) {
		for i := range f.batches.states {
			f.batches.states[i].Created = time.Now().Add(-time.Hour)
		}
		s.After(15 * time.Second) // until the message about one that waits is gone
		s.Press("b")
		s.Expect("Batches")
		body(s)
	})
}

// lines are results of a batch.
func lines() []batch.Result {
	return []batch.Result{
		{N: 41_199, URL: "http://shop.example/41199", Class: "ok", Status: 200, MS: 612, Attempts: 1},
		{N: 41_198, URL: "http://shop.example/41198", Class: "captcha", Status: 200, MS: 2210, Attempts: 3},
	}
}

func TestABatchInEachState(t *testing.T) {
	with := func(change func(s *batch.State, p *batch.Progress)) *fakeJobs {
		f := &fakeJobs{}
		s := running(41_200)
		p := batch.Progress{Speed: 17.9, Speeds: []float64{10, 18, 17, 12, 18, 18}, Paces: []string{"12 of 16: 13 is refused twice, tried next in 22 s", "13 of 16: refused once"}}
		change(&s, &p)
		f.batches = fakeBatches{states: []batch.State{s}, progress: p, results: lines()}
		return f
	}
	over := func(state batch.Stage, reason string) *fakeJobs {
		return with(func(s *batch.State, p *batch.Progress) {
			s.State, s.Reason, s.Live, s.Flying, *p = state, reason, false, 0, batch.Progress{}
		})
	}
	for _, c := range []struct {
		name string
		f    *fakeJobs
		keys string
		want []string
	}{
		{"planned", with(func(s *batch.State, p *batch.Progress) { *s, *p = running(0), batch.Progress{} }), "", []string{"● running", "0 of 100 000", "no item has a result yet", "not held back"}},
		{"running", with(func(_ *batch.State, p *batch.Progress) { p.Paces = nil }), "", []string{"● running", "41 200 of 100 000", "41 %", "about 55 min left", "✓ ok", "39 102", "95 %", "17.9/s · 12 in flight", "101 204, 1 204 of them duplicates, fetched once", "$61.80 by your rate, cap $150.00, ends at about $150.00", "shop.example", "CAPTCHA", "use a product made for protected pages"}},
		{"held-by-pace", with(func(*batch.State, *batch.Progress) {}), "", []string{"pace      12 of 16: 13 is refused twice, tried next in 22 s"}},
		{"paused", over(batch.Paused, "by the operator"), "", []string{"! paused", "paused: by the operator"}},
		{"capped", over(batch.Capped, "$149.9990 of $150.00 is spent, and one more fetch may cost $0.0015"), "", []string{"! capped", "one more fetch may cost"}},
		{"lost", with(func(s *batch.State, _ *batch.Progress) {
			s.State, s.Live, s.Tally.Unanswered, s.Reason = batch.Held, false, 3, batch.MaybeSent(3)+": a decision is due"
		}), "", []string{"! held", "up to 3 items may have been sent without an answer: d decides"}},
		{"done", over(batch.Done, ""), "", []string{"✓ done"}},
		{"interrupted", with(func(s *batch.State, p *batch.Progress) { s.Live, *p = false, batch.Progress{} }), "", []string{"! interrupted", "interrupted: no process works on it; what came is kept"}},
		{"damaged", with(func(s *batch.State, p *batch.Progress) {
			s.Live, *p = false, batch.Progress{}
			p.Fault = errors.New("open /state/batches/batch-1/items.ndjson: no such file or directory")
		}), "", []string{"✗ work on it has stopped: open /state/batches/batch-1/items.ndjson"}},
		{"ruled", with(ruled), "", []string{"captcha x2 -> zone=browser1,host: held for 3 hosts", "workers   2, on batches of db.test:5432"}},
		{"items", with(func(*batch.State, *batch.Progress) {}), "tab", []string{"41200", "✓ ok", "41199", "✗ CAPTCHA", "http://shop.example/41198"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			flowBatches(t, c.f, 80, 24, func(s *uitest.Screen) {
				s.Press("enter")
				if c.keys != "" {
					s.Press(c.keys)
				}
				s.Expect(c.want...)
				s.Looks("batch-" + c.name)
			})
		})
	}
	flowBatches(t, with(ruled), 120, 40, func(s *uitest.Screen) {
		s.Press("enter")
		s.Expect("browser1: 700 ok, 12 failed", "unlocker1: 38402 ok, 2086 failed", "host-a-4711: slices 3, slots 5, last heard of 0.4 s ago", "host-b-12: slices 1, slots 0, last heard of 16.0 s ago: it counts as dead")
		uitest.Golden(t, "batch-ruled-120x40", s.Screen())
	})
	flowBatches(t, with(func(*batch.State, *batch.Progress) {}), 120, 40, func(s *uitest.Screen) {
		s.Press("enter")
		s.Press("tab")
		s.Expect("13 of 16: refused once", "▅██▆██", "NEXT STEP", "http://shop.example/41199")
		uitest.Golden(t, "batch-tall-120x40", s.Screen())
	})
}

// ruled gives a batch a rule, and two workers on a server.
func ruled(s *batch.State, _ *batch.Progress) {
	s.Plan.Rules = []batch.Rule{{Failure: batch.Failure{Class: model.ClassCaptcha}, Times: 2, Zone: model.Zone{Name: "browser1"}}}
	s.Tally.Fired = map[int]int64{1: 3}
	failed := func(n int64) map[store.Verdict]int64 { return map[store.Verdict]int64{{Class: model.ClassCaptcha}: n} }
	s.Tally.Zones = map[string]store.Host{"unlocker1": {OK: 38_402, Failed: failed(2086)}, "browser1": {OK: 700, Failed: failed(12)}}
	s.OnServer = "batches of db.test:5432"
	s.Workers = []work.Worker{{Process: "host-a-4711", Beat: 400 * time.Millisecond, Items: 3}, {Process: "host-b-12", Beat: 16 * time.Second, Items: 1, Dead: true}, {Process: "host-c-1", Dead: true}}
	s.Slots = map[string]int{"host-a-4711": 5}
}

func TestTheBoardOfBatches(t *testing.T) {
	f := &fakeJobs{}
	flowBatches(t, f, 80, 24, func(s *uitest.Screen) {
		s.Expect("no batches yet: n starts one from a file of addresses")
		s.Looks("batches-none")
		held, other := running(41_200), running(0)
		held.State, held.Live, held.Reason = batch.Capped, false, "$149.9990 of $150.00 is spent"
		other.ID, other.Name, other.Profile = "batch-0", "", "other"
		f.batches.mu.Lock()
		held.Created, other.Created = time.Now(), time.Now()
		f.batches.states = []batch.State{held, other}
		f.batches.mu.Unlock()
		s.After(2 * time.Second)
		s.Expect("! capped", "prices-1128", "95 %", "$149.9990 of $150.00 is spent", "● running", "batch-0")
		s.Looks("batches")
		f.batches.mu.Lock()
		f.batches.listErr = errors.New("the store of batches is newer than this program")
		f.batches.mu.Unlock()
		s.Press("r")
		s.Expect("The batches cannot be read: the store of batches is newer than this program")
		s.Press("esc")
		s.ExpectNot("The batches cannot be read")
	})
}

func TestABatchThatWaitsIsSaidAtTheStart(t *testing.T) {
	f := &fakeJobs{}
	killed, held, other, live := running(41_200), running(41_200), running(41_200), running(41_200)
	killed.Live, held.State, other.Live, other.Profile = false, batch.Held, false, "other"
	killed.Created, held.Created, other.Created, live.Created = time.Now(), time.Now(), time.Now(), time.Now()
	f.batches.states = []batch.State{killed, held, other, live}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Expect("batch prices-1128 is interrupted (and 1 more) · b in Jobs shows it", "[1 Jobs (2 waiting)]")
		f.batches.mu.Lock()
		f.batches.states = []batch.State{live}
		f.batches.mu.Unlock()
		s.Press("b")
		s.ExpectNot("Jobs·")
	})
}

func TestTheKeysOfABatch(t *testing.T) {
	f := &fakeJobs{}
	s1 := running(41_200)
	s1.Tally.Unanswered = 2
	f.batches = fakeBatches{states: []batch.State{s1}, results: lines()}
	flowBatches(t, f, 80, 24, func(s *uitest.Screen) {
		s.Press("enter")
		s.Expect("p pause")
		s.ExpectNot("s go on")
		s.Press("p")
		s.Expect("prices-1128 is paused", "paused: by the operator")
		s.Press("p")
		s.Expect("it is paused")
		s.Press("e")
		s.Expect("Limits of prices-1128", "150")
		s.Press("ctrl+u")
		s.Type("1001")
		s.Press("enter")
		s.Expect("write a number from 0 to 1000")
		s.Press("ctrl+u")
		s.Type("8")
		s.Press("enter")
		s.Type("20/s")
		s.Press("shift+tab")
		s.Type("9") // in place of the 8
		s.Press("ctrl+s")
		s.Expect("the limits of prices-1128 are changed", "9 at once, 20/s")
		s.Press("d")
		s.Expect("Lost: 2 items", "each may be billed twice")
		s.Press("a")
		s.Expect("the items are sent again once the batch resumes · t")
		s.Press("t")
		s.Expect("Resume the batch?", "58800 items left", "$61.80 by your rate, cap $150.00, ends at about $150.00.")
		s.After(time.Second)
		s.PressFast("y")
		s.Expect("● running", "1 batch at work")
		s.Press("tab")
		s.Press("f")
		s.ExpectNot("41200")
		s.Press("y")
		s.Expect("folder of results and bodies", "command that resumes it")
		s.Press("esc")
		s.Press("q")
		s.Expect("1 operation is in flight", "The batch stops within seconds")
		s.Press("esc")
		if want := []string{"set 9 at once, 20/s, $150", "decide true", "begin batch-1"}; !slices.Equal(f.batches.calls, want) {
			t.Errorf("calls %q; want %q", f.batches.calls, want)
		}
	})
}

func TestTheNewestItemsAreReadWhileABatchGoesOn(t *testing.T) {
	f := &fakeJobs{}
	f.batches = fakeBatches{states: []batch.State{running(41_200)}, results: lines()}
	came := func(n int64) {
		f.batches.mu.Lock()
		defer f.batches.mu.Unlock()
		first := lines()[0]
		first.N = n
		f.batches.results = append([]batch.Result{first}, f.batches.results...)
		f.batches.states[0].Tally.Tries = n
	}
	flowBatches(t, f, 80, 24, func(s *uitest.Screen) {
		s.Press("enter")
		s.Press("tab")
		for n := range int64(20) { // more than the list has lines
			came(50_000 + n)
		}
		s.After(3 * time.Second)
		s.Expect("50020")
		s.Press("j")
		came(60_000)
		s.After(3 * time.Second)
		s.Press("enter") // the cursor is not at the first row any more: it stays on its item
		if got := f.batches.calls[len(f.batches.calls)-1]; got != "request batch-1 50018" {
			t.Error(got)
		}
	})
}

func TestWhatOnlyCostsIsNotAskedAboutOnTheEmulator(t *testing.T) {
	f := &fakeJobs{local: true}
	s1 := running(41_200)
	s1.State, s1.Live = batch.Paused, false
	f.batches = fakeBatches{states: []batch.State{s1}}
	flowBatches(t, f, 80, 24, func(s *uitest.Screen) {
		s.Press("t")
		s.ExpectNot("Resume the batch?")
		s.Expect("● running")
	})
}

func TestTheFooterCountsTheBatchesOfOtherProcesses(t *testing.T) {
	f := &fakeJobs{}
	f.batches = fakeBatches{states: []batch.State{running(41_200)}}
	flowBatches(t, f, 80, 24, func(s *uitest.Screen) {
		s.Expect("1 at work")
		s.Press("enter")
		s.Expect("1 at work")
		s.ExpectNot("0 running")
		if _, err := f.batches.Pause(t.Context(), "batch-1"); err != nil {
			t.Error(err)
		}
		s.After(2 * time.Second)
		s.Expect("paused", "0 running")
	})
}

func TestABatchIsPlannedAndBegunFromTheForm(t *testing.T) {
	f := &fakeJobs{}
	f.batches.report = batch.Report{
		Plan: batch.Plan{Price: 15e5, Retries: 2}, Planned: files.Planned{Items: 12, Duplicates: 2},
		First: []model.FetchRequest{{URL: "http://shop.test/7"}, {URL: "http://shop.test/8", Method: "POST"}},
	}
	template := model.FetchRequest{
		Via: model.ViaNative, URL: "http://shop.test/{{sku}}", Header: http.Header{"Accept": {"text/html"}}, Zone: model.Zone{Name: "unlocker1"}, Required: []string{".price"},
	}
	flowBatches(t, f, 80, 24, func(s *uitest.Screen) {
		s.Send(kit.Addressed{View: kit.Jobs, Msg: kit.NewBatch{Request: template}})
		s.Expect("New batch", "GET, 1 header, 1 required", "http://shop.test/{{sku}}", "(•) Native")
		s.Press("ctrl+s")
		s.Expect("name a file")
		s.Type("skus.csv")
		for range 9 {
			s.Press("tab")
		}
		s.Type("captcha x2 -> zone=isp1,host; timeout x3 -> zone=isp1,item;")
		f.batches.err = &batch.BadRowsError{Bad: 1, Problems: []rows.Problem{{Row: 3, Text: "sku is missing"}}}
		s.Press("ctrl+s")
		s.Expect("1 row cannot be used; nothing was sent", "row 3: sku is missing")
		f.batches.err = model.BadField("cap", "$0.0010 is below what one fetch may cost")
		s.Press("ctrl+s")
		s.Expect("$0.0010 is below what one fetch may cost")
		f.batches.err = nil
		s.Type("5")
		s.Press("ctrl+s")
		s.Expect("12 items, 2 of them duplicates, which are fetched once", "at most $0.0150 for one try each", "· GET http://shop.test/7", "· POST http://shop.test/8", "ctrl+s begin 10 fetches")
		s.Looks("batch-form-planned")
		d := f.batches.drafts[2]
		if d.Request.URL != template.URL || d.Request.Via != model.ViaNative || d.Cap != 5 || d.Headers[0] != "Accept: text/html" || d.Request.Required[0] != ".price" || len(d.Rules) != 2 || d.Rules[1] != " timeout x3 -> zone=isp1,item" {
			t.Errorf("planned %+v", d)
		}
		s.Press("enter")
		s.Type("0") // another cap: what was planned is forgotten
		s.Expect("ctrl+s check the rows")
		s.Press("ctrl+s")
		s.Press("ctrl+s")
		s.Expect("Batch · prices-1128", "● running")
		s.Press("esc")
		s.Expect("›● running")
		s.ExpectNot("no batch is selected")
		want := []string{"plan skus.csv", "plan skus.csv", "plan skus.csv", "discard", "plan skus.csv", "start", "begin batch-new"}
		if !slices.Equal(f.batches.calls, want) {
			t.Errorf("calls %q; want %q", f.batches.calls, want)
		}
	})
}

func TestAnItemAndABatchAreOpenedAcrossTabs(t *testing.T) {
	f := &fakeJobs{}
	f.batches = fakeBatches{states: []batch.State{running(41_200)}, results: lines()}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Send(kit.Goto{View: kit.Jobs, Msg: kit.OpenBatch{ID: "batch-1"}})
		s.Expect("Batch · prices-1128")
		s.Press("tab")
		s.Press("j")
		s.Press("enter")
		if want := []string{"request batch-1 41198"}; !slices.Equal(f.batches.calls, want) {
			t.Errorf("calls %q; want %q", f.batches.calls, want)
		}
		s.Send(kit.Goto{View: kit.Jobs, Msg: kit.OpenBatch{ID: "batch-9"}})
		s.Expect("batch batch-9 no longer exists")
	})
}

func TestItemsOfABatchThatHaveNoRoomAreCounted(t *testing.T) {
	f := &fakeJobs{batches: fakeBatches{states: []batch.State{running(41_200)}}}
	for n := range int64(300) {
		f.batches.results = append(f.batches.results, batch.Result{N: 300 - n, URL: "http://shop.example/", Class: "ok"})
	}
	flowBatches(t, f, 80, 24, func(s *uitest.Screen) {
		s.Press("enter", "tab")
		s.Expect("↓ 29")
		s.Press("G")
		s.Expect("↑ 29")
	})
}
