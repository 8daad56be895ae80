package ledger

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

func TestALedgerFromBeforeTheFirstReleaseIsRefusedByName(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	noerr.Must(t, openTest(t, path).Close())
	db := noerr.Try(sql.Open("sqlite", path)).Must(t)
	noerr.Must(t, noerr.From(db.ExecContext(t.Context(), "DROP TABLE job_sums; PRAGMA user_version = 3")))
	noerr.Must(t, db.Close())
	if _, _, err := Open(t.Context(), path, clock()); !errors.Is(err, database.ErrTooOld) {
		t.Error(err)
	}
}

// Everything readable in a damaged file is carried over.
func TestADamagedLedgerIsCarriedOver(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	for range 2 {
		noerr.Must(t, noerr.From(l.Begin(t.Context(), model.Job{Dataset: "gd_x"}, "d", []byte("asked"), nil)))
	}
	noerr.Must(t, l.Close())
	// Only a page of another table is damaged, not the jobs.
	db := noerr.Try(sql.Open("sqlite", path)).Must(t)
	for _, statement := range []string{"CREATE TABLE extra (a)", "INSERT INTO extra VALUES ('spoil me')"} {
		noerr.Must(t, noerr.From(db.ExecContext(t.Context(), statement)))
	}
	noerr.Must(t, db.Close())
	spoilJob(t, path, "spoil me")
	noerr.Must(t, os.WriteFile(path+".suspect", nil, 0o600))
	l, notice, err := Open(t.Context(), path, clock())
	noerr.Must(t, err)
	defer l.Close()
	list, _, err := l.Jobs(t.Context(), 0)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d jobs, %v; %s", len(list), err, notice)
	}
	if request, err := l.Request(t.Context(), "job-1"); string(request) != "asked" {
		t.Errorf("%q, %v", request, err)
	}
}

// An earlier build has no checksums: its jobs get them at the first opening, and what disagrees with the log is repaired.
func TestALedgerOfAnEarlierBuildGetsItsChecksums(t *testing.T) {
	postgrestest.OnFile(t)
	path := sound(t)
	earlier := []string{"DROP TABLE job_sums", "PRAGMA user_version = 4", unnamed}
	spoiled(t, path, earlier...)
	l, notice, jobs := reopen(t, path)
	if notice != "" || jobs["job-1"].State != model.JobReady {
		t.Errorf("%q, %+v", notice, jobs["job-1"])
	}
	noerr.Must(t, l.Close())
	spoiled(t, path, append(earlier, "UPDATE jobs SET snapshot = 'sd_other' WHERE n = 2")...)
	l, notice, jobs = reopen(t, path)
	if !strings.Contains(notice, ": 1 job. What happened since is unknown") || jobs["job-2"].Snapshot != "sd_2" || jobs["job-1"].State != model.JobReady {
		t.Errorf("%q, %+v", notice, jobs)
	}
	settled(t, l)
}

