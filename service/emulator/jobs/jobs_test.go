package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site answers every address with one product named after it.
type site struct {
	mu      sync.Mutex
	fetched map[string]int
	gate    chan struct{} // when set, each fetch waits for one value
	running atomic.Int32
	most    atomic.Int32
}

func (s *site) fetch(ctx context.Context, r Request) (Page, error) {
	url := r.URL
	n := s.running.Add(1)
	defer s.running.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return Page{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetched == nil {
		s.fetched = map[string]int{}
	}
	s.fetched[url]++
	return Page{URL: url, Status: 200, Body: []byte(`<p data-product="1"><b class="name">` + html.EscapeString(url) + `</b></p>`)}, nil
}

func open(t *testing.T, d *state.Dir, s *site) *Engine {
	t.Helper()
	e, err := Open(context.Background(), Config{State: d, Fetch: s.fetch, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, e.Close()) })
	return e
}

func urls(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("http://x.test/%d", i)
	}
	return out
}

func inputs(n int) []json.RawMessage {
	out := make([]json.RawMessage, n)
	for i, u := range urls(n) {
		out[i] = json.RawMessage(`{"url":"` + u + `"}`)
	}
	return out
}

func until(t *testing.T, e *Engine, id string, ok func(Snapshot) bool) Snapshot {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for {
		s, err := e.Get(id)
		noerr.Must(t, err)
		if ok(s) {
			return s
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("still %+v", s)
		}
	}
}

func ended(s Snapshot) bool { return s.Status.Ended() }

func names(t *testing.T, e *Engine, id string) []string {
	t.Helper()
	write, err := e.Download(id, "csv", Slice{})
	noerr.Must(t, err)
	var b bytes.Buffer
	noerr.Must(t, write(&b))
	var out []string
	for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
		out = append(out, strings.Split(l, ",")[1])
	}
	return out
}

func TestTheFirstWordOfAJobThatGoesOnCountsWhatItHas(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	held := &site{gate: make(chan struct{}, 3)}
	e := open(t, d, held)
	snap, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(5)})
	noerr.Must(t, err)
	for range 3 {
		held.gate <- struct{}{}
	}
	until(t, e, snap.ID, func(s Snapshot) bool { return s.Done == 3 })
	noerr.Must(t, e.Close())
	if s, err := open(t, d, held).Get(snap.ID); err != nil || s.Done != 3 || s.Records != 3 || s.Status != Running {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAJobGoesOnWhereItWasStopped(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	const n = 50
	first := &site{gate: make(chan struct{}, n)}
	e := open(t, d, first)
	snap, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(n)})
	noerr.Must(t, err)
	for range 20 {
		first.gate <- struct{}{}
	}
	until(t, e, snap.ID, func(s Snapshot) bool { return s.Done == 20 })
	noerr.Must(t, e.Close())
	// A line is damaged: the last one, whichever inputs were done first.
	last := -1
	noerr.Must(t, recordsTable.Each(d, snap.ID, func(i int, _ []byte) error {
		last = i
		return nil
	}))
	noerr.Must(t, d.Update(func(tx *state.Tx) error { return recordsTable.Put(tx, snap.ID, last, []byte("xxx")) }))

	second := &site{}
	e = open(t, d, second)
	s := until(t, e, snap.ID, ended)
	if s.Status != Ready || s.Done != n || s.Records != n {
		t.Errorf("%+v", s)
	}
	if len(second.fetched) != n-20+1 {
		t.Errorf("%d pages were fetched again or for the first time, want %d", len(second.fetched), n-20+1)
	}
	if got := strings.Join(names(t, e, snap.ID), " "); got != strings.Join(urls(n), " ") {
		t.Errorf("records: %s", got)
	}
}

// With -race this sees a cancel write what a page being extracted reads.
func TestACancelMeetsPagesBeingExtracted(t *testing.T) {
	e := open(t, statetest.Open(t, ""), &site{})
	for range 20 {
		snap, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(200), LimitPerInput: 1, Fields: []string{"name"}})
		noerr.Must(t, err)
		until(t, e, snap.ID, func(s Snapshot) bool { return s.Done > 0 })
		if err := e.Cancel(snap.ID); err != nil && !errors.Is(err, ErrNotRunning) {
			t.Fatal(err)
		}
	}
}

func TestParallelismIsBounded(t *testing.T) {
	s := &site{gate: make(chan struct{})}
	e := open(t, statetest.Open(t, ""), s)
	for range 10 {
		noerr.Must(t, noerr.From(e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(10)})))
	}
	for range 100 {
		s.gate <- struct{}{}
	}
	for _, snap := range e.List() {
		until(t, e, snap.ID, ended)
	}
	if m := s.most.Load(); m > pagesAtOnce || m < 2 {
		t.Errorf("%d pages at once", m)
	}
}

func TestWhatADiskErrorDoes(t *testing.T) {
	s := &site{gate: make(chan struct{}, 1)}
	d := statetest.Open(t, t.TempDir())
	e := open(t, d, s)
	snap, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(3)})
	noerr.Must(t, err)
	s.gate <- struct{}{}
	until(t, e, snap.ID, func(s Snapshot) bool { return s.Done == 1 })
	defer statetest.Refuse(t, d.Path("."), "records")()
	close(s.gate)
	if got := until(t, e, snap.ID, ended); got.Status != Failed || got.Error == "" {
		t.Errorf("%+v", got)
	}
	if _, err := e.Download(snap.ID, "json", Slice{}); !errors.Is(err, ErrNotComplete) {
		t.Errorf("%v", err)
	}
}

