package deliver

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type got struct {
	header http.Header
	body   string
}

// receiver answers with the statuses in their order, then with 200.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	got      []got
	came     chan struct{}
}

func receive(t *testing.T, statuses ...int) *receiver {
	t.Helper()
	r := &receiver{statuses: statuses, came: make(chan struct{}, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		status := 200
		if len(r.statuses) > 0 {
			status, r.statuses = r.statuses[0], r.statuses[1:]
		}
		r.got = append(r.got, got{q.Header.Clone(), string(b)})
		r.mu.Unlock()
		w.WriteHeader(status)
		r.came <- struct{}{}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.got...)
}

func open(t *testing.T, conf Config) *Engine {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true}
	if conf.State == nil {
		conf.State = statetest.Open(t, "")
	}
	if conf.Send == nil {
		conf.Send = tr.RoundTrip
	}
	if conf.Source == nil {
		conf.Source = func(snapshot, format string, _, _ int) (func(io.Writer) error, error) {
			return func(w io.Writer) error {
				_, err := io.WriteString(w, snapshot+" as "+format)
				return err
			}, nil
		}
	}
	conf.Log = slog.New(slog.DiscardHandler)
	e, err := Open(context.Background(), conf)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, e.Close()) })
	return e
}

// until looks at the snapshot's only delivery until ok.
func until(t *testing.T, e *Engine, ok func(Delivery) bool) Delivery {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for {
		ds := e.List("sd_1")
		if len(ds) == 1 && ok(ds[0]) {
			return ds[0]
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("still %+v", ds)
		}
	}
}

func is(s Status) func(Delivery) bool { return func(d Delivery) bool { return d.Status == s } }

func tried(n int) func(Delivery) bool {
	return func(d Delivery) bool { return len(d.Attempts) == n && d.Attempts[n-1].Over }
}

func TestANoticeIsSmallAndHasTheAuthHeader(t *testing.T) {
	r := receive(t)
	e := open(t, Config{})
	e.Start()
	noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Status: "ready", Kind: Notify, URL: r.URL + "/hook", Auth: "Bearer s3cret"}))
	d := until(t, e, is(Done))
	if len(d.Files) != 1 || len(d.Attempts) != 1 || d.Attempts[0].Status != 200 || d.Message.Auth != "" {
		t.Errorf("%+v", d)
	}
	g := r.all()
	if len(g) != 1 || g[0].body != `{"snapshot_id":"sd_1","status":"ready"}` || g[0].header.Get("Authorization") != "Bearer s3cret" ||
		g[0].header.Get("Content-Type") != "application/json" || g[0].header.Get("Webhook-Signature") != "" || g[0].header.Get("X-Emulator-Basis") == "" {
		t.Errorf("%+v", g)
	}
}

func TestRecordsComeCompressedUnlessPlain(t *testing.T) {
	for _, plain := range []bool{false, true} {
		r := receive(t)
		e := open(t, Config{})
		e.Start()
		noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Kind: Endpoint, URL: r.URL, Format: "csv", Plain: plain}))
		until(t, e, is(Done))
		g := r.all()[0]
		body := g.body
		if !plain {
			zr, err := gzip.NewReader(strings.NewReader(g.body))
			noerr.Must(t, err)
			b, err := io.ReadAll(zr)
			noerr.Must(t, err)
			body = string(b)
		}
		if body != "sd_1 as csv" || (g.header.Get("Content-Encoding") == "gzip") == plain || !strings.HasPrefix(g.header.Get("Content-Type"), "text/csv") {
			t.Errorf("plain %v: %+v", plain, g)
		}
	}
}

func TestARefusedDeliveryIsTriedByTheScheduleThenGivenUp(t *testing.T) {
	c := statetest.NewClock()
	r := receive(t, 500, 302, 404, 200)
	e := open(t, Config{Now: c.Now, Schedule: []time.Duration{time.Minute, time.Hour}})
	e.Start()
	noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL, Auth: "Bearer s3cret"}))
	until(t, e, tried(1))
	c.Forward(59 * time.Second)
	e.Wake()
	if d := e.List("")[0]; len(d.Attempts) != 1 || d.Next.Sub(c.Now()) != time.Second {
		t.Errorf("too early: %+v", d)
	}
	c.Forward(time.Second)
	e.Wake()
	until(t, e, tried(2))
	c.Forward(time.Hour)
	e.Wake()
	d := until(t, e, is(Failed))
	if len(d.Attempts) != 3 || d.Attempts[2].Status != 404 || d.Attempts[2].Error == "" || len(d.Files) != 0 {
		t.Errorf("%+v", d)
	}
	c.Forward(24 * time.Hour)
	e.Wake()
	if len(r.all()) != 3 {
		t.Errorf("%d posts", len(r.all()))
	}
	if statetest.Holds(t, e.conf.State, "s3cret") {
		t.Error("the secret of a delivery that has ended is kept")
	}
}

