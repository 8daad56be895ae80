package batch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
)

// seen is a batch of 1,000 items with a number of results, at work.
func seen(answered int64) batch.State {
	s := batch.State{Live: true, Batch: store.Batch{ID: "batch-1", State: batch.Running, Items: 1100, Duplicates: 100}}
	s.Tally.Answered = answered
	return s
}

func TestAMeterTellsTheSpeedOfNowAndWhatIsLeft(t *testing.T) {
	var m batch.Meter
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var p batch.Progress
	for i := range 100 {
		answered := int64(10 * i) // ten a second, then two
		if i > 50 {
			answered = 500 + 2*int64(i-50)
		}
		if p = m.See(seen(answered), now.Add(time.Duration(i)*time.Second)); i == 0 && p.Speed != 0 {
			t.Errorf("a speed of %v at the first look", p.Speed)
		}
	}
	left, known := p.ETA()
	if p.Speed != 2 || !known || left != 201*time.Second {
		t.Errorf("speed %v, left %v %v; want 2 and 201 s", p.Speed, left, known)
	}
	if len(p.Speeds) != 60 || p.Speeds[0] != 10 || p.Speeds[59] != 2 {
		t.Errorf("speeds %v", p.Speeds)
	}
	if p = m.See(seen(700), now); p.Speed != 0 { // the clock was set back
		t.Errorf("a speed of %v after the clock was set back", p.Speed)
	}
	s := seen(800)
	s.State = batch.Paused
	if p = m.See(s, now.Add(time.Hour)); p.Speed != 0 || len(p.Speeds) != 0 {
		t.Errorf("a paused batch has a speed: %+v", p)
	}
	if _, known := p.ETA(); known {
		t.Error("of a paused batch it is said when it ends")
	}
}

func TestAMeterKeepsTheLastSentencesAboutThePace(t *testing.T) {
	var m batch.Meter
	var p batch.Progress
	for _, pace := range []string{"one", "one", "", "two", "3", "4", "5", "6", "7", "8", "9"} {
		s := seen(0)
		s.Pace = pace
		p = m.See(s, time.Time{})
	}
	if got := strings.Join(p.Paces, " "); got != "9 8 7 6 5 4 3 two" {
		t.Errorf("kept %q", got)
	}
}

func TestWhatABatchCostsAtItsEnd(t *testing.T) {
	s := seen(250)
	s.Spent = 2e9
	if _, _, known := s.EndCost(); known {
		t.Error("known without a price")
	}
	s.Plan.Price = 1e6
	for _, c := range []struct {
		spent, maybe, limit int64
		want                string
	}{
		{1, 0, 1, "<$0.0001 by your rate, cap <$0.0001: about 250 of 1000 before it"}, // one more may pass it
		{2e9, 0, 0, "$2.00 by your rate, ends at about $8.00"},
		{2e9, 0, 8e9, "$2.00 by your rate, cap $8.00, ends at about $8.00"},
		{2e9, 0, 5e9, "$2.00 by your rate, cap $5.00: about 625 of 1000 before it"},
		{2e9, 0, 1e9, "$2.00 by your rate, cap $1.00: about 250 of 1000 before it"},
		{3e9, 1e9, 0, "$3.00 by your rate, of which up to $1.00 may not have been spent, ends at about $9.00"},
	} {
		if s.Spent, s.Tally.Unconfirmed, s.Cap = c.spent, c.maybe, c.limit; s.CostWords() != c.want {
			t.Errorf("%q, want %q", s.CostWords(), c.want)
		}
	}
	s.Spent, s.Tally.Unconfirmed, s.Cap = 2e9, 0, 5e9
	s.State, s.Live = batch.Running, true
	if left, known := (batch.Progress{State: s, Speed: 25}).ETA(); !known || left != 15*time.Second {
		t.Errorf("%s before the cap, %v", left, known)
	}
	if cost, _, known := seen(0).EndCost(); known {
		t.Errorf("%v is known without a result", cost)
	}
}