func TestTriggerKeepsNothingOfARefusedJob(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	e := open(t, d, &site{})
	if _, err := e.Trigger(Spec{Dataset: "gd_x", Inputs: inputs(1)}); !errors.Is(err, errNoDataset) {
		t.Errorf("%v", err)
	}
	mend := statetest.Refuse(t, d.Path("."), "inputs")
	if _, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(1)}); err == nil || len(e.List()) != 0 {
		t.Errorf("on a full disk: %v, %+v", err, e.List())
	}
	mend()
	noerr.Must(t, e.Close())
	if _, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(1)}); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
	if e = open(t, d, &site{}); len(e.List()) != 0 || len(e.running) != 0 {
		t.Errorf("%+v, %v", e.List(), e.running)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte(`<div data-product="1"><b class="name"><a href="/x">N</a></b><i class="price">$1.50</i></div>`), "http://x.test/")
	f.Add([]byte(`<div class="review"><i class="rating" data-rating="x">`), "::")
	f.Add([]byte(`<a class=next href="/shop?page=2"><a rel=next href="//x/">`), "http://x.test/shop")
	f.Add([]byte("\xff\x00<title>"), "")
	f.Fuzz(func(t *testing.T, body []byte, url string) {
		e := &Engine{slots: make(chan struct{}, 1), conf: Config{Now: time.Now, Shop: "http://x.test", Fetch: func(_ context.Context, r Request) (Page, error) {
			return Page{URL: r.URL, Status: 200, Body: body}, nil
		}}}
		in, err := json.Marshal(map[string]string{"url": url, "keyword": url, "category_url": url})
		noerr.Must(t, err)
		for _, d := range Datasets() {
			for _, by := range []string{"", "keyword", "category_url", "best_sellers_url"} {
				if _, err := InputFields(d.ID, by); err != nil {
					continue
				}
				j := &job{engine: e, spec: Spec{Dataset: d.ID, Discover: by, LimitPerInput: 10}}
				l, err := j.collect(t.Context(), pending{in: in})
				noerr.Must(t, err)
				if len(l.Records)+len(l.Errors) == 0 || len(l.Records) > 10 {
					t.Fatalf("%s by %q: %d records, %d errors", d.ID, by, len(l.Records), len(l.Errors))
				}
				for _, r := range l.Records {
					if !json.Valid(r) {
						t.Fatalf("not JSON: %s", r)
					}
				}
			}
		}
	})
}

func TestAJobEndsOnceItsEndCanBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := statetest.Open(t, t.TempDir())
		s := &site{gate: make(chan struct{})}
		e, err := Open(t.Context(), Config{State: d, Fetch: s.fetch, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		noerr.Must(t, err)
		defer e.Close()
		snap, err := e.Trigger(Spec{Dataset: "gd_pages", Inputs: []json.RawMessage{json.RawMessage(`{"url":"http://x.test/"}`)}})
		noerr.Must(t, err)
		mend := statetest.Refuse(t, d.Path("."), "jobs")
		s.gate <- struct{}{}
		synctest.Wait()
		if got, err := e.Get(snap.ID); err != nil || got.Status.Ended() || got.Done != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		mend()
		ctx, cancel := context.WithTimeout(t.Context(), 2*diskPause)
		defer cancel()
		if got, err := e.Wait(ctx, snap.ID); err != nil || got.Status != Ready {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestReadersDoNotWaitForTheDisk(t *testing.T) {
	for _, table := range []string{"records", "jobs"} {
		d := statetest.Open(t, t.TempDir())
		s := &site{gate: make(chan struct{})}
		e := open(t, d, s)
		snap, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(1)})
		noerr.Must(t, err)
		begun, release := statetest.Hold(t, d, table)
		s.gate <- struct{}{}
		<-begun // its line, or its end, is being written
		all := e.List()
		got, err := e.Get(snap.ID)
		if err != nil || got.Status.Ended() || len(all) != 1 || all[0].Status.Ended() {
			t.Errorf("%s: %+v, %v", table, got, err)
		}
		if in, err := e.Inputs(snap.ID); err != nil || len(in) != 1 {
			t.Errorf("%s: %v inputs, %v", table, len(in), err)
		}
		release()
		until(t, e, snap.ID, ended)
	}
}

func TestClosingWaitsForAJobThatIsBeingKept(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	e := open(t, d, &site{})
	begun, release := statetest.Hold(t, d, "inputs")
	kept := make(chan error, 1)
	go func() {
		_, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(1)})
		kept <- err
	}()
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	select {
	case err := <-closed:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // what does not wait has returned by then
	}
	release()
	noerr.Must(t, errors.Join(<-kept, <-closed))
	noerr.Want(t, e.Cancel(e.List()[0].ID))
	if all := open(t, d, &site{}).List(); len(all) != 1 {
		t.Errorf("after the next start: %+v", all)
	}
}

func TestManyInputsKeepTheirOrder(t *testing.T) {
	d := statetest.Open(t, "")
	s := &site{gate: make(chan struct{})} // nothing is fetched
	const n = 3*inputsPerLine + 7
	e := open(t, d, s)
	snap, err := e.Trigger(Spec{Dataset: "gd_products", Inputs: inputs(n)})
	noerr.Must(t, err)
	got, err := e.Inputs(snap.ID)
	if err != nil || !slices.EqualFunc(got, inputs(n), func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Errorf("%d inputs, %v", len(got), err)
	}
}

func TestAKeptSnapshotIsNotRerun(t *testing.T) {
	e := open(t, statetest.Open(t, ""), &site{})
	kept, err := e.Keep(Spec{Dataset: "gd_pages", Inputs: []json.RawMessage{json.RawMessage(`{"filter":{}}`)}}, []json.RawMessage{json.RawMessage(`{"url":"http://x.test/"}`)})
	noerr.Must(t, err)
	if _, err := e.Rerun(kept.ID, ""); !errors.Is(err, ErrNoInput) {
		t.Errorf("error %v", err)
	}
}
