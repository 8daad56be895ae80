package jobs

import (
	"database/sql"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
)

// A history that cannot be written, or is damaged, costs no job.
func TestAVerdictDoesNotDependOnTheHistory(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	history, dir := servicetest.Journal(t)
	cl.cfg.Journal = history
	raw := noerr.Try(sql.Open("sqlite", filepath.Join(dir, "journal.db"))).Must(t)
	defer raw.Close()
	noerr.Must(t, noerr.From(raw.ExecContext(t.Context(), "DROP TABLE activity")))
	launched(t, cl, trigger("http://lab.test/1"), model.JobAccepted)
	if kept, err := cl.Job(t.Context(), "sd_1"); err != nil || kept.State != model.JobAccepted {
		t.Errorf("the ledger says %+v, %v", kept, err)
	}
	if err := history.Close(); err == nil {
		t.Error("the history was written after all")
	}
	if job, err := cl.Trigger(t.Context(), trigger("http://lab.test/2")); err != nil || job.State != model.JobAccepted {
		t.Errorf("with a closed history: %+v, %v", job, err)
	}
}

// The ledger's disk is full when the identifier comes: it stands in the log, and
// the next console knows the job.
func TestAnIdentifierOutlivesALedgerThatCannotBeWritten(t *testing.T) {
	l, dir := servicetest.Ledger(t)
	path := filepath.Join(dir, "ledger.db")
	raw := noerr.Try(sql.Open("sqlite", path)).Must(t)
	defer raw.Close()
	raw.SetMaxOpenConns(1)
	var asked atomic.Int32
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		const full = "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT RAISE(ABORT, 'no room'); END"
		noerr.Want(t, noerr.From(raw.ExecContext(r.Context(), full)))
		text(200, `{"snapshot_id":"sd_1"}`)(w, r)
	})
	job, err := newRunner(t, p, func(c *Config) { c.Ledger = l }).Trigger(t.Context(), trigger("http://lab.test/1"))
	if err == nil || job.State != model.JobAccepted || job.Snapshot != "sd_1" || !strings.Contains(err.Error(), "sd_1") {
		t.Fatalf("%+v, %v", job, err)
	}
	noerr.Must(t, noerr.From(raw.ExecContext(t.Context(), "DROP TRIGGER full")))
	noerr.Must(t, l.Close())
	again, notice, err := ledger.Open(t.Context(), path, time.Now)
	noerr.Must(t, err)
	defer again.Close()
	kept, err := again.Job(t.Context(), "sd_1")
	if err != nil || kept.State != model.JobAccepted || !strings.Contains(notice, ": 1 job identifier.") || asked.Load() != 1 {
		t.Errorf("%+v, %v; told %q; %d POSTs", kept, err, notice, asked.Load())
	}
}

func TestALedgerThatCannotBeWrittenStartsNoJob(t *testing.T) {
	l, dir := servicetest.Ledger(t)
	if err := os.Mkdir(filepath.Join(dir, "ledger.db.log"), 0o700); err != nil { // a folder takes no line
		t.Fatal(err)
	}
	var posts atomic.Int32
	p := servicetest.API(t, func(http.ResponseWriter, *http.Request) { posts.Add(1) })
	cl := newRunner(t, p, func(c *Config) { c.Ledger = l })
	if job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); err == nil || job.ID != "" || posts.Load() != 0 {
		t.Errorf("%+v, %v, %d POSTs", job, err, posts.Load())
	}
	if runtime.GOOS == "windows" {
		return // a link needs a right there
	}
	noerr.Must(t, errors.Join(l.Close(), os.Remove(filepath.Join(dir, "ledger.db.log")),
		os.Symlink(filepath.Join(dir, "no", "such", "folder"), filepath.Join(dir, "ledger.db-wal")))) // so that no WAL can be made
	cl.cfg.Ledger = ledgerIn(t, dir)
	if job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); !errors.Is(err, ErrNoLedger) || job.ID != "" || posts.Load() != 0 {
		t.Errorf("opened for reading only: %+v, %v, %d POSTs", job, err, posts.Load())
	}
}

