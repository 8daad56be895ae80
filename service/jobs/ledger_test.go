package jobs

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
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
	job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
	if err != nil || job.State != model.JobAccepted {
		t.Fatalf("%+v, %v", job, err)
	}
	if kept, err := cl.Job(t.Context(), "sd_1"); err != nil || kept.State != model.JobAccepted {
		t.Errorf("the ledger says %+v, %v", kept, err)
	}
	if err := history.Close(); err == nil {
		t.Error("the history was written after all")
	}
	if job, err = cl.Trigger(t.Context(), trigger("http://lab.test/2")); err != nil || job.State != model.JobAccepted {
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
	if err != nil || kept.State != model.JobAccepted || !strings.Contains(notice, "lacked 1 identifier of a job") || asked.Load() != 1 {
		t.Errorf("%+v, %v; told %q; %d POSTs", kept, err, notice, asked.Load())
	}
}

func TestALedgerThatCannotBeWrittenStartsNoJob(t *testing.T) {
	_, dir := servicetest.Ledger(t)
	frozen, _, err := ledger.Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
	noerr.Must(t, err)
	defer frozen.Close()
	if err := os.Mkdir(filepath.Join(dir, "ledger.db.log"), 0o700); err != nil { // a folder takes no line
		t.Fatal(err)
	}
	var posts atomic.Int32
	p := servicetest.API(t, func(http.ResponseWriter, *http.Request) { posts.Add(1) })
	cl := newRunner(t, p, func(c *Config) { c.Ledger = frozen })
	if job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); err == nil || job.ID != "" || posts.Load() != 0 {
		t.Errorf("%+v, %v, %d POSTs", job, err, posts.Load())
	}
}

func TestAJobIsAdoptedWhenTheServiceAnswersForIt(t *testing.T) {
	cl, asked := script(t, text(200, `{"status":"running","inputs":3,"inputs_done":1}`))
	job, err := cl.Adopt(t.Context(), "sd_elsewhere", "gd_x")
	if err != nil || job.ID != "job-1" || job.Snapshot != "sd_elsewhere" || job.State != model.JobRunning || job.Inputs != 3 || job.Done != 1 ||
		job.Dataset != "gd_x" || job.Profile != "test" || job.KeyName != "batch-user" {
		t.Fatalf("%+v, %v", job, err)
	}
	if again, err := cl.Adopt(t.Context(), "sd_elsewhere", ""); err != nil || again.ID != "job-1" || asked.Load() != 1 {
		t.Errorf("again: %+v, %v, %d calls", again, err, asked.Load())
	}
}

func TestAJobTheServiceDoesNotKnowIsNotAdopted(t *testing.T) {
	for name, c := range map[string]struct {
		snapshot string
		answer   http.HandlerFunc
		calls    int32
	}{
		"unknown to the service":         {"sd_9", text(404, "Snapshot does not exist"), 1},
		"the key is refused":             {"sd_9", text(401, "no"), 1},
		"not an identifier":              {"../../etc/passwd", text(200, `{"status":"ready"}`), 0},
		"an identifier of another shape": {"a b", text(200, `{"status":"ready"}`), 0},
	} {
		cl, asked := script(t, c.answer)
		if job, err := cl.Adopt(t.Context(), c.snapshot, ""); err == nil || job.ID != "" {
			t.Errorf("%s: %+v, %v", name, job, err)
		}
		if list, _, err := cl.Jobs(t.Context(), 0); err != nil || len(list) != 0 || asked.Load() != c.calls {
			t.Errorf("%s: %+v, %v, %d calls", name, list, err, asked.Load())
		}
	}
	cl, asked := script(t, text(200, `{"status":"ready"}`))
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, ProfileBy: withDialect(cl.cfg.Source.Profile, dialect.Default().Name())}
	if _, err := cl.Adopt(t.Context(), "sd_1", ""); !errors.Is(err, dialect.ErrNotShown) || asked.Load() != 0 {
		t.Errorf("the contract shows no way to ask: %v", err)
	}
	cl.cfg.Ledger = nil
	if _, err := cl.Adopt(t.Context(), "sd_1", ""); !errors.Is(err, ErrNoLedger) {
		t.Errorf("without a ledger: %v", err)
	}
}

// withDialect is the profile under another dialect.
func withDialect(of func(context.Context) (config.Profile, error), name string) func(context.Context) (config.Profile, error) {
	return func(ctx context.Context) (config.Profile, error) {
		p, err := of(ctx)
		p.Dialect = name
		return p, err
	}
}
