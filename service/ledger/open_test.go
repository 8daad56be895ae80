package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// sound makes a ledger of four jobs: ready, accepted, sent without an answer, and
// only intended.
func sound(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	for i, snapshot := range []string{"sd_1", "sd_2", "", ""} {
		job, err := l.Begin(t.Context(), model.Job{
			Profile: "p", Dataset: "gd_x", KeyName: "k", Inputs: i + 1, Done: -1, Records: -1, Detail: strings.Repeat("long ", 200),
		}, fmt.Sprint("digest ", i+1), fmt.Append(nil, "asked ", i+1), nil)

		noerr.Must(t, err)
		change := func(change func(*model.Job)) {
			t.Helper()
			noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
				change(job)
				return "a step", nil
			})))
		}
		if i < 3 {
			change(func(job *model.Job) { job.State = model.JobSending })
		}
		if snapshot != "" {
			noerr.Must(t, l.Accepted(job.ID, model.JobNames{Snapshot: snapshot}))
			change(func(job *model.Job) { job.State, job.Snapshot, job.Accepted = model.JobAccepted, snapshot, testTime })
		}
		if i == 0 {
			change(func(job *model.Job) { job.State, job.File, job.Bytes = model.JobReady, "/x.json", 7 })
		}
	}
	noerr.Must(t, l.Close())
	return path
}

// emptied deletes everything in a ledger.
func emptied(t *testing.T, path string) {
	t.Helper()
	if postgrestest.Available() {
		spoiled(t, path, "DELETE FROM job_steps", "DELETE FROM job_requests", "DELETE FROM jobs", "UPDATE marks SET number = 0, logged = 0")
		return
	}
	noerr.Must(t, os.Remove(path))
}

// reopen opens the ledger again and returns its jobs by number.
func reopen(t *testing.T, path string) (l *Ledger, notice string, jobs map[string]model.Job) {
	t.Helper()
	l, notice, err := open(t, path, clock())
	noerr.Must(t, err)
	t.Cleanup(func() { _ = l.Close() }) // some tests close it themselves
	list, total, err := l.Jobs(t.Context(), 0)
	if err != nil || total != len(list) {
		t.Fatalf("%d of %d jobs, %v", len(list), total, err)
	}
	jobs = map[string]model.Job{}
	for _, job := range list {
		jobs[job.ID] = job
	}
	return l, notice, jobs
}

// settled closes the ledger, and expects no notice at the next Open and an unused
// number for a new job.
func settled(t *testing.T, l *Ledger) {
	t.Helper()
	noerr.Must(t, l.Close())
	again, notice, jobs := reopen(t, l.Path())
	if notice != "" {
		t.Errorf("told again: %s", notice)
	}
	job, err := again.Begin(t.Context(), model.Job{}, "", nil, nil)
	if err != nil || job.ID != "job-5" {
		t.Errorf("the next job is %+v, %v, beside %d", job, err, len(jobs))
	}
}

func TestALedgerWithNothingWrongSaysNothing(t *testing.T) {
	l, notice, jobs := reopen(t, sound(t))
	if notice != "" || len(jobs) != 4 {
		t.Errorf("%q, %d jobs", notice, len(jobs))
	}
	settled(t, l)
}

func TestAMissingOrEmptiedLedgerComesBackFromItsLog(t *testing.T) {
	postgrestest.OnFile(t)
	for name, lose := range map[string]func(path string) error{
		"missing": os.Remove,
		"emptied": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"garbage": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("garbage "), 1000), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			path := sound(t)
			noerr.Must(t, lose(path))
			l, notice, jobs := reopen(t, path)
			if !strings.Contains(notice, ": 4 jobs. What happened since is unknown") || !strings.Contains(notice, path) {
				t.Errorf("told: %q", notice)
			}
			for id, want := range map[string]model.Job{
				"job-1": {State: model.JobAccepted, Snapshot: "sd_1", Inputs: 1},
				"job-2": {State: model.JobAccepted, Snapshot: "sd_2", Inputs: 2},
				"job-3": {State: model.JobMayHave, Inputs: 3},
				"job-4": {State: model.JobMayHave, Inputs: 4},
			} {
				got := jobs[id]
				if got.State != want.State || got.Snapshot != want.Snapshot || got.Inputs != want.Inputs ||
					got.Profile != "p" || got.Dataset != "gd_x" || got.KeyName != "k" || got.Created.IsZero() || len(got.Steps) != 1 {
					t.Errorf("%s came back as %+v", id, got)
				}
			}
			if same, err := l.SameRequest(t.Context(), "digest 3", "", testTime); err != nil || len(same) != 1 || same[0].ID != "job-3" {
				t.Errorf("the digest did not come back: %+v, %v", same, err)
			}
			settled(t, l)
		})
	}
}

