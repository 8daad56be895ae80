package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

var testTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// clock gives a clock that advances one second with each reading.
func clock() func() time.Time {
	var mu sync.Mutex
	t := testTime
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		t = t.Add(time.Second)
		return t
	}
}

func openTest(t testing.TB, path string) *Journal {
	t.Helper()
	j, notice, err := open(t.Context(), path, clock(), defaults())
	noerr.Must(t, err)
	if notice != "" {
		t.Fatalf("unexpected notice: %s", notice)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return j
}

func sampleFetch(id string) model.FetchResult {
	return model.FetchResult{
		ID: id, KeyName: "batch-user", Started: testTime,
		Request: model.FetchRequest{
			Zone: model.Zone{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "env:ZP"},
			URL:  "http://lab.test/shop", Via: model.ViaAPI, Format: model.FormatRaw, Timeout: time.Minute,
			Header: http.Header{"X-Mine": {"1"}},
		},
		Status: 200, ServiceStatus: 200, Header: http.Header{"X-Brd-Ip": {"127.0.0.9"}}, ContentType: "text/html",
		Body:      model.BodyRef{Bytes: []byte("<html>\x00\xff</html>"), Size: 15, SHA256: "ab"},
		Timing:    model.Timing{DNS: -1, Total: 412 * time.Millisecond},
		Attempts:  []model.Attempt{{N: 1, Class: model.ClassCaptcha, Status: 200}},
		Diagnosis: model.Diagnosis{Class: model.ClassCaptcha, Cause: model.CauseNone, Summary: "a challenge came", Rule: "captcha"},
	}
}

func TestAFetchComesBackAsItWasPut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	want := sampleFetch("f1")
	noerr.Must(t, j.PutFetch(t.Context(), "local", want))
	got, err := j.Fetch(t.Context(), "f1")
	noerr.Must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if _, err := j.Fetch(t.Context(), "f2"); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("unknown id: %v", err)
	}
	list, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("timeline: %v, %v", list, err)
	}
	a := list[0]
	if a.Ref != "f1" || a.Class != model.ClassCaptcha || a.Bytes != 15 || a.Total != 412*time.Millisecond || !a.At.Equal(testTime) || a.ID != 1 {
		t.Errorf("line of the timeline: %+v", a)
	}
	if a.Priced || a.Cost != 0 {
		t.Errorf("without a rate it costs %v", a.Cost)
	}
	want.ID, want.Request.Zone.Rate = "f3", model.Rate{Per1000: 1.5}
	noerr.Must(t, j.PutFetch(t.Context(), "local", want))
	if list, err = j.Entries(t.Context(), model.HistoryFilter{Limit: 1}); err != nil || !list[0].Priced || list[0].Cost != 0.0015 {
		t.Errorf("with a rate: %+v, %v", list, err)
	}
	if err := j.PutFetch(t.Context(), "local", model.FetchResult{}); err == nil {
		t.Error("a fetch without an id was taken")
	}
}

func TestHistoryIsThereAfterCloseAndOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	set := defaults()
	set.interval = time.Hour // only Close writes
	j, _, err := open(t.Context(), path, clock(), set)
	noerr.Must(t, err)
	for _, id := range []string{"a", "b"} {
		noerr.Must(t, j.PutFetch(t.Context(), "local", sampleFetch(id)))
	}
	noerr.Must(t, j.Close())
	if err := j.PutFetch(t.Context(), "local", sampleFetch("c")); !errors.Is(err, errClosed) {
		t.Errorf("put after close: %v", err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	j = openTest(t, path)
	for _, id := range []string{"a", "b"} {
		if _, err := j.Fetch(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestAGroupIsWrittenAfterTheInterval(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	set := defaults()
	set.interval = time.Hour
	set.groupRows = 3
	j, _, err := open(t.Context(), path, clock(), set)
	noerr.Must(t, err)
	defer j.Close()
	other := openTest(t, path)
	for range 3 {
		noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{Kind: model.HistoryKey, Text: "x"}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil { // bounded by the context; each round is a query
		list, err := other.Entries(ctx, model.HistoryFilter{})
		if err == nil && len(list) == 3 {
			return
		}
		runtime.Gosched()
	}
	t.Fatal("a complete group was not written by the goroutine")
}

func TestCredentialsOfARequestAreMasked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, _, err := open(t.Context(), path, clock(), defaults())
	noerr.Must(t, err)
	r := sampleFetch("f1")
	r.Request.URL = "http://me:hunter2-secret@lab.test/ok"
	r.Request.Header = http.Header{"Authorization": {"Bearer hunter2-secret"}, "Cookie": {"sid=hunter2-secret"}, "X-Mine": {"kept"}, "X-Auth-Token": {"hunter2-secret"}, "X-Api-Key": {"hunter2-secret"}}
	r.Request.Zone.Password = "cmd:vault --token=hunter2-secret read proxy"
	noerr.Must(t, j.PutFetch(t.Context(), "local", r))
	got, err := j.Fetch(t.Context(), "f1")
	noerr.Must(t, err)
	if got.Request.Header.Get("X-Mine") != "kept" || got.Request.Header.Get("Authorization") != model.Masked {
		t.Errorf("headers: %v", got.Request.Header)
	}
	if r.Request.Header.Get("Cookie") != "sid=hunter2-secret" {
		t.Error("the caller's own header was changed")
	}
	noerr.Must(t, j.Close())
	for _, name := range []string{path, path + "-wal"} {
		raw, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "hunter2-secret") {
			t.Errorf("%s holds a credential", name)
		}
	}
}

func TestMaskURL(t *testing.T) {
	for _, c := range [][2]string{
		{"http://lab.test/a@b", "http://lab.test/a@b"},
		{"http://me:pw@lab.test/", "http://me:xxxxx@lab.test/"},
		{"http://me@lab.test/", "http://me@lab.test/"},
		{"http://me:p%zz@lab.test/", "••••@lab.test/"},
	} {
		if got := maskURL(c[0]); got != c[1] {
			t.Errorf("%s: got %s, want %s", c[0], got, c[1])
		}
	}
}

func TestTheFilterNarrows(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	put := func(a model.HistoryEntry) {
		t.Helper()
		noerr.Must(t, j.PutEntry(t.Context(), a))
	}
	put(model.HistoryEntry{At: testTime, Kind: model.HistoryFetch, Zone: "a", Key: "k1", Class: model.ClassOK, URL: "http://lab.test/OK", Text: "fine"})
	put(model.HistoryEntry{At: testTime.Add(time.Hour), Kind: model.HistoryFetch, Zone: "b", Key: "k2", Class: model.ClassCaptcha, URL: "http://lab.test/shop", Text: "50% of it"})
	put(model.HistoryEntry{At: testTime.Add(2 * time.Hour), Kind: model.HistoryJob, Zone: "", Key: "k2", Text: "job-1 accepted", Ref: "job-1"})
	noerr.Must(t, j.PutKeyEvent(t.Context(), KeyEvent{At: testTime.Add(3 * time.Hour), Key: "k1", Event: "refreshed", Text: "the old value is invalid"}))
	noerr.Must(t, j.PutProbe(t.Context(), "p", model.ProbeResult{Started: testTime.Add(4 * time.Hour), Zone: model.Zone{Name: "a"}}))
	for _, c := range []struct {
		name string
		f    model.HistoryFilter
		want []int64
	}{
		{"nothing asked gives everything, newest first", model.HistoryFilter{}, []int64{5, 4, 3, 2, 1}},
		{"kind", model.HistoryFilter{Kind: model.HistoryFetch}, []int64{2, 1}},
		{"class", model.HistoryFilter{Class: model.ClassCaptcha}, []int64{2}},
		{"zone", model.HistoryFilter{Zone: "a"}, []int64{5, 1}},
		{"profile", model.HistoryFilter{Profile: "p"}, []int64{5}},
		{"key", model.HistoryFilter{Key: "k1"}, []int64{4, 1}},
		{"since", model.HistoryFilter{Since: testTime.Add(2 * time.Hour)}, []int64{5, 4, 3}},
		{"words without regard to case", model.HistoryFilter{Words: []string{"lab.test/ok"}}, []int64{1}},
		{"words are all needed", model.HistoryFilter{Words: []string{"LAB", "shop"}}, []int64{2}},
		{"a percent sign is a percent sign", model.HistoryFilter{Words: []string{"50%"}}, []int64{2}},
		{"a blank word asks for nothing", model.HistoryFilter{Words: []string{" "}, Zone: "b"}, []int64{2}},
		{"limit", model.HistoryFilter{Limit: 2}, []int64{5, 4}},
		{"before", model.HistoryFilter{Before: 4, Limit: 2}, []int64{3, 2}},
		{"no match", model.HistoryFilter{Zone: "'; DROP TABLE activity; --"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := j.Entries(t.Context(), c.f)
			noerr.Must(t, err)
			var got []int64
			for _, a := range list {
				got = append(got, a.ID)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	events, err := j.KeyEvents(t.Context(), "k1", 10)
	if err != nil || len(events) != 1 || events[0].Event != "refreshed" {
		t.Errorf("key events: %v, %v", events, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				noerr.Want(t, j.PutEntry(t.Context(), model.HistoryEntry{Text: "x"}))
				noerr.Want(t, noerr.From(j.Entries(t.Context(), model.HistoryFilter{Limit: 5})))
			}
		})
	}
	wg.Wait()
	list, err := j.Entries(t.Context(), model.HistoryFilter{Limit: 1000})
	if err != nil || len(list) != 80 {
		t.Errorf("%d lines, %v", len(list), err)
	}
}

// raw is the file as any program may open it.
func raw(t *testing.T, j *Journal) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", j.Path())
	noerr.Must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestAFetchThatCannotBeReadIsAnError(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	for _, column := range []string{"request", "result"} {
		noerr.Must(t, j.PutFetch(t.Context(), "p", sampleFetch(column)))
		noerr.Must(t, noerr.From(j.Fetch(t.Context(), column)))
		noerr.Must(t, noerr.From(raw(t, j).ExecContext(t.Context(), "UPDATE fetches SET "+column+" = '{' WHERE id = ?", column)))
		if r, err := j.Fetch(t.Context(), column); err == nil || errors.Is(err, database.ErrNotFound) {
			t.Errorf("a broken %s is read as %+v, %v", column, r, err)
		}
	}
}

func TestHistoryThatCannotBeReadIsAnError(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	for _, table := range []string{"fetches", "activity", "key_events"} {
		noerr.Must(t, noerr.From(raw(t, j).ExecContext(t.Context(), "ALTER TABLE "+table+" RENAME TO gone_"+table)))
	}
	if r, err := j.Fetch(t.Context(), "x"); err == nil || errors.Is(err, database.ErrNotFound) || !strings.HasPrefix(err.Error(), "reading fetch x: ") {
		t.Errorf("a fetch: %+v, %v", r, err)
	}
	if list, err := j.Entries(t.Context(), model.HistoryFilter{}); list != nil || err == nil {
		t.Errorf("the timeline: %+v, %v", list, err)
	}
	if list, err := j.KeyEvents(t.Context(), "k", 5); list != nil || err == nil {
		t.Errorf("a key's events: %+v, %v", list, err)
	}
}

func TestRequestAndBodyAreKeptOnce(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	r := sampleFetch("f1")
	r.Body.Bytes = []byte(strings.Repeat("body ", 1000))
	noerr.Must(t, j.PutFetch(t.Context(), "p", r))
	noerr.Must(t, j.flush(t.Context()))
	var result string
	noerr.Must(t, j.db.QueryRowContext(t.Context(), "SELECT result FROM fetches").Scan(&result))
	if len(result) > 4000 || strings.Contains(result, "lab.test/shop") {
		t.Errorf("the result holds request or body again: %d bytes", len(result))
	}
}

func TestARejectedKeyIsToldOnceAnHour(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	for i, at := range []time.Duration{0, 59 * time.Minute, time.Hour, time.Hour + time.Minute} {
		r := model.FetchResult{ID: fmt.Sprint("f", i), KeyName: "k1", Started: testTime.Add(at), Diagnosis: model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseKeyRejected}}
		noerr.Must(t, j.PutFetch(t.Context(), "p", r))
	}
	if events, err := j.KeyEvents(t.Context(), "k1", 10); err != nil || len(events) != 2 || events[0].Event != "rejected" || !events[0].At.Equal(testTime.Add(time.Hour)) {
		t.Fatalf("%v, %v", events, err)
	}
	// After another event, and for another profile, it is news.
	later := testTime.Add(2 * time.Hour)
	for _, err := range []error{
		j.PutKeyEvent(t.Context(), KeyEvent{Key: "k2", Profile: "p", Event: "refreshed"}),
		j.PutKeyRejected(t.Context(), later, "p", "k2"), j.PutKeyRejected(t.Context(), later, "p", "k2"), j.PutKeyRejected(t.Context(), later, "q", "k2"),
	} {
		noerr.Must(t, err)
	}
	if events, err := j.KeyEvents(t.Context(), "k2", 10); err != nil || len(events) != 3 {
		t.Errorf("%v, %v", events, err)
	}
}

// TestARotationsCallsAreNoFaultOfTheKey has an old value refused, which is what a rotation wants to see, and a
// new one that was mistyped.
func TestARotationsCallsAreNoFaultOfTheKey(t *testing.T) {
	for name, want := range map[string]model.HistoryEntry{
		model.OldValueOf("k1"): {Text: "Proof for a step. The old value is refused, as the proof of its rotation expects", Cause: model.CauseWanted},
		model.NewValueOf("k1"): {Text: "Proof for a step. The service rejects the new value", Class: model.ClassOutside, Cause: model.CauseKeyRejected},
	} {
		j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
		r := model.FetchResult{
			ID: "f", KeyName: name, Proves: "a step", ServiceStatus: 401, Started: testTime, Attempts: []model.Attempt{{N: 1, Class: model.ClassOutside, Cause: model.CauseKeyRejected}},
			Diagnosis: model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseKeyRejected, Summary: "The service rejected the API key (401).", Steps: []model.Step{{Action: model.ActionCheckKey}}},
		}
		noerr.Must(t, j.PutFetch(t.Context(), "p", r))
		lines, err := j.Entries(t.Context(), model.HistoryFilter{Limit: 10})
		if err != nil || len(lines) != 1 || lines[0].Kind != model.HistoryFetch || lines[0].Class != want.Class || lines[0].Cause != want.Cause || lines[0].Status != 401 || !strings.Contains(lines[0].Text, want.Text) {
			t.Errorf("%s: %v, %+v", name, err, lines)
		}
		kept, err := j.Fetch(t.Context(), "f")
		if d := kept.Diagnosis; err != nil || d.Class != want.Class || d.Cause != want.Cause || kept.Attempts[0].Cause != want.Cause || (len(d.Steps) > 0) != (want.Class != "") {
			t.Errorf("%s: %v, opened again it is %+v", name, err, kept)
		}
	}
}

func TestAVariableIsKeptAndTheCommandBehindItIsNot(t *testing.T) {
	j, _, err := Open(t.Context(), filepath.Join(t.TempDir(), "j.db"), time.Now)
	noerr.Must(t, err)
	defer j.Close()
	r := model.FetchResult{ID: "f_1", Started: time.Now(), Request: model.FetchRequest{
		URL:     "http://lab.test/{{a}}",
		Header:  http.Header{"Authorization": {"Bearer {{b}}"}, "Cookie": {"sid=hunter2; b={{b}}"}},
		Secrets: map[string]string{"a": "cmd:vault --token=hunter2 read a", "b": "env:B"},
	}}
	noerr.Must(t, j.PutFetch(t.Context(), "p", r))
	got, err := j.Fetch(t.Context(), "f_1")
	if err != nil || got.Request.Header.Get("Authorization") != "Bearer {{b}}" || got.Request.Header.Get("Cookie") != model.Masked ||
		!maps.Equal(got.Request.Secrets, map[string]string{"a": "", "b": "env:B"}) || got.Request.URL != r.Request.URL {
		t.Errorf("%+v, %v", got.Request, err)
	}
	if r.Request.Secrets["a"] == "" {
		t.Error("the request that was given has changed")
	}
}
