package async

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(text string) func(context.Context, Ask, *Recorder) {
	return func(_ context.Context, a Ask, to *Recorder) {
		to.Header().Set("X-Zone", a.Zone)
		to.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(to, text)
	}
}

func open(t *testing.T, conf Config) *Store {
	t.Helper()
	if conf.State == nil {
		conf.State = statetest.Open(t, "")
	}
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	s, err := Open(t.Context(), conf)
	noerr.Must(t, err)
	t.Cleanup(s.Close)
	return s
}

func submit(t *testing.T, s *Store, a Ask) string {
	t.Helper()
	id, err := s.Submit(a)
	noerr.Must(t, err)
	return id
}

func read(t *testing.T, s *Store, id string) string {
	t.Helper()
	a, err := s.Collect(id, "")
	noerr.Must(t, err)
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	noerr.Must(t, err)
	return string(b)
}

func TestAnAnswerIsPendingThenThereForItsZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := open(t, Config{Do: func(ctx context.Context, a Ask, to *Recorder) {
			select {
			case <-gate:
			case <-ctx.Done():
			}
			write("page")(ctx, a, to)
		}})
		id := submit(t, s, Ask{Zone: "z"})
		synctest.Wait()
		if _, err := s.Collect(id, "z"); !errors.Is(err, ErrPending) {
			t.Errorf("before: %v", err)
		}
		close(gate)
		synctest.Wait()
		if got := read(t, s, id); got != "page" {
			t.Errorf("%q", got)
		}
		for _, c := range [][2]string{{id, "other"}, {"r_none", ""}, {"../" + id, ""}} {
			if _, err := s.Collect(c[0], c[1]); !errors.Is(err, ErrUnknown) {
				t.Errorf("%q: %v", c, err)
			}
		}
	})
}

func TestSecretsGoWithTheFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := statetest.Open(t, t.TempDir())
		s := open(t, Config{State: d, Do: write("page")})
		id := submit(t, s, Ask{Zone: "z", Fields: json.RawMessage(`{"headers":{"Authorization":"hush"}}`)})
		synctest.Wait()
		read(t, s, id)
		if statetest.Holds(t, d, "hush") {
			t.Error("the secret is still on disk")
		}
	})
}

func TestUnfinishedFetchesAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := statetest.Open(t, t.TempDir())
		s := open(t, Config{State: d, Do: func(ctx context.Context, _ Ask, to *Recorder) {
			_, _ = io.WriteString(to, "half a p")
			<-ctx.Done()
		}})
		id := submit(t, s, Ask{Zone: "z", Endpoint: 2, Fields: json.RawMessage(`{"url":"u"}`)})
		synctest.Wait()
		s.Close()
		var seen Ask
		s = open(t, Config{State: d, Do: func(ctx context.Context, a Ask, to *Recorder) {
			seen = a
			write("page")(ctx, a, to)
		}})
		synctest.Wait()
		if got := read(t, s, id); got != "page" || seen.Endpoint != 2 || !strings.Contains(string(seen.Fields), `"u"`) {
			t.Errorf("%q of %+v", got, seen)
		}
	})
}

func TestAResponseWithoutItsBodyIsLeftOutAndSaid(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	id := newID()
	err := d.Update(func(tx *state.Tx) error {
		return responsesTable.Put(tx, id, response{Zone: "z", Created: time.Now(), Notified: true})
	})
	noerr.Must(t, err)
	s := open(t, Config{State: d, Do: write("")})
	if n := d.Notes(); len(n) != 1 || !strings.HasPrefix(n[0], fmt.Sprintf("%q of responses is left out: it cannot be read (", id)) {
		t.Errorf("%q", n)
	}
	if _, err := s.Collect(id, ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
}

func TestAnAnswerThatIsTooLargeIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Do: func(_ context.Context, _ Ask, to *Recorder) {
			to.Header().Set("X-First", "1")
			block := make([]byte, maxBody/2+1)
			noerr.Want(t, noerr.From(to.Write(block)))
			if _, err := to.Write(block); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v", err)
			}
			noerr.Want(t, to.Reset())
			_, _ = io.WriteString(to, "sorry")
		}})
		id := submit(t, s, Ask{Zone: "z"})
		synctest.Wait()
		if got := read(t, s, id); got != "sorry" {
			t.Errorf("%d bytes", len(got))
		}
		if a, err := s.Collect(id, ""); err != nil || a.Header.Get("X-First") != "" {
			t.Errorf("%v %v", a, err)
		} else {
			a.Body.Close()
		}
	})
}