// A row that still parses and is not as it was written.
func TestARowThatDisagreesIsRepairedFromTheLog(t *testing.T) {
	postgrestest.OnFile(t)
	const fromLog = ": 1 job. What happened since is unknown"
	for damage, says := range map[string]string{
		"UPDATE jobs SET snapshot = 'sd_3' WHERE n = 1":             fromLog,
		"UPDATE jobs SET snapshot = CAST(snapshot AS BLOB)":         ": 4 jobs. What happened since is unknown",
		"UPDATE jobs SET n = 9 WHERE n = 1":                         fromLog + ": ask the service with 'zonedeck jobs watch'. Removed from the ledger PATH: 1 row of no job.",
		"UPDATE jobs SET n = -1 WHERE n = 1":                        fromLog,
		"DELETE FROM jobs WHERE n = 4":                              fromLog,
		"UPDATE job_steps SET text = 'x' WHERE job = 1":             "kept as far as it can be read: 1 job (job-1).",
		"UPDATE job_sums SET job_row = 1 WHERE job = 1":             "kept as far as it can be read: 1 job (job-1).",
		"DELETE FROM job_sums WHERE job < 3":                        "kept as far as it can be read: 2 jobs (job-1, job-2).",
		"UPDATE jobs SET records = 7 WHERE n = 1":                   "kept as far as it can be read: 1 job (job-1).",
		"UPDATE jobs SET state = 'x' WHERE n = 1":                   fromLog,
		"UPDATE jobs SET fault = '{' WHERE n = 1":                   fromLog,
		"UPDATE jobs SET key = 'l' WHERE n = 1":                     fromLog,
		"UPDATE jobs SET profile = 'q' WHERE n = 1":                 fromLog,
		"UPDATE jobs SET inputs = 2 WHERE n = 1":                    fromLog,
		"UPDATE jobs SET snapshot = 'sd_3' WHERE n = 3":             fromLog, // which the log does not have
		"UPDATE job_sums SET job = 99 WHERE job = 1":                "kept as far as it can be read: 1 job (job-1). Removed from the ledger PATH: 1 row of no job.",
		"UPDATE marks SET number = 2":                               "the number of the next job was damaged",
		"UPDATE marks SET number = 'x'":                             "the number of the next job was damaged",
		"DELETE FROM marks":                                         "the number of the next job was damaged",
		"DELETE FROM job_steps":                                     "kept as far as it can be read: 4 jobs (job-1, job-2, job-3, job-4).",
		"ALTER TABLE jobs RENAME COLUMN wire TO gone":               "It was written anew, and no job is lost.",
		"PRAGMA user_version = 9":                                   "It was written anew, and no job is lost.",
		"UPDATE jobs SET created = 'x', digest = x'00' WHERE n = 3": fromLog,
	} {
		path := sound(t)
		spoiled(t, path, damage)
		l, notice, jobs := reopen(t, path)
		if !strings.Contains(strings.ReplaceAll(notice, path, "PATH"), says) || len(jobs) != 4 || jobs["job-1"].Snapshot != "sd_1" || jobs["job-2"].Dataset != "gd_x" {
			t.Errorf("%s: %q, %+v", damage, notice, jobs)
		}
		if job := jobs["job-1"]; strings.Contains(says, "kept") && (job.State != model.JobReady || job.File != "/x.json") {
			t.Errorf("%s: %+v", damage, job)
		}
		if asked := noerr.Try(l.Request(t.Context(), "job-1")).Must(t); string(asked) != "asked 1" {
			t.Errorf("%s: job-1 asked for %q", damage, asked)
		}
		settled(t, l)
	}
}

// A console of an earlier build may be open: its rows have no sums.
func TestWhatIsBeingWrittenIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	living := openTest(t, path)
	for range 2 {
		noerr.Must(t, noerr.From(living.Begin(t.Context(), model.Job{Dataset: "gd_x"}, "d", nil, nil)))
	}
	spoiled(t, path, "DELETE FROM job_sums WHERE job = 2")
	lines := noerr.Try(os.ReadFile(logPath(path))).Must(t)
	log := lines[:len(lines)-9] // of the last line, what was written so far
	noerr.Must(t, os.WriteFile(logPath(path), log, 0o600))
	l, notice, jobs := reopen(t, path)
	if after := noerr.Try(os.ReadFile(logPath(path))).Must(t); notice != "" || jobs["job-2"].State != model.JobIntent || string(after) != string(log) {
		t.Errorf("%q, %+v; the log is\n%s", notice, jobs["job-2"], after)
	}
	noerr.Must(t, l.Close())
	living.releaseOwner()
	l, notice, jobs = reopen(t, path)
	if !strings.HasSuffix(notice, "kept as far as it can be read: 1 job (job-2). Unreadable in the ledger's log "+logPath(path)+": 1 line.") || jobs["job-2"].State != model.JobIntent {
		t.Errorf("after its end: %q, %+v", notice, jobs["job-2"])
	}
	if entries, _, err := readLog(logPath(path)); err != nil || len(entries) != 2 {
		t.Errorf("the log holds %+v, %v", entries, err)
	}
	noerr.Must(t, l.Close())
	if _, notice, _ = reopen(t, path); notice != "" {
		t.Errorf("told again: %s", notice)
	}
}

func TestAJobThatNeitherFileHasIsReportedOnce(t *testing.T) {
	postgrestest.OnFile(t)
	path := sound(t)
	spoiled(t, path, "DELETE FROM jobs WHERE n = 4")
	noerr.Must(t, os.Remove(logPath(path)))
	l, notice, jobs := reopen(t, path)
	if !strings.HasPrefix(notice, "Lost from the ledger "+path+" and its log: 1 job (job-4).") || len(jobs) != 3 {
		t.Errorf("%q, %d jobs", notice, len(jobs))
	}
	settled(t, l)
}
