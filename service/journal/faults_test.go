package journal

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
)

func TestHistoryWithoutATimeIsOfNow(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	r := sampleFetch("f_1")
	r.Started = time.Time{}
	noerr.Must(t, j.PutFetch(t.Context(), "p", r))
	noerr.Must(t, j.PutKeyEvent(t.Context(), KeyEvent{Key: "k", Event: "created"}))
	lines, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(lines) != 2 || !lines[1].At.Equal(testTime.Add(time.Second)) || !lines[0].At.Equal(testTime.Add(2*time.Second)) {
		t.Errorf("%+v, %v", lines, err)
	}
	if events, err := j.KeyEvents(t.Context(), "k", 1); err != nil || len(events) != 1 || !events[0].At.Equal(lines[0].At) {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestHistoryThatCannotBeWrittenStaysQueued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	set := defaults()
	set.interval = time.Hour
	j, _, err := open(t.Context(), path, clock(), set)
	noerr.Must(t, err)
	end := sabotage(t, j, "INSERT ON fetches")
	noerr.Must(t, j.PutFetch(t.Context(), "p", sampleFetch("f_1")))
	if _, err := j.Entries(t.Context(), model.HistoryFilter{}); err == nil {
		t.Error("the fetch could not be written, and the timeline says nothing")
	}
	if _, err := j.KeyEvents(t.Context(), "k", 1); err == nil {
		t.Error("the fetch could not be written, and the events say nothing")
	}
	end()
	if lines, err := j.Entries(t.Context(), model.HistoryFilter{}); err != nil || len(lines) != 1 {
		t.Errorf("%+v, %v", lines, err)
	}
	end = sabotage(t, j, "INSERT ON key_events")
	for range 2 {
		noerr.Must(t, j.PutKeyEvent(t.Context(), KeyEvent{Key: "k", Event: "created"}))
	}
	err = j.Close()
	if err == nil || !strings.Contains(err.Error(), "2 entries of history were not written") || !strings.Contains(err.Error(), "no room") {
		t.Errorf("close: %v", err)
	}
	_ = end // the file is closed
	if err := j.PutEntry(t.Context(), line(1)); !errors.Is(err, errClosed) {
		t.Errorf("after close: %v", err)
	}
}

// What is done for an agent waits for its line.
func TestACallThatCannotBeWrittenIsAnError(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	end := sabotage(t, j, "INSERT ON activity")
	call := model.HistoryEntry{Kind: model.HistoryAgent, Ref: "a_1", Text: "fetch: under way"}
	if err := j.PutCall(t.Context(), call); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("the line could not be written: %v", err)
	}
	end()
	call.Text = "fetch: not sent"
	noerr.Want(t, j.PutCall(t.Context(), call))
	if lines, err := j.Entries(t.Context(), model.HistoryFilter{}); err != nil || len(lines) != 1 || lines[0].Text != "fetch: not sent" {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestWhatWasLostAndWhatIsQueuedAreCountedTogether(t *testing.T) {
	j, unlock := slow(t, func(s *settings) { s.maxRows = 2 })
	for range 6 {
		_ = j.PutEntry(t.Context(), line(1)) // five are lost, see TestAFullQueueWaitsForTheDiskAndSaysWhatWasLost
	}
	if err := j.Close(); err == nil || !strings.Contains(err.Error(), "6 entries of history were not written") || !errors.Is(err, database.ErrLocked) {
		t.Errorf("close: %v", err)
	}
	unlock()
	one, unlock := slow(t, func(*settings) {})
	noerr.Must(t, one.PutEntry(t.Context(), line(1)))
	if err := one.Close(); err == nil || !strings.Contains(err.Error(), "1 entry of history was not written") {
		t.Errorf("close: %v", err)
	}
	unlock()
}

func TestAJournalIsPrunedOnlyNowAndThen(t *testing.T) {
	set := defaults()
	set.keep = Keep{Entries: 1, Fetches: 1, BodyBytes: 1}
	j, _, err := open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), clock(), set)
	noerr.Must(t, err)
	defer j.Close()
	put := func(n int) {
		t.Helper()
		for range n {
			noerr.Must(t, j.PutEntry(t.Context(), line(1)))
		}
		noerr.Must(t, j.flush(t.Context()))
	}
	lines := func() int {
		t.Helper()
		list, err := j.Entries(t.Context(), model.HistoryFilter{Limit: maxPage})
		noerr.Must(t, err)
		return len(list)
	}
	put(3)
	put(508)
	if n := lines(); n != 511 {
		t.Errorf("%d lines of 511", n)
	}
	put(1)
	if n := lines(); n != 1 {
		t.Errorf("%d lines after the 512th, one of which is to be kept", n)
	}
}

func TestAPruneThatFailsForgetsNothing(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	for range 2 {
		noerr.Must(t, j.PutEntry(t.Context(), line(1)))
	}
	noerr.Must(t, j.flush(t.Context()))
	end := sabotage(t, j, "DELETE ON activity")
	if err := j.Prune(t.Context(), Keep{Entries: 1}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("%v", err)
	}
	end()
	if lines, err := j.Entries(t.Context(), model.HistoryFilter{}); err != nil || len(lines) != 2 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// sabotage makes every statement of a kind fail, until the returned func is called.
func sabotage(t *testing.T, j *Journal, statement string) (end func()) {
	t.Helper()
	db := raw(t, j)
	exec := func(query string) {
		t.Helper()
		noerr.Must(t, noerr.From(db.ExecContext(t.Context(), query)))
	}
	exec("CREATE TRIGGER sabotage BEFORE " + statement + " BEGIN SELECT RAISE(ABORT, 'no room'); END")
	return func() { exec("DROP TRIGGER sabotage") }
}
