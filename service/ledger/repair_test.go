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

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// spoiled runs a statement on a ledger that nobody has open.
func spoiled(t *testing.T, path string, statements ...string) {
	t.Helper()
	db := raw(t, path)
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	noerr.Must(t, db.Close())
}

func TestSalvageTakesWhatCanBeRead(t *testing.T) {
	postgrestest.OnFile(t)
	for name, c := range map[string]struct {
		spoil string
		fresh string // a statement that fails in the new ledger
		want  []string
	}{
		"nothing is wrong":          {"SELECT 1", "", []string{"job-1", "job-2", "job-3", "job-4"}},
		"rows at both ends are bad": {"UPDATE jobs SET n = -n WHERE n IN (1, 4)", "", []string{"job-2", "job-3"}},
		"a column is lost":          {"ALTER TABLE jobs DROP COLUMN wire", "", nil},
		"an earlier build wrote it": {unnamed, "", []string{"job-1", "job-2", "job-3", "job-4"}},
		"its steps are lost":        {"DROP TABLE job_steps", "", []string{"job-1", "job-2", "job-3", "job-4"}},
		"a row cannot be written":   {"SELECT 1", "INSERT ON jobs WHEN NEW.n = 2", []string{"job-1", "job-3", "job-4"}},
		"its mark cannot be set":    {"SELECT 1", "UPDATE ON marks", nil},
	} {
		kept := sound(t)
		spoiled(t, kept, c.spoil)
		l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
		end := func() {}
		if c.fresh != "" {
			end = sabotage(t, l, c.fresh)
		}
		l.salvage(t.Context(), kept)
		end()
		noerr.Must(t, noerr.From(l.reconcile(t.Context())))
		list, total, err := l.Jobs(t.Context(), 0)
		if err != nil || total != len(c.want) {
			t.Errorf("%s: %d jobs, %v", name, total, err)
			continue
		}
		for i, job := range list { // newest first
			if lost := name == "its steps are lost"; job.ID != c.want[len(list)-1-i] || job.Inputs == 0 || lost != (len(job.Steps) == 0) || !lost && job.Steps[0].Text != "written before sending" {
				t.Errorf("%s: %+v", name, job)
			}
		}
	}
}

func TestADamagedLedgerWithoutItsLogGoesOn(t *testing.T) {
	postgrestest.OnFile(t)
	for name, lose := range map[string]func(string) error{
		"deleted": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		path := sound(t)
		noerr.Must(t, lose(logPath(path)))
		spoiled(t, path, "DROP TABLE marks")
		l, notice, jobs := reopen(t, path)
		if len(jobs) != 4 || !strings.Contains(notice, ". Carried over from it: 4 jobs.") || !strings.Contains(notice, logPath(path)+" was cut or deleted") {
			t.Errorf("%s: %d jobs, %q", name, len(jobs), notice)
		}
		if entries, damaged, err := readLog(logPath(path)); err != nil || damaged != nil || len(entries) != 4 || entries[2].names.Snapshot != "sd_2" {
			t.Errorf("%s: the log holds %+v, damaged %v, %v", name, entries, damaged, err)
		}
		settled(t, l)
	}
}

