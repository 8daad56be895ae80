package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// killed ends a journal as the end of its process does: nothing is written, and the lock goes.
func killed(t *testing.T, j *Journal) {
	t.Helper()
	j.flights.mu.Lock()
	j.flights.sign.Release()
	_ = j.flights.file.Close()
	j.flights.file, j.flights.sign, j.flights.err = nil, nil, errClosed
	j.flights.mu.Unlock()
}

// afterKill gives check the next process's journal after that of path was killed: twice, the second time as if the file
// of its calls had stayed.
func afterKill(t *testing.T, path string, j *Journal, check func(next *Journal)) {
	t.Helper()
	file := j.flights.file.Name()
	flown, err := os.ReadFile(file)
	noerr.Must(t, err)
	killed(t, j)
	for range 2 {
		noerr.Must(t, os.WriteFile(file, flown, 0o600))
		check(openTest(t, path))
	}
}

// depart is a call that is about to be sent.
func depart(t testing.TB, j *Journal, id, url string) (landed func()) {
	t.Helper()
	landed, err := j.Depart(id, model.HistoryEntry{Kind: model.HistoryFetch, Profile: "acme", Zone: "z", URL: url, Via: model.ViaAPI, Key: "etl"})
	noerr.Must(t, err)
	return landed
}

func lines(t *testing.T, j *Journal) (out []string) {
	t.Helper()
	list, err := j.Entries(t.Context(), model.HistoryFilter{Limit: 100})
	noerr.Must(t, err)
	for _, a := range list {
		out = append(out, a.URL+" "+a.Text)
	}
	return out
}

func TestACallOfAKilledProcessIsToldOfOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	over := depart(t, j, "f_1", "http://a.test/over")
	depart(t, j, "f_2", "http://user:pw-of-user@a.test/open")
	noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{Kind: model.HistoryFetch, URL: "http://a.test/over", Text: "ok"}))
	over()
	noerr.Must(t, j.flush(t.Context()))
	other := openTest(t, path) // while the first one lives
	if got := lines(t, other); len(got) != 1 {
		t.Errorf("before it is killed: %q", got)
	}
	killed(t, j)
	for range 2 {
		next := openTest(t, path)
		got := lines(t, next)
		if len(got) != 2 || got[0] != "http://user:xxxxx@a.test/open "+maySent+unseenEnd {
			t.Errorf("%q", got)
		}
	}
}

func TestACallThatLandedLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, _, err := Open(t.Context(), path, clock())
	noerr.Must(t, err)
	for i := range 100 {
		depart(t, j, fmt.Sprintf("f_%d", i), "http://a.test/")()
	}
	file := j.flights.file.Name()
	noerr.Must(t, j.flush(t.Context()))
	if info, err := os.Stat(file); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	noerr.Must(t, j.Close())
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file stays: %v", err)
	}
}

// The line of an agent's call says that it is under way, until the call or the process has ended.
func TestACallThatAKilledProcessHadUnderWaySaysSoInItsOwnLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	j.Attribute(model.SourceAgent)
	call := func(ref, text string) model.HistoryEntry {
		return model.HistoryEntry{Kind: model.HistoryAgent, Ref: ref, URL: "http://a.test/" + ref, Text: text}
	}
	for _, c := range []struct {
		ref, tool string
		sends     bool
	}{{"a_1", "fetch", true}, {"a_2", "fetch", true}, {"a_3", "keys_check", false}} {
		noerr.Must(t, j.BeginCall(t.Context(), call(c.ref, c.tool), c.sends))
	}
	noerr.Must(t, j.PutCall(t.Context(), call("a_2", "fetch: ok")))
	if got, want := lines(t, openTest(t, path)), []string{"http://a.test/a_3 keys_check: under way", "http://a.test/a_2 fetch: ok", "http://a.test/a_1 fetch: under way"}; !slices.Equal(got, want) {
		t.Errorf("before it is killed: %q", got)
	}
	afterKill(t, path, j, func(next *Journal) {
		want := []string{
			"http://a.test/a_3 keys_check: its end was not seen: zonedeck was ended meanwhile", "http://a.test/a_2 fetch: ok",
			"http://a.test/a_1 fetch: may have been sent; its end was not seen: zonedeck was ended meanwhile",
		}
		if got := lines(t, next); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		list, err := next.Entries(t.Context(), model.HistoryFilter{Source: model.SourceAgent, Words: []string{"seen"}})
		if err != nil || len(list) != 2 {
			t.Errorf("by an agent, with a word: %+v, %v", list, err)
		}
	})
}