func TestTheStepOfAHostIsThatOfItsMainFailure(t *testing.T) {
	s := seen(10)
	s.Plan.Request.Via = model.ViaAPI
	s.Tally.Hosts = map[string]store.Host{"shop.test": {Failed: map[store.Verdict]int64{{Class: model.ClassCaptcha}: 3, {Class: model.ClassTimeout}: 2}}, "good.test": {OK: 1}}
	if got := s.Step("shop.test").Text; got != "use a product made for protected pages: try an unlocker zone" {
		t.Errorf("step %q", got)
	}
	if got := s.Step("good.test").Text; got != "" {
		t.Errorf("a host without failures has the step %q", got)
	}
}

func TestCommandsNameTheDatabaseThatWasNamed(t *testing.T) {
	for database, want := range map[string]string{
		"": "", "env:ZONEDECK_DATABASE": " --database env:ZONEDECK_DATABASE", "postgres://me@db/z?sslmode=require": " --database 'postgres://me@db/z?sslmode=require'",
	} {
		r := newRig(t)
		r.Database = database
		d := draft(urls(1))
		d.Input.Path, d.Once = "/in/urls.txt", "nightly"
		s := r.start(t, d)
		if got := s.Command("resume"); got != "zonedeck batch resume "+s.ID+want {
			t.Error(got)
		}
		if args := noerr.Try(s.Args()).Must(t); slices.Contains(args, "--database") != (database != "") || database != "" && !slices.Contains(args, database) {
			t.Error(args)
		}
		_, err := r.Show(t.Context(), "none")
		for _, err := range []error{err, &batch.BusyError{State: s}} {
			if !strings.Contains(err.Error(), want+"'") {
				t.Error(err)
			}
		}
	}
}

func TestThePaceOfAReportStaysAfterTheEnd(t *testing.T) {
	r := newRig(t)
	s := r.start(t, draft(urls(3)))
	r.run(t, s.ID)
	before := noerr.Try(r.Report(t.Context(), s.ID)).Must(t)
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{AtOnce: new(int)})).Must(t)
	after := noerr.Try(r.Report(t.Context(), s.ID)).Must(t)
	if after.Over != before.Over || before.Over != before.Ended.Sub(before.Created) || !after.Changed.After(after.Ended) {
		t.Errorf("%s, then %s", before.Over, after.Over)
	}
}

func TestATimeThatRunsDownIsOneSentenceAboutThePace(t *testing.T) {
	var m batch.Meter
	at := time.Unix(0, 0)
	for _, pace := range []string{"13 of 16: refused once", "12 of 16: 13 is refused twice, tried next in 22 s", "12 of 16: 13 is refused twice, tried next in 21 s"} {
		s := seen(0)
		s.Pace = pace
		at = at.Add(time.Second)
		m.See(s, at)
	}
	want := []string{"12 of 16: 13 is refused twice, tried next in 21 s", "13 of 16: refused once"}
	if p := m.See(seen(1), at); !slices.Equal(p.Paces, want) {
		t.Errorf("%q", p.Paces)
	}
}

func TestAShareIsNoneOrAllOnlyWhereItIs(t *testing.T) {
	for part, want := range map[float64]string{0: "0 %", 0.2: "<1 %", 1: "1 %", 95.4: "95 %", 99.7: ">99 %", 100: "100 %"} {
		if got := batch.Percent(part); got != want {
			t.Errorf("%v: %s; want %s", part, got, want)
		}
	}
}

