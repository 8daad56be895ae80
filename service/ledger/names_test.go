package ledger

import (
	"errors"
	"path/filepath"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// unnamed takes away what schema 6 added.
const unnamed = `DROP INDEX jobs_job_id; DROP INDEX jobs_snapshot_id;
	ALTER TABLE jobs DROP COLUMN job_id; ALTER TABLE jobs DROP COLUMN snapshot_id`

// withNames gives a new ledger a job with these identifiers for each.
func withNames(t *testing.T, path string, each ...model.JobNames) {
	t.Helper()
	l := openTest(t, path)
	for _, names := range each {
		job := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "p", Dataset: "gd_x"}, "d", nil, nil)).Must(t)
		noerr.Must(t, l.Accepted(job.ID, names))
		noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.Name(names)
			job.State, job.Accepted = model.JobAccepted, testTime
			return "", nil
		})))
	}
	noerr.Must(t, l.Close())
}

var both = model.JobNames{Snapshot: "s_1", JobID: "j_1", SnapshotID: "s_1"}

func TestBothIdentifiersAreKeptAndNameTheJob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	withNames(t, path, both, model.JobNames{Snapshot: "j_2", JobID: "j_2"}, model.JobNames{Snapshot: "j_1"}, model.JobNames{Snapshot: "c_4"})
	l, notice, _ := reopen(t, path)
	if notice != "" {
		t.Error(notice)
	}
	for id, want := range map[string]string{"s_1": "job-1", "j_2": "job-2", "job-3": "job-3", "c_4": "job-4"} {
		job, err := l.Job(t.Context(), id)
		if err != nil || job.ID != want || id == "s_1" && job.Names() != both {
			t.Errorf("%s is %+v, %v", id, job, err)
		}
	}
	var twice *AmbiguousError
	if _, err := l.Job(t.Context(), "j_1"); !errors.As(err, &twice) || *twice != (AmbiguousError{"j_1", "job-3", "job-1"}) {
		t.Error(err)
	}
	if job, err := l.OfSnapshot(t.Context(), "j_1"); err != nil || job.ID != "job-3" {
		t.Error(job, err) // a webhook names snapshots
	}
	if _, err := l.Job(t.Context(), "j_9"); !errors.Is(err, database.ErrNotFound) {
		t.Error(err)
	}
	adopted, err := l.Adopt(t.Context(), model.Job{Snapshot: "j_2"})
	if err != nil || adopted.ID != "job-2" {
		t.Error(adopted, err)
	}
}

func TestTheLogRestoresBothIdentifiers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	withNames(t, path, both)
	emptied(t, path)
	_, _, jobs := reopen(t, path)
	if jobs["job-1"].Names() != both {
		t.Errorf("%+v", jobs["job-1"])
	}
}

// A job may be asked by its other identifier from some time on: the log has both, so nothing is lacking.
func TestTheOtherIdentifierIsInTheLogToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	withNames(t, path, both)
	l := openTest(t, path)
	noerr.Must(t, noerr.From(l.Change(t.Context(), "job-1", func(job *model.Job) (string, error) {
		job.Snapshot = "j_1"
		return "", nil
	})))
	noerr.Must(t, l.Close())
	_, notice, jobs := reopen(t, path)
	if notice != "" || jobs["job-1"].Snapshot != "j_1" {
		t.Errorf("%q, %+v", notice, jobs["job-1"])
	}
}

// The sums of the build before hold, so that what was damaged since then is still found.
func TestALedgerWithoutNamesKeepsItsChecksums(t *testing.T) {
	postgrestest.OnFile(t)
	path := sound(t)
	spoiled(t, path, unnamed, "PRAGMA user_version = 5", "UPDATE job_steps SET text = 'x' WHERE job = 1")
	l, notice, jobs := reopen(t, path)
	if want := "Damaged in the ledger " + path + ", or written by an earlier version, and kept as far as it can be read: 1 job (job-1)."; notice != want || len(jobs) != 4 {
		t.Errorf("%q, %+v", notice, jobs)
	}
	settled(t, l)
}

// A row's sum covers the names once there are some, and which is which.
func TestADamagedNameIsFound(t *testing.T) {
	postgrestest.OnFile(t)
	for _, damage := range []string{"UPDATE jobs SET job_id = 'j_7'", "UPDATE jobs SET job_id = ''", "UPDATE jobs SET snapshot_id = job_id, job_id = ''", "UPDATE jobs SET job_id = x'00'"} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		withNames(t, path, model.JobNames{Snapshot: "s_1", JobID: "j_1"})
		spoiled(t, path, damage)
		if _, notice, _ := reopen(t, path); notice == "" {
			t.Errorf("%s: nothing is said", damage)
		}
	}
}