func TestASilentReceiverIsGivenUpAfterItsTime(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
	}))
	defer slow.Close()
	defer close(release)
	e := open(t, Config{AckTimeout: 20 * time.Millisecond, Schedule: []time.Duration{time.Hour}})
	e.Start()
	noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Kind: Endpoint, URL: slow.URL, Format: "json"}))
	if d := until(t, e, tried(1)); d.Attempts[0].Error != errSilent.Error() || d.Status != Waiting {
		t.Errorf("%+v", d)
	}
}

func TestASignatureIsOneThatTheLibraryAccepts(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	wh, err := standardwebhooks.NewWebhook(secret)
	noerr.Must(t, err)
	for _, kind := range []string{Notify, Endpoint} {
		c := statetest.NewClock() // far from the wall's time: receivers compare with theirs
		r := receive(t, 500)
		e := open(t, Config{Secret: secret, Now: c.Now, Schedule: []time.Duration{time.Second}})
		e.Start()
		noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Status: "ready", Kind: kind, URL: r.URL, Format: "json"}))
		until(t, e, tried(1))
		c.Forward(time.Second)
		e.Wake()
		until(t, e, is(Done))
		g := r.all()
		for _, one := range g {
			if err := wh.Verify([]byte(one.body), one.header); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if err := wh.Verify([]byte(one.body+" "), one.header); err == nil {
				t.Errorf("%s: another body has the same signature", kind)
			}
		}
		if len(g) != 2 || g[0].header.Get("Webhook-Id") != g[1].header.Get("Webhook-Id") {
			t.Errorf("%s: a repeated webhook has another id", kind)
		}
	}
	if _, err := Open(t.Context(), Config{State: statetest.Open(t, ""), Secret: "whsec_%%%"}); err == nil || strings.Contains(err.Error(), "%%%") {
		t.Errorf("a secret that is none: %v", err)
	}
}

func TestFaultsMakeADeliveryLateTwiceOrNever(t *testing.T) {
	c := statetest.NewClock()
	r := receive(t)
	var asked int
	fault := Fault{Delay: time.Minute, Copies: 2}
	e := open(t, Config{Now: c.Now, Fault: func(d Delivery) Fault {
		n := len(d.Attempts) + 1
		asked = n
		return fault
	}})
	e.Start()
	noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL}))
	until(t, e, func(d Delivery) bool { return d.Next.Sub(c.Now()) == time.Minute })
	if len(r.all()) != 0 {
		t.Error("it was not late")
	}
	c.Forward(time.Minute)
	e.Wake()
	if d := until(t, e, is(Done)); len(d.Attempts) != 1 || d.Attempts[0].Fault != "late by 1m0s, 2 times" || asked != 1 {
		t.Errorf("%+v, asked %d", d, asked)
	}
	if len(r.all()) != 2 {
		t.Errorf("%d posts, want 2", len(r.all()))
	}

	lost := open(t, Config{Fault: func(Delivery) Fault { return Fault{Never: true} }})
	lost.Start()
	noerr.Must(t, lost.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL}))
	if d := until(t, lost, is(Failed)); len(d.Attempts) != 1 || d.Attempts[0].Fault != "never" {
		t.Errorf("%+v", d)
	}
	if len(r.all()) != 2 {
		t.Error("a lost webhook arrived")
	}

	refused := open(t, Config{Schedule: []time.Duration{0}, Fault: func(d Delivery) Fault {
		n := len(d.Attempts) + 1
		return Fault{Status: map[int]int{1: 503}[n]}
	}})
	refused.Start()
	noerr.Must(t, refused.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL}))
	if d := until(t, refused, is(Done)); len(d.Attempts) != 2 || d.Attempts[0].Status != 503 || len(r.all()) != 3 {
		t.Errorf("%+v, %d posts", d, len(r.all()))
	}
}