func TestALedgerThatCannotBeComparedIsAnError(t *testing.T) {
	postgrestest.OnFile(t)
	blockedLog := func(t *testing.T, path string) {
		t.Helper()
		noerr.Must(t, errors.Join(os.Remove(logPath(path)), os.Mkdir(logPath(path), 0o700)))
	}
	onlyInLog := func(spoil string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			noerr.Must(t, appendLog(logPath(path), record{At: testTime, Job: 3, Event: accepted, Snapshot: "sd_3"}, record{Job: 9, Event: begun}))
			spoiled(t, path, "CREATE TRIGGER sabotage BEFORE "+spoil+" BEGIN SELECT RAISE(ABORT, 'no room'); END")
		}
	}
	for name, c := range map[string]struct {
		spoil func(*testing.T, string)
		says  string
	}{
		"the log is a folder":        {blockedLog, ".log"},
		"a job cannot be restored":   {onlyInLog("INSERT ON jobs"), "no room"},
		"a job cannot be taken over": {onlyInLog("UPDATE ON jobs"), "no room"},
		"a step cannot be written":   {onlyInLog("INSERT ON job_steps WHEN NEW.job = 3"), "no room"},
		"the mark cannot be written": {onlyInLog("UPDATE ON marks"), "no room"},
	} {
		path := sound(t)
		c.spoil(t, path)
		l, notice, err := Open(t.Context(), path, clock())
		if err == nil {
			_ = l.Close()
			t.Errorf("%s: opened, and told %q", name, notice)
			continue
		}
		if text := err.Error(); l != nil || notice != "" || !strings.HasPrefix(text, "comparing the ledger "+path+" with its log: ") || !strings.Contains(text, c.says) {
			t.Errorf("%s: %q, %v", name, notice, err)
		}
	}
}

func TestWhatTheLogAloneHasComesBackWhole(t *testing.T) {
	path := sound(t)
	noerr.Must(t, appendLog(logPath(path), record{At: testTime, Job: 3, Event: accepted, Snapshot: "sd_3"},
		record{At: testTime, Job: 8, Event: accepted, Snapshot: "sd_8"}))
	l, notice, jobs := reopen(t, path)
	if !strings.Contains(notice, ": 1 job. What happened since is unknown") || !strings.Contains(notice, ": 1 job identifier.") || strings.Contains(notice, "cut") {
		t.Errorf("told: %q", notice)
	}
	job := jobs["job-3"]
	if last := job.Steps[len(job.Steps)-1]; job.State != model.JobAccepted || !job.Accepted.Equal(testTime) || job.Detail != "" || job.Inputs != 3 ||
		last.Text != "snapshot sd_3, from the ledger's log" || last.State != model.JobAccepted || !last.At.Equal(job.Updated) {
		t.Errorf("%+v", job)
	}
	// Only the acceptance of this one is left.
	if job := jobs["job-8"]; job.State != model.JobAccepted || job.Snapshot != "sd_8" || !job.Created.Equal(testTime) || !job.Accepted.Equal(testTime) ||
		job.Done != -1 || job.Records != -1 || job.Detail != "" || !job.Updated.After(testTime) {
		t.Errorf("%+v", job)
	}
	if job, err := l.Begin(t.Context(), model.Job{}, "", nil, nil); err != nil || job.ID != "job-9" {
		t.Errorf("the next one: %+v, %v", job, err)
	}
}

func TestANumberIsNotGivenAgainAfterItsJobIsGone(t *testing.T) {
	path := sound(t)
	spoiled(t, path, "DELETE FROM job_steps WHERE job = 4", "DELETE FROM job_requests WHERE job = 4", "DELETE FROM jobs WHERE n = 4")
	noerr.Must(t, os.Remove(logPath(path)))
	l, _, jobs := reopen(t, path)
	if len(jobs) != 3 {
		t.Errorf("%d jobs", len(jobs))
	}
	settled(t, l)
}

func TestOnlyTheLinesThatTheLogLacksAreWritten(t *testing.T) {
	path := sound(t)
	before := noerr.Try(os.ReadFile(logPath(path))).Must(t)
	cut := bytes.Index(before, []byte(`{"at":"2026-11-21T12:00:10Z"`)) // the lines of job-3 and job-4
	noerr.Must(t, os.WriteFile(logPath(path), before[:cut], 0o600))
	reopen(t, path)
	if after, err := os.ReadFile(logPath(path)); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the log was\n%sand is\n%s%v", before, after, err)
	}
}

// longLog makes a log whose last line has neither an end nor a place.
func longLog(t *testing.T, path string) {
	t.Helper()
	line := strings.Repeat("x", 200_000)
	noerr.Must(t, os.WriteFile(path, []byte(`{"job":1,"event":"begun"}`+"\n"+line), 0o600))
}

func TestWhatALineOfTheLogMayBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db.log")
	for line, want := range map[string]int{
		`{"job":1,"event":"begun"}`:                            1,
		fmt.Sprintf(`{"job":%d,"event":"begun"}`, maxNumber):   1,
		fmt.Sprintf(`{"job":%d,"event":"begun"}`, maxNumber+1): 0,
		`{"job":0,"event":"begun"}`:                            0,
		`{"event":"begun"}`:                                    0,
		`{"job":1,"event":"accepted","snapshot":"s"}`:          1,
		`{"job":1,"event":"accepted"}`:                         0,
		`{"job":1,"event":"ready","snapshot":"s"}`:             0,
		`{"job":1,"event":"begun"`:                             0,
	} {
		noerr.Must(t, os.WriteFile(path, []byte(line+"\n"), 0o600))
		jobs, damaged, err := readLog(path)
		if err != nil || len(jobs) != want || len(damaged) != 1-want {
			t.Errorf("%.60s: %+v, damaged %v, %v", line, jobs, damaged, err)
		}
	}
	if jobs, damaged, err := readLog(path + "x"); err != nil || jobs != nil || damaged != nil {
		t.Errorf("no log: %+v, damaged %v, %v", jobs, damaged, err)
	}
	longLog(t, path)
	if jobs, damaged, err := readLog(path); err != nil || len(jobs) != 1 || len(damaged) != 1 {
		t.Errorf("a long line without an end: %+v, damaged %v, %v", jobs, damaged, err)
	}
}