// The emulator's clock dates its jobs; a command without an emulator uses the machine's.
func TestNoStepIsOlderThanTheJobThatTheLogGivesBack(t *testing.T) {
	path := sound(t)
	emptied(t, path)
	early := func() time.Time { return testTime.AddDate(0, 0, -10) }
	l, _, err := open(t, path, early)
	noerr.Must(t, err)
	defer func() { _ = l.Close() }()
	job := noerr.Try(l.Change(t.Context(), "job-3", func(*model.Job) (string, error) { return "looked at", nil })).Must(t)
	for _, s := range job.Steps {
		if s.At.Before(job.Created) {
			t.Errorf("step %q is of %v, before the job of %v", s.Text, s.At, job.Created)
		}
	}
}

func TestADeletedWALIsTold(t *testing.T) {
	postgrestest.OnFile(t)
	path := sound(t)
	l, _, _ := reopen(t, path)
	job := noerr.Try(l.Begin(t.Context(), model.Job{Dataset: "gd_y"}, "d", nil, nil)).Must(t)
	noerr.Must(t, l.Accepted(job.ID, model.JobNames{Snapshot: "sd_5"}))
	noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, acceptAs("sd_5"))))
	// A copy without the WAL, as if somebody had deleted it.
	copied := filepath.Join(t.TempDir(), "ledger.db")
	for _, tail := range []string{"", ".log"} {
		b := noerr.Try(os.ReadFile(path + tail)).Must(t)
		noerr.Must(t, os.WriteFile(copied+tail, b, 0o600))
	}
	_, notice, jobs := reopen(t, copied)
	if !strings.Contains(notice, ": 1 job. What happened since is unknown") {
		t.Errorf("told: %q", notice)
	}
	if got := jobs["job-5"]; got.State != model.JobAccepted || got.Snapshot != "sd_5" || got.Dataset != "gd_y" {
		t.Errorf("it came back as %+v", got)
	}
	if jobs["job-1"].State != model.JobReady {
		t.Errorf("job-1 is %+v", jobs["job-1"])
	}
}

func TestACutOrDeletedLogIsWrittenAgain(t *testing.T) {
	for name, cut := range map[string]func(path string) error{
		"deleted":        os.Remove,
		"emptied":        func(path string) error { return os.Truncate(path, 0) },
		"cut in a line":  func(path string) error { return os.Truncate(path, 100) },
		"a line is lost": func(path string) error { return os.WriteFile(path, []byte("{}\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			path := sound(t)
			before, _, err := readLog(logPath(path))
			noerr.Must(t, err)
			noerr.Must(t, cut(logPath(path)))
			l, notice, jobs := reopen(t, path)
			if !strings.Contains(notice, logPath(path)+" was cut or deleted") || len(jobs) != 4 {
				t.Errorf("%q, %d jobs", notice, len(jobs))
			}
			after, _, err := readLog(logPath(path))
			if err != nil || len(after) != 4 || after[3].begun.Digest != before[3].begun.Digest || after[1].names.Snapshot != "sd_1" || after[4].names.Snapshot != "" {
				t.Errorf("the log holds %+v, %v", after, err)
			}
			settled(t, l)
		})
	}
}

func TestAnIdentifierThatOnlyTheLogHasIsTakenOver(t *testing.T) {
	path := sound(t)
	l, _, _ := reopen(t, path)
	noerr.Must(t, l.Accepted("job-3", model.JobNames{Snapshot: "sd_3"}))
	noerr.Must(t, l.Close())
	l, notice, jobs := reopen(t, path)
	if got := jobs["job-3"]; got.Snapshot != "sd_3" || got.State != model.JobAccepted || notice != "Restored from the log of the ledger "+path+": 1 job identifier." {
		t.Errorf("%+v, %q", got, notice)
	}
	settled(t, l)
}

func TestAJobOfALivingProcessIsNotTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	living := openTest(t, path)
	job, err := living.Begin(t.Context(), model.Job{}, "", nil, nil)
	noerr.Must(t, err)
	stands(t, living, job.ID, model.JobSending)
	noerr.Must(t, living.Accepted(job.ID, model.JobNames{Snapshot: "sd_1"}))
	other, notice, jobs := reopen(t, path)
	if notice != "" || jobs[job.ID].State != model.JobSending {
		t.Fatalf("%q, %+v", notice, jobs)
	}
	// It dies before it writes the acceptance to the ledger.
	living.releaseOwner()
	settled, err := other.Recover(t.Context())
	if err != nil || len(settled) != 1 || settled[0].State != model.JobAccepted || settled[0].Snapshot != "sd_1" {
		t.Errorf("settled as %+v, %v", settled, err)
	}
}