func TestAJobIsAdoptedWhenTheServiceAnswersForIt(t *testing.T) {
	cl, asked := script(t, text(200, `{"status":"running","inputs":3,"inputs_done":1}`))
	history, _ := servicetest.Journal(t)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cl.cfg.Journal, cl.cfg.Clock = history, servicetest.ClockFunc(func() time.Time { return now })
	job, err := cl.Adopt(t.Context(), "sd_elsewhere", "gd_x")
	if err != nil || job.ID != "job-1" || job.Snapshot != "sd_elsewhere" || job.State != model.JobRunning || job.Inputs != 3 || job.Done != 1 || job.Records != -1 ||
		job.Dataset != "gd_x" || job.Profile != "test" || job.KeyName != "batch-user" || !job.Accepted.Equal(now) {
		t.Fatalf("%+v, %v", job, err)
	}
	if again, err := cl.Adopt(t.Context(), "sd_elsewhere", ""); err != nil || again.ID != "job-1" || asked.Load() != 1 {
		t.Errorf("again: %+v, %v, %d calls", again, err, asked.Load())
	}
	if found, adopted, err := cl.Find(t.Context(), "job-1", ""); err != nil || adopted || found.Snapshot != "sd_elsewhere" {
		t.Errorf("found: %+v, adopted %t, %v", found, adopted, err)
	}
	if lines, err := history.Entries(t.Context(), model.HistoryFilter{}); err != nil || len(lines) != 1 || lines[0].Text != "job-1: sd_elsewhere was adopted" || lines[0].Ref != "job-1" {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestAJobTheServiceDoesNotKnowIsNotAdopted(t *testing.T) {
	for name, c := range map[string]struct {
		snapshot string
		answer   http.HandlerFunc
		calls    int32
		unknown  bool
	}{
		"unknown to the service":         {"sd_9", text(404, "Snapshot does not exist"), 1, true},
		"the key is refused":             {"sd_9", text(401, "no"), 1, false},
		"not an identifier":              {"../../etc/passwd", text(200, `{"status":"ready"}`), 0, false},
		"an identifier of another shape": {"a b", text(200, `{"status":"ready"}`), 0, false},
	} {
		cl, asked := script(t, c.answer)
		if job, err := cl.Adopt(t.Context(), c.snapshot, ""); err == nil || job.ID != "" || errors.Is(err, ErrUnknownJob) != c.unknown ||
			c.unknown && !strings.Contains(err.Error(), "and the service does not know it") {
			t.Errorf("%s: %+v, %v", name, job, err)
		}
		if list, _, err := cl.Jobs(t.Context(), 0); err != nil || len(list) != 0 || asked.Load() != c.calls {
			t.Errorf("%s: %+v, %v, %d calls", name, list, err, asked.Load())
		}
	}
	cl, asked := script(t, text(200, `{"status":"ready"}`))
	failing(t, cl, "INSERT ON jobs")
	if job, err := cl.Adopt(t.Context(), "sd_9", ""); err == nil || !strings.Contains(err.Error(), "adopting sd_9: ") || job.ID != "" {
		t.Errorf("no room: %+v, %v", job, err)
	}
	before := asked.Load()
	inProfile(t, cl, func(p *model.Profile) { p.Dialect = dialect.Default().Name() })
	if _, err := cl.Adopt(t.Context(), "sd_1", ""); !errors.Is(err, dialect.ErrNotShown) || asked.Load() != before {
		t.Errorf("the contract shows no way to ask: %v", err)
	}
	cl.cfg.Ledger = nil
	if _, err := cl.Adopt(t.Context(), "sd_1", ""); !errors.Is(err, ErrNoLedger) {
		t.Errorf("without a ledger: %v", err)
	}
}

func TestTwoStatesOfAJobDiffer(t *testing.T) {
	base := model.Job{ID: "job-1", State: model.JobRunning, Wire: "running", Detail: "x", Done: 1, Records: 2}
	for name, change := range map[string]func(*model.Job){
		"state":   func(job *model.Job) { job.State = model.JobReady },
		"wire":    func(job *model.Job) { job.Wire = "building" },
		"detail":  func(job *model.Job) { job.Detail = "" },
		"done":    func(job *model.Job) { job.Done = 2 },
		"records": func(job *model.Job) { job.Records = 3 },
	} {
		other := base
		change(&other)
		if !differs(base, other) || !differs(other, base) {
			t.Errorf("%s makes no difference", name)
		}
	}
	other := base
	other.Updated, other.Bytes = time.Now(), 7
	if differs(base, other) {
		t.Error("what the service did not say makes a difference")
	}
}

func TestTheTimelineSaysWhatBecameOfATrigger(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		verdict     verdict
		inputs      int
		step, entry string
		accepted    time.Time
	}{
		{verdict{state: model.JobAccepted, names: model.JobNames{Snapshot: "sd_1"}, status: 200, at: at}, 1, "snapshot sd_1", "job-7 gd_x, 1 input: accepted: snapshot sd_1", at},
		{verdict{state: model.JobRefused, detail: "HTTP 400: no", status: 400, at: at}, 2, "HTTP 400: no", "job-7 gd_x, 2 inputs: refused: HTTP 400: no", time.Time{}},
		{verdict{state: model.JobNotSent}, 0, "", "job-7 gd_x, 0 inputs: not sent", time.Time{}},
	} {
		job := model.Job{ID: "job-7", Dataset: "gd_x", Inputs: c.inputs, Detail: "before"}
		n, err := c.verdict.apply(&job)
		if err != nil || n.step != c.step || !strings.EqualFold(n.entry, c.entry) {
			t.Errorf("%+v, %v; want %q", n, err, c.entry)
		}
		if job.State != c.verdict.state || job.Names() != c.verdict.names || job.Status != c.verdict.status || job.Detail != c.verdict.detail || !job.Accepted.Equal(c.accepted) {
			t.Errorf("%+v", job)
		}
	}
}

// failing makes the ledger refuse a kind of statement.
func failing(t *testing.T, cl *Runner, statement string) {
	t.Helper()
	raw := noerr.Try(sql.Open("sqlite", cl.cfg.Ledger.Path())).Must(t)
	defer raw.Close()
	noerr.Must(t, noerr.From(raw.ExecContext(t.Context(), "CREATE TRIGGER full BEFORE "+statement+" BEGIN SELECT RAISE(ABORT, 'no room'); END")))
}

func TestAJobThatCannotGoIntoSendingIsNotSent(t *testing.T) {
	cl, asked := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	failing(t, cl, "UPDATE ON jobs WHEN NEW.state = 'sending'")
	job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
	if err == nil || !strings.Contains(err.Error(), "no room") || job.ID != "job-1" || job.State != model.JobIntent || asked.Load() != 0 {
		t.Errorf("%+v, %v, %d POSTs", job, err, asked.Load())
	}
}

func TestAWatchEndsWhenTheLedgerCannotTakeWhatItSaw(t *testing.T) {
	cl, asked := script(t, text(200, `{"status":"running"}`))
	accepted(t, cl)
	failing(t, cl, "UPDATE ON jobs")
	seen := 0
	job, err := cl.Watch(t.Context(), "job-1", func(model.Job) { seen++ })
	if err == nil || !strings.Contains(err.Error(), "no room") || job.ID != "job-1" || job.State != model.JobAccepted || asked.Load() != 1 || seen != 1 {
		t.Errorf("%+v, %v after %d polls, seen %d times", job, err, asked.Load(), seen)
	}
}