func TestSettingsAreReadFromText(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "0": 0, "20": 20, "20/s": 20, " 0.5 /s": 0.5, "-1": -1, "NaN": -1, "20/m": -1, "1e9": -1} {
		if got, err := batch.ParseRate(text); got != max(want, 0) || (err != nil) != (want < 0) {
			t.Errorf("rate %q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]float64{"": 0, "5": 5, "$5": 5, "$ 0.25": 0.25, "five": -1, "-$5": -1} {
		if got, err := batch.ParseCap(text); got != max(want, 0) || (err != nil) != (want < 0) {
			t.Errorf("cap %q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]int{"": 0, "16": 16, "1000": 1000, "1001": -1, "-1": -1, "many": -1} {
		if got, err := batch.ParseAtOnce(text); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("limit %q: %v, %v", text, got, err)
		}
	}
}

// until watches a batch until it is as wanted.
func (r *rig) until(t *testing.T, id string, wanted func(batch.Progress) bool) batch.Progress {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var found batch.Progress
	err := r.Watch(ctx, id, func(p batch.Progress) {
		if found.ID == "" && wanted(p) {
			found = p
			stop()
		}
	})
	if found.ID == "" {
		t.Fatalf("it never came to that: %v", err)
	}
	return found
}

func TestABatchIsWorkedOnBesideOtherThings(t *testing.T) {
	r := newRig(t)
	r.pause = 2 * time.Millisecond
	d := draft(urls(5000))
	d.AtOnce = 2
	s := r.start(t, d)
	noerr.Must(t, r.Begin(t.Context(), s.ID))
	noerr.Must(t, r.Begin(t.Context(), s.ID)) // it goes on
	if n := r.Attended(); n != 1 {
		t.Errorf("%d batches are worked on", n)
	}
	r.until(t, s.ID, func(p batch.Progress) bool { return p.Live && p.Tally.Answered > 10 })
	noerr.Try(r.Pause(t.Context(), s.ID)).Must(t)
	r.until(t, s.ID, func(p batch.Progress) bool { return p.State.State == batch.Paused && !p.Live })
	noerr.Must(t, r.Begin(t.Context(), s.ID))
	r.until(t, s.ID, func(p batch.Progress) bool { return p.Live })
	r.Stop()
	if r.Attended() != 0 {
		t.Error("work goes on after Stop")
	}
	left := noerr.Try(r.Show(t.Context(), s.ID)).Must(t)
	if left.Condition() != "interrupted" || left.Tally.Unanswered != 0 || int(left.Tally.Answered) != r.all() {
		t.Errorf("left %s, %d answered of %d requests", left.Condition(), left.Tally.Answered, r.all())
	}
}

func TestWhatEndsTheWorkOnABatchIsSeenByWhoeverWatches(t *testing.T) {
	r := newRig(t)
	s := r.start(t, draft(urls(3)))
	noerr.Must(t, os.RemoveAll(filepath.Join(r.Dir, s.ID, "items.ndjson")))
	noerr.Must(t, r.Begin(t.Context(), s.ID))
	p := r.until(t, s.ID, func(p batch.Progress) bool { return p.Fault != nil })
	if !strings.Contains(p.Fault.Error(), s.ID) || r.all() != 0 {
		t.Errorf("fault %v, %d requests", p.Fault, r.all())
	}
	r.Stop()
}

func TestTheNewestResultsAndTheirRequests(t *testing.T) {
	r := newRig(t)
	d := draft("sku\n1\n2\n3\n4\n5\n6\n7\n")
	d.Request.URL, d.AtOnce, d.Headers = "http://shop.test/{{sku}}", 1, []string{"X-Sku: {{sku}}"}
	s := r.start(t, d)
	r.run(t, s.ID)
	var got []string
	for _, line := range noerr.Try(r.Newest(t.Context(), s.ID, 2, false)).Must(t) {
		got = append(got, line.URL)
	}
	if !slices.Equal(got, []string{"http://shop.test/7", "http://shop.test/6"}) {
		t.Errorf("the newest are %v", got)
	}
	if failed := noerr.Try(r.Newest(t.Context(), s.ID, 2, true)).Must(t); len(failed) != 0 {
		t.Errorf("failed: %v", failed)
	}
	if q := noerr.Try(r.Request(t.Context(), s.ID, 4)).Must(t); q.URL != "http://shop.test/5" || q.Header.Get("X-Sku") != "5" || q.Zone.Name != "unlocker1" {
		t.Errorf("the request of item 5 is %+v", q)
	}
	if _, err := r.Request(t.Context(), s.ID, 7); err == nil || !strings.Contains(err.Error(), "items 1 to 7") {
		t.Errorf("an item that is none: %v", err)
	}
}

func TestWhatMayHaveBeenSentIsSaidWithWhatItMayHaveCost(t *testing.T) {
	s := batch.State{Plan: batch.Plan{Price: 1_500_000}, Batch: store.Batch{Spent: 9_000_000, Tally: store.Tally{Unconfirmed: 3_000_000}}}
	if got := s.CostWords(); got != "$0.0090 by your rate, of which up to $0.0030 may not have been spent" {
		t.Error(got)
	}
	if one, more := batch.MaybeSent(1), batch.MaybeSent(2); one != "1 item may have been sent without an answer" || more != "up to 2 items may have been sent without an answer" {
		t.Error(one, more)
	}
}
