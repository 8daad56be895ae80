package async

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
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

	"zonedeck/service/emulator/state"
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
	if conf.Dir == "" {
		conf.Dir = t.TempDir()
	}
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	s, err := Open(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func submit(t *testing.T, s *Store, a Ask) string {
	t.Helper()
	id, err := s.Submit(a)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func read(t *testing.T, s *Store, id string) string {
	t.Helper()
	a, err := s.Collect(id, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
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
		dir := t.TempDir()
		s := open(t, Config{Dir: dir, Do: write("page")})
		id := submit(t, s, Ask{Zone: "z", Fields: json.RawMessage(`{"headers":{"Authorization":"hush"}}`)})
		synctest.Wait()
		read(t, s, id)
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), "hush") {
				t.Errorf("%s still has the secret", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestWhatWasBegunIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, Config{Dir: dir, Do: func(ctx context.Context, _ Ask, to *Recorder) {
			_, _ = io.WriteString(to, "half a p")
			<-ctx.Done()
		}})
		id := submit(t, s, Ask{Zone: "z", Endpoint: 2, Fields: json.RawMessage(`{"url":"u"}`)})
		synctest.Wait()
		s.Close()
		var seen Ask
		s = open(t, Config{Dir: dir, Do: func(ctx context.Context, a Ask, to *Recorder) {
			seen = a
			write("page")(ctx, a, to)
		}})
		synctest.Wait()
		if got := read(t, s, id); got != "page" || seen.Endpoint != 2 || !strings.Contains(string(seen.Fields), `"u"`) {
			t.Errorf("%q of %+v", got, seen)
		}
	})
}

func TestBrokenFoldersAreRemovedAndSaid(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, newID())
	other := filepath.Join(dir, "not-ours")
	for _, d := range []string{broken, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(broken, answerName), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Config{Dir: dir, Do: write("")})
	if n := s.Notes(); len(n) != 1 || !strings.Contains(n[0], filepath.Base(broken)) {
		t.Errorf("%q", n)
	}
	if _, err := os.Stat(broken); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a folder of somebody else: %v", err)
	}
}

func TestAnAnswerThatIsTooLargeIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Do: func(_ context.Context, _ Ask, to *Recorder) {
			to.Header().Set("X-First", "1")
			block := make([]byte, MaxBody/2+1)
			if _, err := to.Write(block); err != nil {
				t.Error(err)
			}
			if _, err := to.Write(block); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v", err)
			}
			if err := to.Reset(); err != nil {
				t.Error(err)
			}
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

func TestRoomIsMadeByWhatWasCollected(t *testing.T) {
	s := open(t, Config{Do: write("")})
	s.Close() // what is submitted waits for the next start
	now := time.Now()
	for range MaxKept {
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
	clear(s.entries) // nothing of this is on disk
}

func TestAllAnswersTogetherAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *Store
		old := newID()
		s = open(t, Config{Do: func(_ context.Context, a Ask, to *Recorder) {
			page := []byte("a page")
			if a.Zone == "late" { // everything else was kept while this one was on its way
				s.mu.Lock()
				s.bytes = MaxBytes - 3
				s.mu.Unlock()
				if _, err := to.Write(page); !errors.Is(err, ErrFull) {
					t.Errorf("nothing collected: %v", err)
				}
				s.mu.Lock()
				s.entries[old] = &entry{done: true, collected: true, size: 100}
				s.mu.Unlock()
			}
			if _, err := to.Write(page); err != nil {
				t.Error(err)
			}
			if err := to.Reset(); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(to, "short")
		}})
		submit(t, s, Ask{Zone: "z"})
		synctest.Wait()
		if s.bytes != int64(len("short")) {
			t.Errorf("%d bytes are counted", s.bytes)
		}
		submit(t, s, Ask{Zone: "late"})
		synctest.Wait()
		if s.bytes != MaxBytes-3-100+int64(len("short")) || s.entries[old] != nil {
			t.Errorf("%d bytes are counted, the collected one: %v", s.bytes, s.entries[old])
		}
	})
}

// What was begun goes on while the rest is still being read.
func TestManyThatGoOn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir, Do: write("")})
	s.Close()
	ids := make([]string, 200)
	for i := range ids {
		ids[i] = submit(t, s, Ask{Zone: "z"})
	}
	var done atomic.Int32
	s = open(t, Config{Dir: dir, Do: func(ctx context.Context, a Ask, to *Recorder) {
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
		if err != nil {
			t.Error(err)
		}
		seen <- got{r.Method, r.URL.RawQuery, string(b)}
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer h.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	dir := t.TempDir()
	conf := Config{Dir: dir, Do: write("page"), Send: tr.RoundTrip, Waits: []time.Duration{time.Millisecond, time.Millisecond}}
	s := open(t, conf)
	id := submit(t, s, Ask{Zone: "z", URL: "http://lab.test/ok", Hook: Hook{URL: h.URL, Payload: json.RawMessage(`{"n":1}`)}})
	for i := range 3 { // two are refused
		g := <-seen
		var v map[string]any
		if err := json.Unmarshal([]byte(g.body), &v); err != nil || g.method != http.MethodPost || v["response_id"] != id ||
			v["request_url"] != "http://lab.test/ok" || v["status"] != "done" || v["hook_data"].(map[string]any)["n"] != 1.0 || strings.Contains(g.body, "page") {
			t.Errorf("attempt %d: %+v", i, g)
		}
	}
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		if a, err := s.readAnswer(id); err == nil && a.Told {
			tick.Stop()
			break
		}
	}
	s.Close()
	second := open(t, conf) // told already: nothing is sent again
	id2 := submit(t, second, Ask{Zone: "z", URL: "u", Hook: Hook{URL: h.URL + "/?mine=1", Method: http.MethodGet}})
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
		dir := t.TempDir()
		conf := Config{Dir: dir, Do: write(""), Send: func(*http.Request) (*http.Response, error) {
			n.Add(1)
			return nil, errors.New("nobody there")
		}}
		s := open(t, conf)
		submit(t, s, Ask{Zone: "z", Hook: Hook{URL: "http://h.test"}})
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

// A process that is killed while a request comes in leaves a folder of which nobody was
// told.
func TestARequestThatWasNeverAnsweredLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, idPrefix+strings.Repeat("a", 24))
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, state.HalfWritten+"ask.json-1"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := open(t, Config{Dir: dir})
	if len(s.Notes()) > 0 {
		t.Errorf("notes %v", s.Notes())
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}
