package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// lost makes n jobs that may have started.
func lost(t *testing.T, l *Ledger, n int) (ids []string) {
	t.Helper()
	for range n {
		ids = append(ids, changed(t, l, model.Job{Dataset: "gd_x", Inputs: 1, Done: -1, Records: -1, State: model.JobMayHave, Detail: "broke"}, ""))
	}
	return ids
}

func TestAClaimedIdentifierBelongsToOneJobAndOutlivesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	ids := lost(t, l, 2)
	job, err := l.Claim(t.Context(), ids[0], "sd_1")
	if err != nil || job.State != model.JobAccepted || job.Snapshot != "sd_1" || job.Detail != "" || job.Accepted.IsZero() {
		t.Fatalf("%+v, %v", job, err)
	}
	var taken *TakenError
	if _, err := l.Claim(t.Context(), ids[1], "sd_1"); !errors.As(err, &taken) || taken.Job != ids[0] {
		t.Errorf("one identifier for two jobs: %v", err)
	}
	if _, err := l.Claim(t.Context(), ids[0], "sd_2"); !errors.Is(err, ErrSettled) {
		t.Errorf("two identifiers for one job: %v", err)
	}
	noerr.Must(t, l.Close())
	emptied(t, path)
	again, _, err := open(t, path, clock())
	noerr.Must(t, err)
	defer again.Close()
	if job, err := again.Job(t.Context(), ids[0]); err != nil || job.State != model.JobAccepted || job.Snapshot != "sd_1" {
		t.Errorf("%+v, %v", job, err)
	}
	if job, err := again.Job(t.Context(), ids[1]); err != nil || job.State != model.JobMayHave {
		t.Errorf("%+v, %v", job, err)
	}
}

// A process that dies between the log and the ledger has claimed the identifier.
func TestAClaimWhoseTransactionWasLostHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	ids := lost(t, l, 1)
	noerr.Must(t, appendLog(logPath(path), record{At: l.now(), Job: 1, Event: accepted, Snapshot: "sd_1"}))
	noerr.Must(t, l.Close())
	again, _, err := open(t, path, clock())
	noerr.Must(t, err)
	defer again.Close()
	if job, err := again.Job(t.Context(), ids[0]); err != nil || job.State != model.JobAccepted || job.Snapshot != "sd_1" {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAClaimThatTheLogDoesNotTakeIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	ids := lost(t, l, 1)
	noerr.Must(t, os.Remove(logPath(path)))
	noerr.Must(t, os.Mkdir(logPath(path), 0o700))
	if _, err := l.Claim(t.Context(), ids[0], "sd_1"); err == nil {
		t.Error("claimed without a line in the log")
	}
	if job, err := l.Job(t.Context(), ids[0]); err != nil || job.State != model.JobMayHave || job.Snapshot != "" {
		t.Errorf("%+v, %v", job, err)
	}
}

// The column has microseconds; a real clock is more precise.
func TestAnAdoptedJobIsInTheLogWhateverTheClockCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _, err := open(t, path, func() time.Time { return testTime.Add(123456789) })
	noerr.Must(t, err)
	for range 2 {
		noerr.Must(t, noerr.From(l.Adopt(t.Context(), model.Job{Snapshot: "sd_9", Profile: "p", Dataset: "gd_z", Done: -1, Records: -1})))
	}
	noerr.Must(t, l.Close())
	log, err := os.ReadFile(logPath(path))
	if err != nil || strings.Count(string(log), "\n") != 2 || strings.Count(string(log), "sd_9") != 1 {
		t.Errorf("%q, %v; want one line for the job and one for its identifier", log, err)
	}
}