func TestGarbageInTheLogCostsItsOwnLinesOnly(t *testing.T) {
	path := sound(t)
	good := noerr.Try(os.ReadFile(logPath(path))).Must(t)
	garbage := "\x00\xff not json\n{\"job\":-1,\"event\":\"begun\"}\n{\"job\":9223372036854775807,\"event\":\"begun\"}\n" +
		strings.Repeat("x", 200_000) + "\n{\"job\":1,\"event\":\"eaten\"}\n\n"
	noerr.Must(t, os.WriteFile(logPath(path), append([]byte(garbage), good...), 0o600))
	emptied(t, path)
	l, notice, jobs := reopen(t, path)
	if len(jobs) != 4 || !strings.Contains(notice, "Unreadable in the ledger's log "+logPath(path)+": 5 lines.") {
		t.Errorf("%d jobs; told %q", len(jobs), notice)
	}
	settled(t, l)
}

// spoilJob overwrites the page that holds a job's detail.
func spoilJob(t *testing.T, path, text string) {
	t.Helper()
	b := noerr.Try(os.ReadFile(path)).Must(t)
	i := bytes.Index(b, []byte(text))
	if i < 8192 {
		t.Fatalf("%q is at %d", text, i)
	}
	copy(b[i/4096*4096:], bytes.Repeat([]byte{0xee}, 64))
	noerr.Must(t, os.WriteFile(path, b, 0o600))
}

func TestADamagedPageCostsItsOwnJobsOnly(t *testing.T) {
	postgrestest.OnFile(t)
	for _, withLog := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		l := openTest(t, path)
		const n = 60
		for i := range n {
			job := noerr.Try(l.Begin(t.Context(), model.Job{Dataset: fmt.Sprintf("dataset %02d", i), Detail: strings.Repeat("long ", 100)}, fmt.Sprint("digest ", i), nil, nil)).Must(t)
			noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, acceptAs(fmt.Sprintf("sd_%d", i+1)))))
		}
		noerr.Must(t, l.Close())
		spoilJob(t, path, "dataset 30")
		noerr.Must(t, os.WriteFile(path+".suspect", nil, 0o600))
		if !withLog {
			noerr.Must(t, os.Remove(logPath(path)))
		}
		l, notice, jobs := reopen(t, path)
		if !strings.Contains(notice, "damaged") || !strings.Contains(notice, "Carried over from it: ") {
			t.Errorf("told: %q", notice)
		}
		if withLog && len(jobs) != n || len(jobs) < n-10 || len(jobs) == n && !withLog {
			t.Errorf("%d jobs with its log %t", len(jobs), withLog)
		}
		for _, id := range []string{"job-1", "job-60"} {
			if job := jobs[id]; job.State != model.JobAccepted || len(job.Steps) != 2 {
				t.Errorf("%s came back as %+v", id, job)
			}
		}
		if same, err := l.SameRequest(t.Context(), "digest 59", "", testTime); err != nil || len(same) != 1 {
			t.Errorf("the digest was not carried over: %+v, %v", same, err)
		}
	}
}

func TestARowThatCannotBeIsAClearErrorAndHidesNoOther(t *testing.T) {
	path := sound(t)
	noerr.Must(t, noerr.From(raw(t, path).ExecContext(t.Context(), "UPDATE jobs SET created = 9223372036854775807 WHERE n = 2; UPDATE job_steps SET at = 9223372036854775807 WHERE job = 2")))
	noerr.Must(t, os.Remove(logPath(path))) // or it would give the job back
	l, _, err := open(t, path, clock())
	noerr.Must(t, err)
	defer l.Close()
	list, total, err := l.Jobs(t.Context(), 0)
	if err != nil || total != 4 || len(list) != 4 || list[2].ID != "job-2" || list[2].Detail != damagedRow || len(list[2].Steps) == 0 || list[3].Detail == damagedRow {
		t.Errorf("the list: %+v, %v", list, err)
	}
	if job, err := l.Job(t.Context(), "job-2"); !errors.Is(err, database.ErrCorrupt) || job.ID != "" {
		t.Errorf("the job: %+v, %v", job, err)
	}
	if _, err := l.Job(t.Context(), "job-1"); err != nil {
		t.Errorf("another job: %v", err)
	}
}

