package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashEnv) != "" {
		os.Exit(crashChild())
	}
	goleak.VerifyTestMain(m)
}

var testTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// clock is a clock that moves one second per reading.
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

// open is Open, or its equivalent on the tests' server.
func open(t testing.TB, path string, now func() time.Time) (l *Ledger, notice string, err error) {
	t.Helper()
	if !postgrestest.Available() {
		return Open(t.Context(), path, now)
	}
	return OpenServer(t.Context(), postgrestest.Server(t, path), path, "", now)
}

func openTest(t testing.TB, path string) *Ledger {
	t.Helper()
	l, notice, err := open(t, path, clock())
	noerr.Must(t, err)
	if notice != "" {
		t.Fatalf("unexpected notice: %s", notice)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// raw opens the file, or the tables on the server, like any other program.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	if postgrestest.Available() {
		return postgrestest.Raw(t, path)
	}
	db := noerr.Try(sql.Open("sqlite", path)).Must(t)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func acceptAs(snapshot string) func(*model.Job) (string, error) {
	return func(job *model.Job) (string, error) {
		job.State = model.JobAccepted
		job.Snapshot = snapshot
		return "snapshot " + snapshot, nil
	}
}

// stands gives a job a state.
func stands(t *testing.T, l *Ledger, id string, state model.JobState) model.Job {
	t.Helper()
	return noerr.Try(l.Change(t.Context(), id, func(job *model.Job) (string, error) {
		job.State = state
		return "", nil
	})).Must(t)
}

func TestAJobAndItsStepsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	begun := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "local", Dataset: "gd_products", KeyName: "etl", Inputs: 200, Done: -1, Records: -1}, "d1", nil, nil)).Must(t)
	if begun.ID != "job-1" || begun.State != model.JobIntent || len(begun.Steps) != 1 {
		t.Fatalf("begun: %+v", begun)
	}
	changed, err := l.Change(t.Context(), begun.ID, func(job *model.Job) (string, error) {
		job.State = model.JobAccepted
		job.Snapshot = "sd_1"
		job.Accepted = testTime
		return "snapshot sd_1", nil
	})
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(l.Change(t.Context(), begun.ID, func(job *model.Job) (string, error) {
		job.Done = 7
		return "", nil
	})))
	other := openTest(t, path) // a second process
	for _, id := range []string{"job-1", "sd_1"} {
		got, err := other.Job(t.Context(), id)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if got.Done != 7 || got.Records != -1 || got.State != model.JobAccepted || !got.Accepted.Equal(testTime) ||
			!reflect.DeepEqual(got.Steps, changed.Steps) || len(got.Steps) != 2 {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if got, err := other.OfSnapshot(t.Context(), "sd_1"); err != nil || got.ID != "job-1" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"job-1", ""} { // the console's identifiers are not the service's
		if got, err := other.OfSnapshot(t.Context(), id); !errors.Is(err, database.ErrNotFound) {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
	list, total, err := other.Jobs(t.Context(), 10)
	if err != nil || total != 1 || len(list) != 1 || len(list[0].Steps) != 2 {
		t.Errorf("list: %+v of %d, %v", list, total, err)
	}
	for _, id := range []string{"", "job-2", "job-", "job-01", "job--1", "sd_2", "job-99999999999999999999"} {
		if _, err := other.Job(t.Context(), id); !errors.Is(err, database.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := other.Change(t.Context(), id, acceptAs("x")); !errors.Is(err, database.ErrNotFound) {
			t.Errorf("changing %q: %v", id, err)
		}
	}
}

func TestARefusedChangeWritesNothing(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	job := noerr.Try(l.Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
	no := errors.New("no")
	if _, err := l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
		job.State = model.JobReady
		return "x", no
	}); !errors.Is(err, no) {
		t.Fatal(err)
	}
	got, err := l.Job(t.Context(), job.ID)
	if err != nil || got.State != model.JobIntent || len(got.Steps) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStepsAreBounded(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	job, err := l.Begin(t.Context(), model.Job{}, "", nil, nil)
	noerr.Must(t, err)
	for i := range maxSteps + 5 {
		if job, err = l.Change(t.Context(), job.ID, func(*model.Job) (string, error) {
			return fmt.Sprint(i), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(job.Steps) != maxSteps {
		t.Errorf("%d steps", len(job.Steps))
	}
}

func TestSameFindsEveryStateThatMayHaveCost(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	begin := func(digest string, state model.JobState) {
		t.Helper()
		job := noerr.Try(l.Begin(t.Context(), model.Job{}, digest, nil, nil)).Must(t)
		stands(t, l, job.ID, state)
	}
	begin("d1", model.JobReady)
	begin("d1", model.JobMayHave)
	begin("d1", model.JobRefused)
	begin("d1", model.JobNotSent)
	begin("d2", model.JobReady)
	got, err := l.SameRequest(t.Context(), "d1", "", testTime)
	if err != nil || len(got) != 2 || got[0].ID != "job-2" || got[1].ID != "job-1" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = l.SameRequest(t.Context(), "d1", "", testTime.Add(time.Hour))
	if err != nil || len(got) != 1 || got[0].ID != "job-2" {
		t.Errorf("later: %+v, %v; want the one that may have started alone", got, err)
	}
}

func TestRecoverSettlesTheDeadAndLeavesTheLivingAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	dead, _, err := open(t, path, clock())
	noerr.Must(t, err)
	living := openTest(t, path)
	begin := func(l *Ledger, state model.JobState) string {
		t.Helper()
		job := noerr.Try(l.Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
		if state != model.JobIntent {
			stands(t, l, job.ID, state)
		}
		return job.ID
	}
	want := map[string]model.JobState{
		begin(dead, model.JobIntent):    model.JobNotSent,
		begin(dead, model.JobSending):   model.JobMayHave,
		begin(dead, model.JobRunning):   model.JobRunning,
		begin(living, model.JobIntent):  model.JobIntent,
		begin(living, model.JobSending): model.JobSending,
	}
	third := openTest(t, path)
	if settled, err := third.Recover(t.Context()); err != nil || len(settled) != 0 {
		t.Fatalf("both live: %+v, %v", settled, err)
	}
	noerr.Must(t, dead.Close())
	settled, err := third.Recover(t.Context())
	if err != nil || len(settled) != 2 {
		t.Fatalf("settled %+v, %v", settled, err)
	}
	for id, state := range want {
		job, err := third.Job(t.Context(), id)
		if err != nil || job.State != state {
			t.Errorf("%s: %s, want %s (%v)", id, job.State, state, err)
		}
	}
	if again, err := living.Recover(t.Context()); err != nil || len(again) != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// sabotage makes every statement of a kind fail until the returned func is called.
func sabotage(t *testing.T, l *Ledger, statement string) (end func()) {
	t.Helper()
	exec := func(query string) {
		t.Helper()
		noerr.Must(t, noerr.From(raw(t, l.Path()).ExecContext(t.Context(), query)))
	}
	exec("CREATE TRIGGER sabotage BEFORE " + statement + " BEGIN SELECT RAISE(ABORT, 'no room'); END")
	return func() { exec("DROP TRIGGER sabotage") }
}

func TestAFailedStatementIsAnErrorAndWritesNothing(t *testing.T) {
	postgrestest.OnFile(t)
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	job := noerr.Try(l.Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
	before := noerr.Try(l.Job(t.Context(), job.ID)).Must(t)
	for _, statement := range []string{"UPDATE ON jobs", "INSERT ON job_steps"} {
		end := sabotage(t, l, statement)
		got, err := l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.State = model.JobReady
			return "ready", nil
		})
		if err == nil || got.ID != "" {
			t.Errorf("%s failed, and the change gives %+v, %v", statement, got, err)
		}
		end()
		if after, err := l.Job(t.Context(), job.ID); err != nil || !reflect.DeepEqual(after, before) {
			t.Errorf("%s failed, and the job became %+v, %v", statement, after, err)
		}
	}
	for _, statement := range []string{"INSERT ON jobs", "INSERT ON job_steps"} {
		end := sabotage(t, l, statement)
		if got, err := l.Begin(t.Context(), model.Job{}, "", nil, nil); err == nil || got.ID != "" {
			t.Errorf("%s failed, and the job begins as %+v, %v", statement, got, err)
		}
		end()
	}
	if list, _, err := l.Jobs(t.Context(), 0); err != nil || len(list) != 1 {
		t.Errorf("the ledger holds %+v, %v", list, err)
	}
}

func TestAChangeWithoutANoteMakesAStepOnlyWithItsState(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	job := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "p", KeyName: "k", Bytes: 7}, "", nil, nil)).Must(t)
	change := func(state model.JobState, note string) model.Job {
		t.Helper()
		got, err := l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.ID, job.State = "job-99", state
			return note, nil
		})
		if err != nil || got.ID != job.ID {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	steps := func(job model.Job) (texts []string) {
		for _, s := range job.Steps {
			texts = append(texts, string(s.State)+" "+s.Text)
		}
		return texts
	}
	change(model.JobIntent, "")
	change(model.JobIntent, "a word")
	last := change(model.JobSending, "")
	want := []string{"intent written before sending", "intent a word", "sending "}
	if got := steps(last); !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
}

func TestALedgerThatCannotBeReadIsAnError(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	job := noerr.Try(l.Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
	for _, spoil := range []string{"ALTER TABLE job_steps RENAME TO gone", "ALTER TABLE jobs RENAME TO gone_too"} {
		noerr.Must(t, noerr.From(raw(t, l.Path()).ExecContext(t.Context(), spoil)))
		if got, err := l.Job(t.Context(), job.ID); err == nil || errors.Is(err, database.ErrNotFound) || got.ID != "" {
			t.Errorf("%s: the job is %+v, %v", spoil, got, err)
		}
		if got, _, err := l.Jobs(t.Context(), 0); err == nil || got != nil {
			t.Errorf("%s: the ledger is %+v, %v", spoil, got, err)
		}
		if got, err := l.Change(t.Context(), job.ID, acceptAs("sd_1")); err == nil || got.ID != "" {
			t.Errorf("%s: the job was changed to %+v, %v", spoil, got, err)
		}
	}
}

func TestTheListSaysHowManyThereAre(t *testing.T) {
	l, _, _ := reopen(t, sound(t))
	list, total, err := l.Jobs(t.Context(), 2)
	if err != nil || total != 4 || len(list) != 2 || list[0].ID != "job-4" || len(list[1].Steps) != 2 {
		t.Errorf("%+v of %d, %v", list, total, err)
	}
	err = l.db.Write(t.Context(), "adding many", func(ctx context.Context, tx *sql.Tx) error {
		for n := int64(5); n <= 1500; n++ {
			if err := put(ctx, tx, insertJob, n, model.Job{}, "", "", ""); err != nil {
				return err
			}
		}
		return nil
	})
	noerr.Must(t, err)
	list, total, err = l.Jobs(t.Context(), 0)
	if err != nil || total != 1500 || len(list) != 1500 || list[1499].ID != "job-1" {
		t.Errorf("all: %d of %d, %v", len(list), total, err)
	}
}

func TestTheJobsOfWebhooks(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	var ids []string
	for i := range jobsAtOnce + 2 {
		job := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "acme", Dataset: fmt.Sprintf("gd_%d", i)}, "", nil, nil)).Must(t)
		ids = append(ids, job.ID)
	}
	got, err := l.WebhookJobs(t.Context(), append(ids, "job-999999"))
	last := jobsAtOnce + 1
	if err != nil || len(got) != len(ids) || got[ids[0]] != (model.WebhookJob{Dataset: "gd_0", State: model.JobIntent}) || got[ids[last]].Dataset != fmt.Sprintf("gd_%d", last) {
		t.Errorf("%d of %d, %v", len(got), len(ids), err)
	}
}
