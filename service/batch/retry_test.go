package batch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/servicetest"
)

// refused answers with a CAPTCHA for every fifth page, as long as hit is at most most.
func refused(most int) func(w http.ResponseWriter, url string, hit int) bool {
	return func(w http.ResponseWriter, url string, hit int) bool {
		if hit > most || !strings.HasSuffix(url, "5") && !strings.HasSuffix(url, "0") {
			return false
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Brd-Status-Code", "200")
		fmt.Fprint(w, `<html><head><title>Are you a robot?</title></head><body><div class="g-recaptcha"></div></body></html>`)
		return true
	}
}

// checkTally compares what is counted of a batch with its results.
func (r *rig) checkTally(t *testing.T, id string) {
	t.Helper()
	s := noerr.Try(r.Show(t.Context(), id)).Must(t)
	verdicts, hosts := map[store.Verdict]int64{}, map[string]int64{}
	for _, line := range r.lines(t, id) {
		verdicts[store.Verdict{Class: model.Class(line.Class), Cause: model.Cause(line.Cause)}]++
		hosts["shop.test"]++
	}
	counted := map[string]int64{}
	for name, h := range s.Tally.Hosts {
		counted[name] = h.OK + h.Failures()
	}
	if !maps.Equal(verdicts, s.Tally.Verdicts) || !maps.Equal(hosts, counted) {
		t.Errorf("counted %v and %v; the results are %v and %v", s.Tally.Verdicts, counted, verdicts, hosts)
	}
	if s.Spent != 1_500_000*int64(r.all()) || s.Tally.Tries != int64(r.all()) || s.Reserved != 0 {
		t.Errorf("spent %d in %d tries, reserved %d; there were %d requests", s.Spent, s.Tally.Tries, s.Reserved, r.all())
	}
}

func TestItemsOfAClassAreSentAgainAndTheLaterResultIsTheirs(t *testing.T) {
	r := newRig(t)
	r.answer = refused(1)
	d := draft(urls(250) + "http://shop.test/5\n")
	d.Request.Retries = 0
	s := r.start(t, d)
	s = r.run(t, s.ID)
	if s.OK() != 200 || r.all() != 250 {
		t.Fatalf("%d ok, %d requests", s.OK(), r.all())
	}
	s, n, err := r.Retry(t.Context(), s.ID, []batch.Failure{{Class: model.ClassTimeout}})
	if err != nil || n != 0 || s.State != store.Done {
		t.Errorf("%d timeouts, %s, %v", n, s.State, err)
	}
	s, n, err = r.Retry(t.Context(), s.ID, []batch.Failure{{Class: model.ClassTimeout}, {Class: model.ClassCaptcha}})
	if err != nil || n != 50 || s.State != store.Paused || s.Remaining() != 50 || s.Tally.Answered != 200 {
		t.Errorf("%d again, %s, %d left: %v", n, s.State, s.Remaining(), err)
	}
	if lines := r.lines(t, s.ID); len(lines) != 250 || lines[5].Class != "captcha" {
		t.Errorf("until it is sent again, %d results, item 5 %+v", len(lines), lines[5])
	}
	s = r.run(t, s.ID)
	if lines := r.lines(t, s.ID); s.State != store.Done || s.OK() != 250 || len(lines) != 250 || lines[5].Class != "ok" || lines[5].Round != 1 || s.Tally.Retried != 50 || r.all() != 300 {
		t.Errorf("%s: %+v, item 5 %+v, %d requests", s.State, s.Tally, lines[5], r.all())
	}
	r.checkTally(t, s.ID)
	last := int64(-1)
	for line, err := range r.Results(t.Context(), s.ID, true) {
		noerr.Must(t, err)
		if line.N <= last {
			t.Fatalf("item %d comes behind %d", line.N, last)
		}
		last = line.N
	}
	body := noerr.Try(r.Body(t.Context(), s.ID, 6)).Must(t)
	noerr.Must(t, body.Close())
}

func TestTheCapHoldsForWhatIsSentAgain(t *testing.T) {
	r := newRig(t)
	r.answer = refused(1)
	d := draft(urls(100))
	d.Request.Retries, d.Cap = 0, 0.1501 // 100 tries
	s := r.start(t, d)
	r.run(t, s.ID)
	captcha := []batch.Failure{{Class: model.ClassCaptcha}}
	_, _, err := r.Retry(t.Context(), s.ID, captcha)
	want := "cap: one try of 20 items may cost $0.0300, and $0.1500 of the cap of $0.1501 is spent: nothing has changed. 'zonedeck batch set " + s.ID + " --max-cost DOLLARS' raises the cap"
	if now := noerr.Try(r.Show(t.Context(), s.ID)).Must(t); err == nil || err.Error() != want || now.State != store.Done || now.Tally.Answered != 100 {
		t.Errorf("%v; %s with %d results", err, now.State, now.Tally.Answered)
	}
	limit := 0.1801
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{Cap: &limit})).Must(t)
	noerr.Must(t, noerr.From(errOnly(r.Retry(t.Context(), s.ID, captcha))))
	limit = 0.1651
	noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{Cap: &limit})).Must(t)
	if s = r.run(t, s.ID); s.State != store.Capped || r.all() != 110 || len(r.lines(t, s.ID)) != 100 {
		t.Errorf("%s after %d requests", s.State, r.all())
	}
}