func TestAnIntentThatTheLogCannotTakeIsNotSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	if err := os.Mkdir(logPath(path), 0o700); err != nil { // a folder takes no line
		t.Fatal(err)
	}
	if job, err := l.Begin(t.Context(), model.Job{}, "", nil, nil); err == nil || job.ID != "" || !strings.Contains(err.Error(), logPath(path)) {
		t.Errorf("%+v, %v", job, err)
	}
	job, err := l.Job(t.Context(), "job-1")
	if err != nil || job.State != model.JobNotSent {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAdoptTakesAJobOnce(t *testing.T) {
	path := sound(t)
	l, _, _ := reopen(t, path)
	for range 2 {
		job, err := l.Adopt(t.Context(), model.Job{Snapshot: "sd_9", Profile: "p", Dataset: "gd_z", Done: -1, Records: -1})
		if err != nil || job.ID != "job-5" || job.State != model.JobAccepted || job.Snapshot != "sd_9" {
			t.Errorf("%+v, %v", job, err)
		}
	}
	if job, err := l.Adopt(t.Context(), model.Job{Snapshot: "sd_1"}); err != nil || job.ID != "job-1" || job.State != model.JobReady {
		t.Errorf("a job that is there: %+v, %v", job, err)
	}
	noerr.Must(t, l.Close())
	emptied(t, path)
	if _, _, jobs := reopen(t, path); jobs["job-5"].Snapshot != "sd_9" {
		t.Errorf("it did not come back: %+v", jobs)
	}
}

func TestAFrozenLedgerIsReadAndNotWritten(t *testing.T) {
	postgrestest.OnFile(t)
	path := sound(t)
	l := newLedger(database.Peek(path), clock())
	defer l.Close()
	if list, _, err := l.Jobs(t.Context(), 0); err != nil || len(list) != 4 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
	if _, err := l.Begin(t.Context(), model.Job{}, "", nil, nil); !errors.Is(err, database.ErrReadOnly) {
		t.Errorf("a new job: %v", err)
	}
	if list, err := l.Recover(t.Context()); list != nil || err != nil {
		t.Errorf("settled %+v, %v", list, err)
	}
	spoiled(t, path, "UPDATE jobs SET snapshot = 'sd_other' WHERE n = 1")
	notice, err := l.reconcile(t.Context())
	if job, jerr := l.Job(t.Context(), "job-1"); err != nil || jerr != nil || job.Snapshot != "sd_other" || !strings.HasSuffix(notice, " Nothing was repaired, because the ledger cannot be written.") {
		t.Errorf("%q, %v; %+v, %v", notice, err, job, jerr)
	}
}

func TestALedgerThatCannotBeWrittenIsCheckedAndTold(t *testing.T) {
	postgrestest.OnFile(t)
	if runtime.GOOS == "windows" {
		return // a link needs a right there
	}
	for spoil, says := range map[string]string{
		"SELECT 1":             "",
		"DROP INDEX jobs_hook": "The ledger PATH is damaged (the file is damaged: its schema is not as it was made). It was not repaired, because it cannot be written.",
		"DELETE FROM job_sums": "4 jobs (job-1, job-2, job-3, job-4). Nothing was repaired, because the ledger cannot be written.",
		"PRAGMA user_version = 4; DROP TABLE job_sums; " + unnamed: "it has schema 4, this program reads 6; make the file and its folder writable, so that this can be mended: ",
	} {
		path := sound(t)
		spoiled(t, path, spoil)
		noerr.Must(t, os.Symlink(filepath.Join(path, "nowhere"), path+"-wal")) // so that no WAL can be made
		l, notice, err := Open(t.Context(), path, clock())
		if err != nil {
			notice = err.Error()
		} else if list, _, err := l.Jobs(t.Context(), 0); err != nil || len(list) != 4 || l.Frozen() == nil {
			t.Errorf("%s: %d jobs, %v", spoil, len(list), err)
		}
		if notice = strings.ReplaceAll(notice, path, "PATH"); !strings.Contains(notice, says) || says == "" && notice != "" {
			t.Errorf("%s: %q", spoil, notice)
		}
		if l != nil {
			noerr.Want(t, l.Close())
		}
	}
}

func TestTheFilesAreTheOperatorsAlone(t *testing.T) {
	postgrestest.OnFile(t)
	if runtime.GOOS == "windows" {
		return // no modes there
	}
	path := sound(t)
	for _, p := range []string{path, logPath(path)} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
}

// The newest jobs are lost with the log, but their numbers are not reused.
func TestNumbersOutliveTheJobsThatHadThem(t *testing.T) {
	postgrestest.OnFile(t)
	path := sound(t)
	noerr.Must(t, noerr.From(raw(t, path).ExecContext(t.Context(), "DELETE FROM jobs WHERE n > 2; UPDATE job_sums SET job = 99 WHERE job = 1")))
	noerr.Must(t, os.Remove(logPath(path)))
	if _, err := raw(t, path).ExecContext(t.Context(), "DROP TABLE job_steps"); err != nil { // the damage
		t.Fatal(err)
	}
	l, notice, jobs := reopen(t, path)
	if len(jobs) != 2 || !strings.Contains(notice, "Carried over from it: 2 jobs.") {
		t.Errorf("%d jobs; told %q", len(jobs), notice)
	}
	settled(t, l)
}
