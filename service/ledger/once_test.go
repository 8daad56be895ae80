package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// once begins a job of a profile under a name.
func once(t *testing.T, l *Ledger, profile, name string) error {
	t.Helper()
	_, err := l.Begin(t.Context(), model.Job{Profile: profile, Dataset: "gd_x", Request: &model.JobAsked{Discover: "all", Once: name}}, "d", nil, nil)
	return err
}

func TestANameIsForOneJobOfAProfile(t *testing.T) {
	for state, free := range map[model.JobState]bool{
		model.JobIntent: false, model.JobSending: false, model.JobMayHave: false, model.JobAccepted: false, model.JobFailed: false,
		model.JobExpired: false, model.JobRefused: true, model.JobNotSent: true,
	} {
		l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
		noerr.Must(t, once(t, l, "p", "nightly"))
		noerr.Must(t, noerr.From(l.Change(t.Context(), "job-1", func(job *model.Job) (string, error) {
			job.State = state
			return "", nil
		})))
		noerr.Must(t, errors.Join(once(t, l, "other", "nightly"), once(t, l, "p", "weekly"), once(t, l, "p", "")))
		named, err := l.Once(t.Context(), "p", "nightly")
		if free != errors.Is(err, database.ErrNotFound) || !free && (err != nil || named.ID != "job-1" || len(named.Steps) == 0) {
			t.Errorf("%s: the name's job is %+v, %v", state, named, err)
		}
		var same *SameError
		err = once(t, l, "p", "nightly")
		if free && err != nil || !free && (!errors.As(err, &same) || *same != SameError{"job-1", state, "nightly"}) {
			t.Errorf("%s: begun again: %v", state, err)
		}
	}
}

func TestOfManyUnderOneNameOneIsBegun(t *testing.T) {
	var mu sync.Mutex
	begun := 0
	twice(t, func(l *Ledger, _ int) {
		for range 10 {
			err := once(t, l, "p", "nightly")
			mu.Lock()
			if err == nil {
				begun++
			} else if !errors.As(err, new(*SameError)) {
				t.Error(err)
			}
			mu.Unlock()
		}
	})
	if begun != 1 {
		t.Errorf("%d jobs were begun", begun)
	}
}

// Whichever of the ledger and its log is lost, the name is in the other.
func TestANameOutlivesEitherFile(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _, err := Open(t.Context(), path, clock())
	noerr.Must(t, err)
	noerr.Must(t, once(t, l, "p", "nightly"))
	noerr.Must(t, noerr.From(l.Change(t.Context(), "job-1", acceptAs("sd_1")))) // which remembers the log
	for _, lost := range []string{path + ".log", path, path + ".log"} {
		noerr.Must(t, l.Close())
		noerr.Must(t, os.Remove(lost))
		l, _, err = Open(t.Context(), path, clock())
		noerr.Must(t, err)
		if job, err := l.Once(t.Context(), "p", "nightly"); err != nil || job.ID != "job-1" || job.Request.Discover != "all" {
			t.Errorf("without %q: %+v, %v", lost, job, err)
		}
	}
	defer func() { _ = l.Close() }()
	// A job whose name cannot be read may have any.
	spoiled(t, path, `UPDATE jobs SET asked = '{"once":'`)
	if err := once(t, l, "p", "weekly"); !errors.Is(err, database.ErrCorrupt) {
		t.Error(err)
	}
}
