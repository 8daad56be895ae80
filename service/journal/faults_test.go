package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

func TestHistoryWithoutATimeIsOfNow(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	r := sampleFetch("f_1")
	r.Started = time.Time{}
	if err := j.PutFetch(t.Context(), "p", r); err != nil {
		t.Fatal(err)
	}
	if err := j.PutKeyEvent(t.Context(), KeyEvent{Key: "k", Event: "created"}); err != nil {
		t.Fatal(err)
	}
	lines, err := j.Activity(t.Context(), model.ActivityFilter{})
	if err != nil || len(lines) != 2 || !lines[1].At.Equal(testTime.Add(time.Second)) || !lines[0].At.Equal(testTime.Add(2*time.Second)) {
		t.Errorf("%+v, %v", lines, err)
	}
	if events, err := j.KeyEvents(t.Context(), "k", 1); err != nil || len(events) != 1 || !events[0].At.Equal(lines[0].At) {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestHistoryThatCannotBeWrittenStaysQueued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	set := quick()
	set.interval = time.Hour
	j, _, err := open(t.Context(), path, clock(), set)
	if err != nil {
		t.Fatal(err)
	}
	end := sabotage(t, j, "INSERT ON fetches")
	if err := j.PutFetch(t.Context(), "p", sampleFetch("f_1")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Activity(t.Context(), model.ActivityFilter{}); err == nil {
		t.Error("the fetch could not be written, and the timeline says nothing")
	}
	if _, err := j.KeyEvents(t.Context(), "k", 1); err == nil {
		t.Error("the fetch could not be written, and the events say nothing")
	}
	end()
	if lines, err := j.Activity(t.Context(), model.ActivityFilter{}); err != nil || len(lines) != 1 {
		t.Errorf("%+v, %v", lines, err)
	}
	end = sabotage(t, j, "INSERT ON key_events")
	for range 2 {
		if err := j.PutKeyEvent(t.Context(), KeyEvent{Key: "k", Event: "created"}); err != nil {
			t.Fatal(err)
		}
	}
	err = j.Close()
	if err == nil || !strings.Contains(err.Error(), "2 entries of history were not written") || !strings.Contains(err.Error(), "no room") {
		t.Errorf("close: %v", err)
	}
	_ = end // the file is closed
	if err := j.PutActivity(t.Context(), line(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

func TestWhatWasLostAndWhatIsQueuedAreCountedTogether(t *testing.T) {
	j, unlock := slow(t, func(s *settings) { s.maxRows = 2 })
	for range 6 {
		_ = j.PutActivity(t.Context(), line(1)) // five are lost, see TestAFullQueueWaitsForTheDiskAndSaysWhatWasLost
	}
	if err := j.Close(); err == nil || !strings.Contains(err.Error(), "6 entries of history were not written") || !errors.Is(err, ErrLocked) {
		t.Errorf("close: %v", err)
	}
	unlock()
	one, unlock := slow(t, func(*settings) {})
	if err := one.PutActivity(t.Context(), line(1)); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err == nil || !strings.Contains(err.Error(), "1 entries of history were not written") {
		t.Errorf("close: %v", err)
	}
	unlock()
}

func TestAJournalIsPrunedOnlyNowAndThen(t *testing.T) {
	set := quick()
	set.keep = Keep{Entries: 1, Fetches: 1, BodyBytes: 1}
	j, _, err := open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), clock(), set)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	put := func(n int) {
		t.Helper()
		for range n {
			if err := j.PutActivity(t.Context(), line(1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	lines := func() int {
		t.Helper()
		list, err := j.Activity(t.Context(), model.ActivityFilter{Limit: maxPage})
		if err != nil {
			t.Fatal(err)
		}
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
		if err := j.PutActivity(t.Context(), line(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	end := sabotage(t, j, "DELETE ON activity")
	if err := j.Prune(t.Context(), Keep{Entries: 1}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("%v", err)
	}
	end()
	if lines, err := j.Activity(t.Context(), model.ActivityFilter{}); err != nil || len(lines) != 2 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

func TestACallerWhoLeftBeforeTheirTurnWritesNothing(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if job, err := j.BeginJob(ended, model.Job{}, ""); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "writing down the intent: ") || job.ID != "" {
		t.Errorf("%+v, %v", job, err)
	}
	if jobs, err := j.Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

func TestALedgerWithoutAPlaceForItsOwnerBeginsNoJob(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	write(t, j.ownersDir(), nil)
	if job, err := j.BeginJob(t.Context(), model.Job{}, ""); err == nil || !strings.HasPrefix(err.Error(), "writing down the intent: ") || job.ID != "" {
		t.Errorf("%+v, %v", job, err)
	}
	if jobs, err := j.Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

func TestAnOwnersNameLeadsNowhereElse(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	if _, err := j.BeginJob(t.Context(), model.Job{}, ""); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]bool{"": false, "../journal.db": false, "../x": false, "nobody": false, j.token: true} {
		if got := j.ownerAlive(token); got != want {
			t.Errorf("%q alive: %v", token, got)
		}
	}
	j.forgetOwner("../journal.db")
	j.forgetOwner("")
	for _, path := range []string{j.path, j.ownersDir()} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it is gone: %v", err)
		}
	}
}

func TestASettlementThatFailsIsAnError(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	var ids []string
	for range 2 {
		job, err := j.BeginJob(t.Context(), model.Job{}, "")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	j.releaseOwner()
	end := sabotage(t, j, "UPDATE ON jobs WHEN NEW.n = 2")
	if settled, err := j.Recover(t.Context()); err == nil || len(settled) != 1 || settled[0].ID != ids[0] {
		t.Errorf("settled %+v, %v", settled, err)
	}
	end()
	if settled, err := j.Recover(t.Context()); err != nil || len(settled) != 1 || settled[0].ID != ids[1] || settled[0].State != model.JobNotSent {
		t.Errorf("settled %+v, %v", settled, err)
	}
	if _, err := j.w.ExecContext(t.Context(), "ALTER TABLE jobs RENAME TO gone"); err != nil {
		t.Fatal(err)
	}
	if settled, err := j.Recover(t.Context()); err == nil || settled != nil {
		t.Errorf("a ledger that cannot be read: %+v, %v", settled, err)
	}
}

func TestAFileOfSomebodyElseIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	db, err := connect(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE jobs (x)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	j, _, err := open(t.Context(), path, clock(), quick())
	if j != nil || err == nil || !strings.Contains(err.Error(), "schema 1: ") {
		t.Errorf("%v", err)
	}
}

func TestASuspicionThatCannotBeLiftedIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	fill(t, path)
	if err := os.MkdirAll(filepath.Join(suspectPath(path), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if j, notice, err := open(t.Context(), path, clock(), quick()); j != nil || err == nil || notice != (Notice{}) {
		t.Errorf("%+v, %v", notice, err)
	}
}

func TestErrorsOfTheDatabaseHaveTheirNames(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	if _, err := j.r.ExecContext(t.Context(), "DELETE FROM jobs"); !errors.Is(classify(err), ErrReadOnly) {
		t.Errorf("a reader that writes: %v", classify(err))
	}
	if _, err := j.w.ExecContext(t.Context(), "PRAGMA max_page_count=1"); err != nil {
		t.Fatal(err)
	}
	job, err := j.BeginJob(t.Context(), model.Job{Detail: strings.Repeat("x", 1<<20)}, "")
	if !errors.Is(err, ErrFull) || job.ID != "" {
		t.Errorf("no room: %v", err)
	}
}

func TestTheNoticeCountsTheJobsThatCameAlong(t *testing.T) {
	for jobs, want := range map[int]string{0: "no job could be read from it.", 1: "1 job was carried over from it.", 2: "2 jobs were carried over from it."} {
		if got := asideText("j", "kept", ErrCorrupt, jobs); !strings.HasSuffix(got, "; "+want) || !strings.Contains(got, "kept as kept") {
			t.Errorf("%d: %s", jobs, got)
		}
	}
}