func TestWhatAnotherProcessSettledIsPassedOver(t *testing.T) {
	postgrestest.OnFile(t)
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	for range 3 {
		noerr.Must(t, noerr.From(l.Begin(t.Context(), model.Job{}, "", nil, nil)))
	}
	l.releaseOwner()
	// The other process is a trigger. It acts after the list is read, before its second job is settled.
	spoiled(t, l.Path(), "CREATE TRIGGER quicker AFTER UPDATE ON jobs WHEN NEW.n = 1 BEGIN UPDATE jobs SET state = 'refused' WHERE n = 2; END")
	got, err := l.Recover(t.Context())
	if err != nil || len(got) != 2 || got[0].ID != "job-1" || got[1].ID != "job-3" {
		t.Errorf("settled %+v, %v", got, err)
	}
	if got[0].Detail != "the console ended before anything was sent" {
		t.Errorf("%q", got[0].Detail)
	}
	if job, err := l.Job(t.Context(), "job-2"); err != nil || job.State != model.JobRefused {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAJobInSendingIsSettledWithAReason(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	job := noerr.Try(l.Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
	stands(t, l, job.ID, model.JobSending)
	l.releaseOwner()
	noerr.Must(t, errors.Join(os.Remove(logPath(l.Path())), os.Mkdir(logPath(l.Path()), 0o700)))
	if got, err := l.Recover(t.Context()); got != nil || err == nil || !strings.HasPrefix(err.Error(), "settling what a dead process left behind: ") {
		t.Errorf("without its log: %+v, %v", got, err)
	}
	noerr.Must(t, os.Remove(logPath(l.Path())))
	got, err := l.Recover(t.Context())
	if err != nil || len(got) != 1 || got[0].State != model.JobMayHave ||
		got[0].Detail != "the console ended while the request was on its way; it is not sent again by itself" || got[0].Steps[2].Text != got[0].Detail {
		t.Errorf("%+v, %v", got, err)
	}
}

// owners returns the names of the signs of life next to a ledger.
func owners(t *testing.T, l *Ledger) (names []string) {
	t.Helper()
	entries := noerr.Try(os.ReadDir(l.ownersDir())).Must(t)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestASignOfLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, other := openTest(t, path), openTest(t, path)
	begin := func(l *Ledger) {
		t.Helper()
		noerr.Must(t, noerr.From(l.Begin(t.Context(), model.Job{}, "", nil, nil)))
	}
	begin(l)
	begin(l)
	if names := owners(t, l); len(names) != 1 || names[0] != l.owner.Name() {
		t.Fatalf("two jobs of one process: %q, %q", names, l.owner.Name())
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{l.ownersDir(): 0o700, filepath.Join(l.ownersDir(), l.owner.Name()): 0o600} {
			if at, err := os.Stat(path); err != nil || at.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", path, at.Mode(), err)
			}
		}
	}
	if other.ownerAlive("nobody", testTime) || !other.ownerAlive(l.owner.Name(), testTime) {
		t.Error("the living and nobody are mixed up")
	}
	if names := owners(t, l); len(names) != 1 {
		t.Errorf("looking left %q", names)
	}
	noerr.Must(t, os.Mkdir(filepath.Join(l.ownersDir(), "doubtful"), 0o700))
	if !other.ownerAlive("doubtful", testTime) {
		t.Error("in doubt a process is alive")
	}
	noerr.Must(t, os.Remove(filepath.Join(l.ownersDir(), "doubtful")))
	l.releaseOwner()
	if names := owners(t, l); len(names) != 0 {
		t.Errorf("given up, and there are %q", names)
	}
	begin(l)
	if names := owners(t, l); len(names) != 1 || !other.ownerAlive(names[0], testTime) {
		t.Errorf("a job after that: %q", names)
	}
	// A killed process leaves its file, which is removed when its jobs are settled.
	left := filepath.Join(l.ownersDir(), l.owner.Name())
	l.releaseOwner()
	noerr.Must(t, os.WriteFile(left, nil, 0o600))
	if got, err := other.Recover(t.Context()); err != nil || len(got) != 3 {
		t.Errorf("%d settled, %v", len(got), err)
	}
	if names := owners(t, l); len(names) != 0 {
		t.Errorf("settled, and there are %q", names)
	}
}

func TestAdoptingFailsWhole(t *testing.T) {
	postgrestest.OnFile(t)
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	for _, statement := range []string{"UPDATE ON marks", "INSERT ON jobs"} {
		end := sabotage(t, l, statement)
		if job, err := l.Adopt(t.Context(), model.Job{Snapshot: "sd_9"}); err == nil || !strings.HasPrefix(err.Error(), "adopting sd_9: ") || job.ID != "" {
			t.Errorf("%s: %+v, %v", statement, job, err)
		}
		end()
	}
	if list, _, err := l.Jobs(t.Context(), 0); err != nil || len(list) != 0 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
	spoiled(t, l.Path(), "ALTER TABLE jobs RENAME TO gone")
	if job, err := l.Adopt(t.Context(), model.Job{Snapshot: "sd_9"}); err == nil || !strings.HasPrefix(err.Error(), "adopting sd_9: ") || errors.Is(err, database.ErrNotFound) || job.ID != "" {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAnIntentThatAKilledProcessCouldNotLogIsNoSignOfACutLog(t *testing.T) {
	path := sound(t)
	before := noerr.Try(os.ReadFile(logPath(path))).Must(t)
	l, _, _ := reopen(t, path)
	job := noerr.Try(l.Begin(t.Context(), model.Job{Dataset: "gd_x"}, "", nil, nil)).Must(t)
	if err := errors.Join(l.Close(), os.WriteFile(logPath(path), before, 0o600)); err != nil { // as if it had been killed in between
		t.Fatal(err)
	}
	l, _, _ = reopen(t, path)
	noerr.Must(t, noerr.From(l.Recover(t.Context())))
	// Another size makes Open compare the two.
	noerr.Must(t, errors.Join(l.Close(), os.WriteFile(logPath(path), append(before, '\n'), 0o600)))
	_, notice, jobs := reopen(t, path)
	if notice != "" || jobs[job.ID].State != model.JobNotSent {
		t.Errorf("%q, %+v", notice, jobs[job.ID])
	}
}