func TestADeliveryInPartsSendsEachAsAFile(t *testing.T) {
	c := statetest.NewClock()
	r := receive(t, 200, 500)
	e := open(t, Config{Now: c.Now, Schedule: []time.Duration{time.Second}, Source: func(_, _ string, batch, part int) (func(io.Writer) error, error) {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("x", batch*part))
			return err
		}, nil
	}})
	e.Start()
	first, err := e.Deliver(Message{Snapshot: "sd_1", Kind: Endpoint, URL: r.URL, Format: "json", Plain: true, Batch: 2, Parts: 2, Name: "out"})
	noerr.Must(t, err)
	until(t, e, tried(2))
	c.Forward(time.Second)
	e.Wake()
	d := until(t, e, is(Done))
	if d.ID != first.ID || len(d.Files) != 2 || d.Files[0].Name != "out.1.json" || d.Files[1].Name != "out.2.json" || len(d.Attempts) != 3 || d.Attempts[1].Part != 2 {
		t.Errorf("%+v", d)
	}
	if g := r.all(); len(g) != 3 || g[0].body != "xx" || g[2].body != "xxxx" {
		t.Errorf("%+v", g)
	}
}

func TestTooManyThatWaitAreRefused(t *testing.T) {
	e := open(t, Config{}) // never started
	for i := range maxWaiting {
		e.waiting[strconv.Itoa(i)] = &Delivery{Status: Waiting}
	}
	m := Message{Snapshot: "sd_1", Kind: Notify, URL: "http://x.test/"}
	if _, err := e.Deliver(m); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
	if err := e.Add(m); !errors.Is(err, ErrTooMany) || len(e.List("")) != 0 {
		t.Errorf("%v", err)
	}
}

func TestWhatHasEndedIsForgotten(t *testing.T) {
	c := statetest.NewClock()
	e := open(t, Config{Now: c.Now})
	r := receive(t)
	d, err := e.Deliver(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL, Auth: "s3cret"})
	noerr.Must(t, err)
	e.Start()
	<-r.came
	until(t, e, is(Done))
	c.Forward(retention + time.Second)
	e.Wake()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for _, err := e.Get(d.ID); !errors.Is(err, errNoDelivery); _, err = e.Get(d.ID) {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it is still there")
		}
	}
}

// TestABodyThatMovesIsNotCut takes four times the receiver's patience, a piece at a time.
func TestABodyThatMovesIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := Open(context.Background(), Config{
			State: statetest.Open(t, ""), Log: slog.New(slog.DiscardHandler),
			Send: func(r *http.Request) (*http.Response, error) {
				defer r.Body.Close()
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return nil, err
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, r.Context().Err()
			},
			Source: func(string, string, int, int) (func(io.Writer) error, error) {
				return func(w io.Writer) error {
					for range 8 {
						time.Sleep(ackTimeout / 2) //nolint:forbidigo // the bubble's clock: no time passes
						if _, err := io.WriteString(w, "piece"); err != nil {
							return err
						}
					}
					return nil
				}, nil
			},
		})
		noerr.Must(t, err)
		defer e.Close()
		e.Start()
		noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Kind: Endpoint, URL: "http://x.test/", Format: "json", Plain: true}))
		time.Sleep(5 * ackTimeout) //nolint:forbidigo // the bubble's clock: no time passes
		synctest.Wait()
		if d := e.List("sd_1")[0]; d.Status != Done || len(d.Attempts) != 1 {
			t.Errorf("%+v", d)
		}
	})
}

func TestALoginInTheAddressIsSentAndShownToNobody(t *testing.T) {
	r := receive(t)
	e := open(t, Config{})
	e.Start()
	address := strings.Replace(r.URL, "http://", "http://me:hunter2@", 1)
	noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Status: "ready", Kind: Notify, URL: address}))
	d := until(t, e, is(Done))
	if got := r.all(); len(got) != 1 || got[0].header.Get("Authorization") != "Basic bWU6aHVudGVyMg==" {
		t.Errorf("the receiver got %v", got)
	}
	if strings.Contains(d.Message.URL, "hunter2") {
		t.Errorf("shown: %s", d.Message.URL)
	}
	if statetest.Holds(t, e.conf.State, "hunter2") {
		t.Error("the password of a delivery that has ended is kept")
	}
}