// A process may be killed between the line of a call and the end of its flight, and while it tells of another's.
func TestACallWhoseLineIsThereIsNotToldOfAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	depart(t, j, "f_1", "http://a.test/kept")
	noerr.Must(t, j.PutFetch(t.Context(), "acme", model.FetchResult{ID: "f_1", Started: time.Now(), Request: model.FetchRequest{URL: "http://a.test/kept"}}))
	at := time.Now()
	for id, url := range map[string]string{"f_2": "http://user:pw@a.test/cancelled", "f_3": "http://a.test/open"} {
		noerr.Must(t, noerr.From(j.Depart(id, model.HistoryEntry{At: at, Kind: model.HistoryFetch, URL: url})))
	}
	noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{At: at, Kind: model.HistoryFetch, URL: "http://user:pw@a.test/cancelled", Text: "ended without a result"}))
	noerr.Must(t, j.flush(t.Context()))
	afterKill(t, path, j, func(next *Journal) {
		got := lines(t, next)
		slices.Sort(got)
		if want := []string{"http://a.test/kept ", "http://a.test/open " + maySent + unseenEnd, "http://user:xxxxx@a.test/cancelled ended without a result"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestALineThatIsCutTakesNoOtherWithIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	depart(t, j, "f_1", "http://a.test/1")
	noerr.Must(t, noerr.From(j.flights.file.WriteString(`{"id":"f_2","ca`)))
	depart(t, j, "f_3", "http://a.test/3")
	killed(t, j)
	got := lines(t, openTest(t, path))
	slices.Sort(got)
	if want := []string{"http://a.test/1 " + maySent + unseenEnd, "http://a.test/3 " + maySent + unseenEnd}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTheFileStaysSmallWhileACallIsUnderWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	depart(t, j, "f_long", "http://a.test/long")
	url := "http://a.test/" + strings.Repeat("x", 10_000)
	for i := range 3 * flightsMost / len(url) {
		depart(t, j, fmt.Sprintf("f_%d", i), url)()
		noerr.Must(t, j.flush(t.Context()))
	}
	files, err := filepath.Glob(path + ".flights/*" + flightsEnd)
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() > flightsMost {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	killed(t, j)
	if got := lines(t, openTest(t, path)); !slices.Equal(got, []string{"http://a.test/long " + maySent + unseenEnd}) {
		t.Errorf("%q", got)
	}
}

func TestOfManyThatOpenTheJournalAtOnceOneTells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	for i := range 20 {
		depart(t, j, fmt.Sprintf("f_%d", i), fmt.Sprintf("http://a.test/%d", i))
	}
	killed(t, j)
	var opening sync.WaitGroup
	for range 4 {
		opening.Go(func() {
			next, notice, err := Open(t.Context(), path, clock())
			if err != nil || notice != "" {
				t.Errorf("%+v, %v", notice, err)
				return
			}
			noerr.Want(t, next.Close())
		})
	}
	opening.Wait()
	got := lines(t, openTest(t, path))
	slices.Sort(got)
	if len(got) != 20 || len(slices.Compact(got)) != 20 {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

func TestWhatCannotBeToldOfAKilledProcessIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	noerr.Must(t, os.WriteFile(path+".flights", nil, 0o600))
	j, notice, err := Open(t.Context(), path, clock())
	if err != nil || !strings.HasPrefix(notice, "What a killed process had under way is not in the history yet: ") {
		t.Errorf("%+v, %v", notice, err)
	}
	if j != nil {
		err = j.Close()
	}
	noerr.Want(t, err)
}

func BenchmarkDepart(b *testing.B) {
	j := openTest(b, filepath.Join(b.TempDir(), "journal.db"))
	for b.Loop() {
		depart(b, j, "f_1", "http://a.test/products/1?page=2")()
	}
}

// The line of a preview has neither an address nor an identifier.
func TestAPreviewOfAKilledProcessIsToldOfOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	over, open := time.Now().Add(-time.Minute), time.Now()
	for id, at := range map[string]time.Time{"preview_1": over, "preview_2": open} {
		noerr.Must(t, noerr.From(j.Depart(id, model.HistoryEntry{At: at, Kind: model.HistoryJob, Text: "the preview of deep_lookup, which may be billed, "})))
	}
	noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{At: over, Kind: model.HistoryJob, Text: "deep_lookup: previewed as p1"}))
	noerr.Must(t, j.flush(t.Context()))
	killed(t, j)
	want := []string{" the preview of deep_lookup, which may be billed, " + maySent + unseenEnd, " deep_lookup: previewed as p1"}
	for range 2 {
		if got := lines(t, openTest(t, path)); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
