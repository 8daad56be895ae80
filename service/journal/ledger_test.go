package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"zonedeck/model"
)

func TestAJobAndItsStepsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	begun, err := j.BeginJob(t.Context(), model.Job{Profile: "local", Dataset: "gd_products", KeyName: "etl", Inputs: 200, Done: -1, Records: -1}, "d1")
	if err != nil {
		t.Fatal(err)
	}
	if begun.ID != "job-1" || begun.State != model.JobIntent || len(begun.Steps) != 1 {
		t.Fatalf("begun: %+v", begun)
	}
	changed, err := j.ChangeJob(t.Context(), begun.ID, func(job *model.Job) (JobChange, error) {
		job.State = model.JobAccepted
		job.Snapshot = "sd_1"
		job.Accepted = testTime
		return JobChange{Step: "snapshot sd_1", Activity: "accepted as sd_1"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.ChangeJob(t.Context(), begun.ID, func(job *model.Job) (JobChange, error) {
		job.Done = 7
		return JobChange{}, nil
	}); err != nil {
		t.Fatal(err)
	}
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
	list, err := other.Jobs(t.Context())
	if err != nil || len(list) != 1 || len(list[0].Steps) != 2 {
		t.Errorf("list: %+v, %v", list, err)
	}
	lines, err := other.Activity(t.Context(), model.ActivityFilter{Kind: model.ActivityJob})
	if err != nil || len(lines) != 1 || lines[0].Ref != "job-1" || lines[0].Text != "accepted as sd_1" {
		t.Errorf("timeline: %+v, %v", lines, err)
	}
	for _, id := range []string{"", "job-2", "job-", "job-01", "job--1", "sd_2", "job-99999999999999999999"} {
		if _, err := other.Job(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := other.ChangeJob(t.Context(), id, accept("x")); !errors.Is(err, ErrNotFound) {
			t.Errorf("changing %q: %v", id, err)
		}
	}
}

func TestARefusedChangeWritesNothing(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	job, err := j.BeginJob(t.Context(), model.Job{}, "")
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	if _, err := j.ChangeJob(t.Context(), job.ID, func(job *model.Job) (JobChange, error) {
		job.State = model.JobReady
		return JobChange{Step: "x"}, no
	}); !errors.Is(err, no) {
		t.Fatal(err)
	}
	got, err := j.Job(t.Context(), job.ID)
	if err != nil || got.State != model.JobIntent || len(got.Steps) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStepsAreBounded(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	job, err := j.BeginJob(t.Context(), model.Job{}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxSteps + 5 {
		if job, err = j.ChangeJob(t.Context(), job.ID, func(*model.Job) (JobChange, error) {
			return JobChange{Step: fmt.Sprint(i)}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(job.Steps) != maxSteps {
		t.Errorf("%d steps", len(job.Steps))
	}
}

func TestSameJobsFindsWhatMayHaveCost(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	begin := func(digest string, state model.JobState) {
		t.Helper()
		job, err := j.BeginJob(t.Context(), model.Job{}, digest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.ChangeJob(t.Context(), job.ID, func(job *model.Job) (JobChange, error) {
			job.State = state
			return JobChange{}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	begin("d1", model.JobReady)
	begin("d1", model.JobMayHave)
	begin("d1", model.JobRefused)
	begin("d1", model.JobNotSent)
	begin("d2", model.JobReady)
	got, err := j.SameJobs(t.Context(), "d1", testTime)
	if err != nil || len(got) != 2 || got[0].ID != "job-2" || got[1].ID != "job-1" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = j.SameJobs(t.Context(), "d1", testTime.Add(time.Hour))
	if err != nil || len(got) != 0 {
		t.Errorf("later: %+v, %v", got, err)
	}
}

func TestRecoverSettlesTheDeadAndLeavesTheLivingAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	dead, _, err := open(t.Context(), path, clock(), quick())
	if err != nil {
		t.Fatal(err)
	}
	living := openTest(t, path)
	begin := func(j *Journal, state model.JobState) string {
		t.Helper()
		job, err := j.BeginJob(t.Context(), model.Job{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if state != model.JobIntent {
			if _, err := j.ChangeJob(t.Context(), job.ID, func(job *model.Job) (JobChange, error) {
				job.State = state
				return JobChange{}, nil
			}); err != nil {
				t.Fatal(err)
			}
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
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
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

// TestTheLedgerIsSynced looks at what the writing connection was set to for the
// last transaction: FULL (2) for the ledger, NORMAL (1) for history.
func TestTheLedgerIsSynced(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	mode := func() (mode int) {
		t.Helper()
		if err := j.w.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&mode); err != nil {
			t.Fatal(err)
		}
		return mode
	}
	history := func() {
		t.Helper()
		if err := j.PutActivity(t.Context(), model.Activity{}); err != nil {
			t.Fatal(err)
		}
		if err := j.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := mode(); got != 1 {
			t.Errorf("history at synchronous=%d", got)
		}
	}
	history()
	job, err := j.BeginJob(t.Context(), model.Job{}, "")
	if err != nil || mode() != 2 {
		t.Errorf("an intent at synchronous=%d, %v", mode(), err)
	}
	history()
	if _, err := j.ChangeJob(t.Context(), job.ID, accept("s")); err != nil || mode() != 2 {
		t.Errorf("an acceptance at synchronous=%d, %v", mode(), err)
	}
	var wal string
	if err := j.w.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&wal); err != nil || wal != "wal" {
		t.Errorf("journal mode %s, %v", wal, err)
	}
}

// sabotage makes every statement of a kind fail, until the returned func is called.
func sabotage(t *testing.T, j *Journal, statement string) (end func()) {
	t.Helper()
	exec := func(query string) {
		t.Helper()
		if _, err := j.w.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TRIGGER sabotage BEFORE " + statement + " BEGIN SELECT RAISE(ABORT, 'no room'); END")
	return func() { exec("DROP TRIGGER sabotage") }
}

func TestAFailedStatementIsAnErrorAndWritesNothing(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	job, err := j.BeginJob(t.Context(), model.Job{}, "")
	if err != nil {
		t.Fatal(err)
	}
	before, err := j.Job(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"UPDATE ON jobs", "INSERT ON job_steps", "INSERT ON activity"} {
		end := sabotage(t, j, statement)
		got, err := j.ChangeJob(t.Context(), job.ID, func(job *model.Job) (JobChange, error) {
			job.State = model.JobReady
			return JobChange{Step: "ready", Activity: "ready"}, nil
		})
		if err == nil || got.ID != "" {
			t.Errorf("%s failed, and the change gives %+v, %v", statement, got, err)
		}
		end()
		if after, err := j.Job(t.Context(), job.ID); err != nil || !reflect.DeepEqual(after, before) {
			t.Errorf("%s failed, and the job became %+v, %v", statement, after, err)
		}
	}
	for _, statement := range []string{"INSERT ON jobs", "INSERT ON job_steps"} {
		end := sabotage(t, j, statement)
		if got, err := j.BeginJob(t.Context(), model.Job{}, ""); err == nil || got.ID != "" {
			t.Errorf("%s failed, and the job begins as %+v, %v", statement, got, err)
		}
		end()
	}
	if list, err := j.Jobs(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("the ledger holds %+v, %v", list, err)
	}
	if lines, err := j.Activity(t.Context(), model.ActivityFilter{}); err != nil || len(lines) != 0 {
		t.Errorf("the timeline holds %+v, %v", lines, err)
	}
}

func TestAChangeWithoutANoteMakesAStepOnlyWithItsState(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	job, err := j.BeginJob(t.Context(), model.Job{Profile: "p", KeyName: "k", Bytes: 7}, "")
	if err != nil {
		t.Fatal(err)
	}
	change := func(state model.JobState, note JobChange) model.Job {
		t.Helper()
		got, err := j.ChangeJob(t.Context(), job.ID, func(job *model.Job) (JobChange, error) {
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
	change(model.JobIntent, JobChange{})
	change(model.JobIntent, JobChange{Step: "a word"})
	last := change(model.JobSending, JobChange{Activity: "a line"})
	want := []string{"intent written before sending", "intent a word", "sending "}
	if got := steps(last); !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
	lines, err := j.Activity(t.Context(), model.ActivityFilter{})
	if err != nil || len(lines) != 1 {
		t.Fatalf("the timeline holds %+v, %v", lines, err)
	}
	wantLine := model.Activity{ID: 1, At: last.Updated, Kind: model.ActivityJob, Profile: "p", Via: model.ViaAPI, Key: "k", Bytes: 7, Ref: job.ID, Text: "a line"}
	if lines[0] != wantLine {
		t.Errorf("line %+v, want %+v", lines[0], wantLine)
	}
}

func TestALedgerThatCannotBeReadIsAnError(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	job, err := j.BeginJob(t.Context(), model.Job{}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []string{"ALTER TABLE job_steps RENAME TO gone", "ALTER TABLE jobs RENAME TO gone_too"} {
		if _, err := j.w.ExecContext(t.Context(), spoil); err != nil {
			t.Fatal(err)
		}
		if got, err := j.Job(t.Context(), job.ID); err == nil || errors.Is(err, ErrNotFound) || got.ID != "" {
			t.Errorf("%s: the job is %+v, %v", spoil, got, err)
		}
		if got, err := j.Jobs(t.Context()); err == nil || got != nil {
			t.Errorf("%s: the ledger is %+v, %v", spoil, got, err)
		}
		if got, err := j.ChangeJob(t.Context(), job.ID, accept("sd_1")); err == nil || got.ID != "" {
			t.Errorf("%s: the job was changed to %+v, %v", spoil, got, err)
		}
	}
}