// TestADeadProcessLosesNoDeliveryAndRepeatsNoneWithoutEnd starts engines on one folder
// that all die within their attempt.
func TestADeadProcessLosesNoDeliveryAndRepeatsNoneWithoutEnd(t *testing.T) {
	d, c := statetest.Open(t, t.TempDir()), statetest.NewClock()
	schedule := []time.Duration{time.Second, time.Second}
	reached := 0
	for range 5 {
		begun := make(chan struct{}, 1)
		e := open(t, Config{State: d, Now: c.Now, Schedule: schedule, Send: func(r *http.Request) (*http.Response, error) {
			begun <- struct{}{}
			<-r.Context().Done()
			return nil, r.Context().Err()
		}})
		e.Start()
		noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: "http://x.test/", Auth: "a"}))
		ended := false
		until(t, e, func(d Delivery) bool {
			select {
			case <-begun:
				reached++
				return true
			default:
				ended = d.Status.ended()
				return ended
			}
		})
		noerr.Must(t, e.Close())
		if ended {
			break
		}
		c.Forward(time.Second)
	}
	if reached != 3 {
		t.Errorf("%d attempts, want 3: one and two waits", reached)
	}
	e := open(t, Config{State: d, Now: c.Now})
	if ds := e.List("sd_1"); len(ds) != 1 || ds[0].Status != Failed || len(ds[0].Attempts) != 3 || ds[0].Attempts[0].Over {
		t.Errorf("%+v", ds)
	}
}

func TestADeliveryGoesOnAfterARestart(t *testing.T) {
	r := receive(t)
	d := statetest.Open(t, t.TempDir())
	e := open(t, Config{State: d}) // never started: killed before it sent
	noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL, Auth: "Basic eA=="}))
	broken := Delivery{ID: "another", Status: Waiting, Message: Message{Parts: 1}}
	noerr.Must(t, d.Update(func(tx *state.Tx) error { return keptDeliveries.Put(tx, "broken", broken) }))
	d = statetest.Open(t, statetest.Killed(t, d))
	e = open(t, Config{State: d})
	if n := d.Notes(); len(n) != 1 || n[0] != `"broken" of deliveries is left out: it cannot be read (its id or its parts are wrong)` {
		t.Errorf("notes: %q", n)
	}
	e.Start()
	// Handed over again: the same webhook, not another one.
	noerr.Must(t, e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL, Auth: "Basic eA=="}))
	until(t, e, is(Done))
	if g := r.all(); len(g) != 1 || g[0].header.Get("Authorization") != "Basic eA==" {
		t.Errorf("%+v", g)
	}
}

func TestReadersDoNotWaitForTheDisk(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	r := receive(t)
	e := open(t, Config{State: d})
	m := Message{Snapshot: "sd_1", Kind: Notify, URL: r.URL}
	first, err := e.Deliver(m)
	noerr.Must(t, err)
	begun, release := statetest.Hold(t, d, "deliveries")
	added := make(chan error, 1)
	go func() { added <- e.Add(m) }()
	<-begun
	if all := e.List("sd_1"); len(all) != 1 || all[0].ID != first.ID {
		t.Errorf("%+v", all)
	}
	if got, err := e.Get(first.ID); err != nil || got.Status != Waiting {
		t.Errorf("%+v, %v", got, err)
	}
	release()
	noerr.Must(t, <-added)
}

func TestClosingWaitsForADeliveryThatIsBeingTaken(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	e := open(t, Config{State: d})
	begun, release := statetest.Hold(t, d, "deliveries")
	added := make(chan error, 1)
	go func() { added <- e.Add(Message{Snapshot: "sd_1", Kind: Notify, URL: "http://x.test/"}) }()
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	select {
	case err := <-closed:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // what does not wait has returned by then
	}
	release()
	noerr.Must(t, errors.Join(<-added, <-closed))
	if all := open(t, Config{State: d}).List(""); len(all) != 1 {
		t.Errorf("after the next start: %+v", all)
	}
}

// An attempt stands on disk before it is made, and its end before it is forgotten: both
// while readers look.
func TestAnAttemptThatIsBeingKeptHoldsUpNoReader(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	e := open(t, Config{State: d, Send: func(*http.Request) (*http.Response, error) { return nil, errors.New("nobody there") }})
	first, err := e.Deliver(Message{Snapshot: "sd_1", Kind: Notify, URL: "http://x.test/"})
	noerr.Must(t, err)
	begun, release := statetest.Hold(t, d, "deliveries")
	e.Start()
	<-begun
	if got, err := e.Get(first.ID); err != nil || len(got.Attempts) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	release()
	until(t, e, tried(1))
}