func TestABatchAtItsCapSaysSoByTheCapOfNow(t *testing.T) {
	r := newRig(t)
	d := draft(urls(100))
	d.Cap = 0.0151
	s := r.start(t, d)
	r.run(t, s.ID)
	limit := 0.0076
	s = noerr.Try(r.Set(t.Context(), s.ID, batch.Settings{Cap: &limit})).Must(t)
	const want = "$0.0150 of $0.0076 is spent, and one more fetch may cost $0.0015"
	if s.State != store.Capped || s.Reason != want {
		t.Errorf("%s: %s", s.State, s.Reason)
	}
	noerr.Must(t, r.Begin(t.Context(), s.ID))
	if s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t); s.State != store.Capped || s.Reason != want {
		t.Errorf("begun again, %s: %s", s.State, s.Reason)
	}
	r.Stop()
}

func TestABatchThatWasJustBegunIsNotInterrupted(t *testing.T) {
	r := newRig(t)
	r.pause = 20 * time.Millisecond
	s := r.start(t, draft(urls(10)))
	noerr.Must(t, r.Begin(t.Context(), s.ID))
	watching, stop := context.WithCancel(t.Context())
	err := r.Watch(watching, s.ID, func(p batch.Progress) {
		if p.Interrupted() {
			t.Error("it is called interrupted")
		}
		if p.Over() {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.Stop()
}

func errOnly(_ any, n int64, err error) (int64, error) { return n, err }

func TestNoKillLosesOrDoublesWhatIsSentAgain(t *testing.T) {
	const items = 2000
	r := newRig(t)
	r.pause, r.answer = time.Millisecond, refused(2)
	d := draft(urls(items))
	d.AtOnce, d.Request.Retries = 6, 0
	s := r.start(t, d)
	for range 2 {
		s = r.run(t, s.ID)
		noerr.Must(t, noerr.From(errOnly(r.Retry(t.Context(), s.ID, []batch.Failure{{Class: model.ClassCaptcha}}))))
		for range kills(t) {
			r.kill(t, time.Duration(30+rand.IntN(200))*time.Millisecond)
			if lines := r.lines(t, s.ID); len(lines) != items {
				t.Errorf("%d results after a kill", len(lines))
			}
		}
	}
	s = r.run(t, s.ID)
	if s.State != store.Done || s.OK() != items || s.Tally.Answered != items || s.Remaining() != 0 {
		t.Errorf("%s: %+v", s.State, s.Tally)
	}
	if lines := r.lines(t, s.ID); len(lines) != items || lines[5].Class != "ok" || lines[5].Round == 0 {
		t.Errorf("%d results, item 5 %+v", len(lines), lines[5])
	}
	if most := int64(items + 2*items/5); int64(r.all()) > most+s.Tally.Again || s.Spent > 1_500_000*(most+2*s.Tally.Again) {
		t.Errorf("%d requests, %d announced, spent %d", r.all(), s.Tally.Again, s.Spent)
	}
}

func TestWhatTheOperatorWantsIsRefusedIfAWorkerRanMeanwhile(t *testing.T) {
	r := newRig(t)
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	operator := r.worker(t, address, "operator")
	r.Batches = r.worker(t, address, "a")
	r.answer = refused(1)
	d := draft(urls(300))
	d.Request.Retries = 0
	s := r.start(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = r.Run(ctx, s.ID, func(now batch.State) { // it is interrupted with some results
		if now.Tally.Answered > 0 {
			cancel()
		}
	})
	cancel()
	ran := 0
	operator.Clock = servicetest.ClockFunc(func() time.Time { // all is read
		if ran++; ran < 3 {
			noerr.Must(t, noerr.From(r.Run(t.Context(), s.ID, func(batch.State) {})))
		}
		return time.Now()
	})
	_, _, err := operator.Retry(t.Context(), s.ID, []batch.Failure{{Class: model.ClassCaptcha}})
	if busy, is := errors.AsType[*batch.BusyError](err); !is || busy.State.ID != s.ID {
		t.Errorf("retry: %v", err)
	}
	if s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t); s.State != store.Done || s.Tally.Answered != 300 || r.all() != 300 {
		t.Errorf("%s with %d results, %d requests", s.State, s.Tally.Answered, r.all())
	}
	r.checkTally(t, s.ID)
	st := noerr.Try(r.Files.Batches(t.Context())).Must(t)
	_, attempt, err := st.Claim(t.Context(), s.ID, 0, "hung", true, 0)
	noerr.Must(t, err)
	if _, n, err := r.Retry(t.Context(), s.ID, []batch.Failure{{Class: model.ClassCaptcha}}); n != 60 || err != nil {
		t.Errorf("%d again: %v", n, err)
	}
	if err := st.Server.Mark(t.Context(), s.ID, 0, attempt, 1); !errors.Is(err, store.ErrTaken) {
		t.Errorf("a worker that hung still has the slice: %v", err)
	}
	if _, err := operator.Decide(t.Context(), s.ID, true); !errors.As(err, new(*batch.BusyError)) {
		t.Errorf("decide: %v", err)
	}
	r.checkTally(t, s.ID)
}