func TestCollectedResponsesMakeRoom(t *testing.T) {
	s := open(t, Config{Do: write("")})
	s.Close() // submitted fetches wait for the next start
	now := time.Now()
	for range maxKept {
		s.entries[newID()] = &entry{created: now, done: true}
	}
	if _, err := s.Submit(Ask{}); !errors.Is(err, ErrFull) {
		t.Errorf("nothing collected: %v", err)
	}
	old := newID()
	for id := range s.entries { // swap one for a collected one
		delete(s.entries, id)
		break
	}
	s.entries[old] = &entry{created: now.Add(-time.Hour), done: true, collected: true}
	if _, err := s.Submit(Ask{}); err != nil {
		t.Errorf("one collected: %v", err)
	}
	if s.entries[old] != nil {
		t.Error("the collected one is still kept")
	}
	for _, e := range s.entries {
		e.done, e.collected = false, true
	}
	if _, err := s.Submit(Ask{}); !errors.Is(err, ErrFull) {
		t.Errorf("too many pending: %v", err)
	}
}

func TestAllAnswersTogetherAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *Store
		old := newID()
		s = open(t, Config{Do: func(_ context.Context, a Ask, to *Recorder) {
			page := []byte("a page")
			if a.Zone == "late" { // everything else was kept while this one was on its way
				s.mu.Lock()
				s.bytes = maxBytes - 3
				s.mu.Unlock()
				if _, err := to.Write(page); !errors.Is(err, ErrFull) {
					t.Errorf("nothing collected: %v", err)
				}
				s.mu.Lock()
				s.entries[old] = &entry{done: true, collected: true, size: 100}
				s.mu.Unlock()
			}
			noerr.Want(t, noerr.From(to.Write(page)))
			noerr.Want(t, to.Reset())
			_, _ = io.WriteString(to, "short")
		}})
		submit(t, s, Ask{Zone: "z"})
		synctest.Wait()
		if s.bytes != int64(len("short")) {
			t.Errorf("%d bytes are counted", s.bytes)
		}
		submit(t, s, Ask{Zone: "late"})
		synctest.Wait()
		if s.bytes != maxBytes-3-100+int64(len("short")) || s.entries[old] != nil {
			t.Errorf("%d bytes are counted, the collected one: %v", s.bytes, s.entries[old])
		}
	})
}

// What was begun goes on while the rest is still being read.
func TestManyUnfinishedFetchesAreRepeated(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	s := open(t, Config{State: d, Do: write("")})
	s.Close()
	ids := make([]string, 200)
	for i := range ids {
		ids[i] = submit(t, s, Ask{Zone: "z"})
	}
	var done atomic.Int32
	s = open(t, Config{State: d, Do: func(ctx context.Context, a Ask, to *Recorder) {
		write("page")(ctx, a, to)
		done.Add(1)
	}})
	for _, id := range ids {
		for {
			a, err := s.Collect(id, "")
			if err == nil {
				a.Body.Close()
				break
			}
			if !errors.Is(err, ErrPending) {
				t.Fatal(err)
			}
			runtime.Gosched()
		}
	}
	if done.Load() != int32(len(ids)) {
		t.Errorf("%d fetches", done.Load())
	}
}

func TestNotices(t *testing.T) {
	type got struct {
		method, query, body string
	}
	var calls atomic.Int32
	seen := make(chan got, 8)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		noerr.Want(t, err)
		seen <- got{r.Method, r.URL.RawQuery, string(b)}
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer h.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	d := statetest.Open(t, t.TempDir())
	conf := Config{State: d, Do: write("page"), Send: tr.RoundTrip, Waits: []time.Duration{time.Millisecond, time.Millisecond}}
	s := open(t, conf)
	id := submit(t, s, Ask{Zone: "z", URL: "http://lab.test/ok", Webhook: Webhook{URL: h.URL, Payload: json.RawMessage(`{"n":1}`)}})
	for i := range 3 { // two are refused
		g := <-seen
		var v map[string]any
		if err := json.Unmarshal([]byte(g.body), &v); err != nil || g.method != http.MethodPost || v["response_id"] != id ||
			v["request_url"] != "http://lab.test/ok" || v["status"] != "done" || v["hook_data"].(map[string]any)["n"] != 1.0 || strings.Contains(g.body, "page") {
			t.Errorf("attempt %d: %+v", i, g)
		}
	}
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		if r, _, err := responsesTable.Get(d, id); err == nil && r.Notified {
			tick.Stop()
			break
		}
	}
	s.Close()
	second := open(t, conf) // told already: nothing is sent again
	id2 := submit(t, second, Ask{Zone: "z", URL: "u", Webhook: Webhook{URL: h.URL + "/?mine=1", Method: http.MethodGet}})
	g := <-seen
	q, err := url.ParseQuery(g.query)
	if err != nil || g.method != http.MethodGet || q.Get("response_id") != id2 || q.Get("mine") != "1" || q.Get("status") != "done" {
		t.Errorf("%+v", g)
	}
	second.Close()
	if len(seen) > 0 {
		t.Errorf("sent again: %+v", <-seen)
	}
}

func TestANoticeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		d := statetest.Open(t, t.TempDir())
		conf := Config{State: d, Do: write(""), Send: func(*http.Request) (*http.Response, error) {
			n.Add(1)
			return nil, errors.New("nobody there")
		}}
		s := open(t, conf)
		submit(t, s, Ask{Zone: "z", Webhook: Webhook{URL: "http://h.test"}})
		time.Sleep(time.Hour) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		if n.Load() != 4 {
			t.Errorf("%d attempts, want 4", n.Load())
		}
		s.Close()
		open(t, conf)
		time.Sleep(time.Hour) //nolint:forbidigo // the bubble's clock
		if n.Load() != 4 {
			t.Errorf("begun again after it was given up")
		}
	})
}

// A process that is killed while an answer comes in leaves half a body; so does one that
// is killed between a body and the note that it is done.
func TestBodiesWithoutAResponseAreRemoved(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	folder, err := d.Folder(bodies)
	noerr.Must(t, err)
	for _, name := range []string{".new-" + newID() + "-123", newID()} {
		noerr.Must(t, os.WriteFile(filepath.Join(folder, name), []byte("half"), 0o600))
	}
	open(t, Config{State: d})
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 || len(d.Notes()) > 0 {
		t.Errorf("%v, %v, notes %q", left, err, d.Notes())
	}
}

func TestDroppedResponsesAreRemovedFromDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := statetest.Open(t, t.TempDir())
		s := open(t, Config{State: d, Do: write("page")})
		ids := []string{submit(t, s, Ask{Zone: "z"}), submit(t, s, Ask{Zone: "z"})}
		synctest.Wait()
		time.Sleep(retention) //nolint:forbidigo // the bubble's clock
		if _, err := s.Collect(ids[0], ""); !errors.Is(err, ErrUnknown) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		for _, id := range ids {
			_, kept, err := responsesTable.Get(d, id)
			if _, serr := os.Stat(s.path(id)); err != nil || kept || !errors.Is(serr, os.ErrNotExist) {
				t.Errorf("%s: %v, %v, %v", id, kept, err, serr)
			}
		}
	})
}

func TestReadersDoNotWaitForTheDisk(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	s := open(t, Config{State: d, Do: write("page")})
	first := submit(t, s, Ask{Zone: "z"})
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		if a, err := s.Collect(first, ""); err == nil {
			a.Body.Close()
			tick.Stop()
			break
		}
	}
	begun, release := statetest.Hold(t, d, "responses")
	submitted := make(chan error, 1)
	go func() {
		_, err := s.Submit(Ask{Zone: "z"})
		submitted <- err
	}()
	<-begun
	if got := read(t, s, first); got != "page" {
		t.Errorf("%q", got)
	}
	release()
	noerr.Must(t, <-submitted)
}

// A notice that was taken is noted while readers look.
func TestWritingANoticeDoesNotDelayReaders(t *testing.T) {
	d := statetest.Open(t, t.TempDir())
	taken := make(chan struct{})
	s := open(t, Config{State: d, Do: write("page"), Send: func(*http.Request) (*http.Response, error) {
		<-taken
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}})
	id := submit(t, s, Ask{Zone: "z", Webhook: Webhook{URL: "http://h.test"}})
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		if a, err := s.Collect(id, ""); err == nil {
			a.Body.Close()
			tick.Stop()
			break
		}
	}
	begun, release := statetest.Hold(t, d, "responses")
	close(taken)
	<-begun
	if got := read(t, s, id); got != "page" {
		t.Errorf("%q", got)
	}
	release()
}
