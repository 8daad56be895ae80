package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database/postgrestest"
)

// machines opens the ledger of one server on machines of these names, each with files of its own.
func machines(t *testing.T, dir string, names ...string) (all []*Ledger) {
	t.Helper()
	s := postgrestest.Server(t, dir)
	for _, name := range names {
		l, notice, err := OpenServer(t.Context(), s, filepath.Join(dir, name, "ledger"), name, clock())
		noerr.Must(t, errors.Join(err, os.MkdirAll(filepath.Join(dir, name), 0o700)))
		if notice != "" {
			t.Errorf("%s: %s", name, notice)
		}
		t.Cleanup(func() { noerr.Want(t, l.Close()) })
		all = append(all, l)
	}
	return all
}

func TestMachinesOfOneServerSeeEachOthersJobsAndWhoHasTheFile(t *testing.T) {
	l := machines(t, t.TempDir(), "a", "b")
	a, b := l[0], l[1]
	job := noerr.Try(a.Begin(t.Context(), model.Job{Profile: "acme"}, "", nil, nil)).Must(t)
	stands(t, a, job.ID, model.JobSending)
	noerr.Must(t, a.Accepted(job.ID, model.JobNames{Snapshot: "sd_1"}))
	noerr.Must(t, noerr.From(a.Change(t.Context(), job.ID, acceptAs("sd_1"))))
	download := func(l *Ledger, file string) {
		t.Helper()
		noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.State, job.File, job.Rows = model.JobDownloaded, file, model.JobRows{Counted: true, FieldsDue: true}
			return "", nil
		})))
	}
	at := func(l *Ledger) (machine string, due int) {
		t.Helper()
		job := noerr.Try(l.Job(t.Context(), job.ID)).Must(t)
		all, _, err := l.Jobs(t.Context(), 0)
		noerr.Must(t, err)
		if len(all) != 1 || all[0].Rows.Machine != job.Rows.Machine {
			t.Errorf("listed %+v, shown %+v", all, job)
		}
		return job.Rows.Machine, len(noerr.Try(l.FieldsDue(t.Context(), "acme")).Must(t))
	}
	download(a, "/a/rows.json")
	stands(t, b, job.ID, model.JobDownloaded) // a change elsewhere leaves it there
	if machine, due := at(a); machine != "" || due != 1 {
		t.Errorf("a: on %q, %d due", machine, due)
	}
	if machine, due := at(b); machine != "a" || due != 0 {
		t.Errorf("b: on %q, %d due", machine, due)
	}
	download(b, "/a/rows.json")
	if machine, _ := at(a); machine != "b" {
		t.Errorf("a, after b has downloaded it: on %q", machine)
	}
	if _, err := os.Stat(logPath(b.Path())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("b's log: %v", err)
	}
}

func TestOnlyItsMachineSeesThatAProcessDied(t *testing.T) {
	dir := t.TempDir()
	l := machines(t, dir, "a", "b")
	a, b := l[0], l[1]
	job := noerr.Try(a.Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
	stands(t, a, job.ID, model.JobSending)
	if settled, err := b.Recover(t.Context()); err != nil || len(settled) != 0 {
		t.Errorf("b settles at once %+v, %v", settled, err)
	}
	a.releaseOwner() // it dies
	later := b.By(func() time.Time { return testTime.Add(abroad + time.Minute) })
	if settled, err := later.Recover(t.Context()); err != nil || len(settled) != 1 || settled[0].State != model.JobMayHave {
		t.Errorf("b settles later %+v, %v", settled, err)
	}
	second := noerr.Try(a.Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
	a.releaseOwner()
	if settled, err := machines(t, dir, "a")[0].Recover(t.Context()); err != nil || len(settled) != 1 || settled[0].ID != second.ID || settled[0].State != model.JobNotSent {
		t.Errorf("a settles %+v, %v", settled, err)
	}
}

func TestTheLogOfAMachineGivesAServerBackWhatItLost(t *testing.T) {
	dir := t.TempDir()
	l := machines(t, dir, "a", "b")
	unwritten := noerr.Try(l[0].Begin(t.Context(), model.Job{Profile: "acme"}, "", nil, nil)).Must(t)
	stands(t, l[0], unwritten.ID, model.JobSending)
	noerr.Must(t, l[0].Accepted(unwritten.ID, model.JobNames{Snapshot: "sd_1"})) // then the server is gone
	gone := noerr.Try(l[0].Begin(t.Context(), model.Job{Profile: "acme"}, "", nil, nil)).Must(t)
	stands(t, l[0], gone.ID, model.JobSending)
	noerr.Must(t, l[0].Accepted(gone.ID, model.JobNames{Snapshot: "sd_2"}))
	l[0].releaseOwner()
	other := noerr.Try(l[1].Begin(t.Context(), model.Job{}, "", nil, nil)).Must(t)
	server := postgrestest.Raw(t, dir)
	for _, table := range []string{"job_steps WHERE job", "jobs WHERE n"} {
		noerr.Must(t, noerr.From(server.ExecContext(t.Context(), "DELETE FROM "+table+" = 2")))
	}
	path := l[0].Path()
	a, notice, err := OpenServer(t.Context(), postgrestest.Server(t, dir), path, "a", clock())
	noerr.Must(t, err)
	want := "Restored from the log of the ledger " + path + ": 1 job. What happened since is unknown: ask the service with 'zonedeck jobs watch'. " +
		"Restored from the log of the ledger " + path + ": 1 job identifier."
	if notice != want {
		t.Errorf("it says %q", notice)
	}
	for id, state := range map[string]model.JobState{unwritten.ID: model.JobAccepted, gone.ID: model.JobAccepted, other.ID: model.JobIntent} {
		if job, err := a.Job(t.Context(), id); err != nil || job.State != state {
			t.Errorf("%s: %+v, %v", id, job, err)
		}
	}
}

func TestTheTablesOfAnEarlierVersionAreChangedAndThoseOfALaterOneRefused(t *testing.T) {
	dir := t.TempDir()
	job := noerr.Try(machines(t, dir, "a")[0].Begin(t.Context(), model.Job{Profile: "acme"}, "", nil, nil)).Must(t)
	server := postgrestest.Raw(t, dir)
	exec := func(statement string) {
		t.Helper()
		noerr.Must(t, noerr.From(server.ExecContext(t.Context(), statement)))
	}
	exec("ALTER TABLE jobs DROP COLUMN job_id, DROP COLUMN snapshot_id; UPDATE zonedeck_schema SET version = 2 WHERE room = 'ledger'")
	for _, l := range machines(t, dir, "a", "b") {
		if got, err := l.Job(t.Context(), job.ID); err != nil || got.Profile != "acme" || got.State != model.JobIntent {
			t.Errorf("%+v, %v", got, err)
		}
	}
	exec("UPDATE zonedeck_schema SET version = 9 WHERE room = 'ledger'")
	s := postgrestest.Server(t, dir)
	_, _, err := OpenServer(t.Context(), s, filepath.Join(dir, "c", "ledger"), "c", clock())
	if want := "opening the database " + s.String() + ": the ledger tables have schema 9, and this program knows up to 3: use a later version"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
