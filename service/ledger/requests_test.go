package ledger

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
)

// beganWith begins a job with a request of that many bytes.
func beganWith(t *testing.T, l *Ledger, size int) string {
	t.Helper()
	job := noerr.Try(l.Begin(t.Context(), model.Job{Dataset: "gd_x", Request: &model.JobAsked{PerInput: size}}, "d", bytes.Repeat([]byte{'x'}, size), nil)).Must(t)
	return job.ID
}

func TestOnlyTheNewestRequestsAreKept(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	defer l.Close()
	l.keep = requests{jobs: 3, bytes: 100}
	kept := func(want ...string) {
		t.Helper()
		var got []string
		list, _, err := l.Jobs(t.Context(), 0)
		noerr.Must(t, err)
		for _, j := range list {
			switch _, err := l.Request(t.Context(), j.ID); {
			case err == nil:
				got = append(got, j.ID)
			case !errors.Is(err, database.ErrNotFound):
				t.Fatal(err)
			}
			if j.Request == nil {
				t.Errorf("what bounds %s is lost with its inputs", j.ID)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("those of %v are kept, want %v", got, want)
		}
	}
	for range 4 {
		beganWith(t, l, 10)
	}
	kept("job-4", "job-3", "job-2")
	beganWith(t, l, 85)
	kept("job-5", "job-4")
	beganWith(t, l, 500) // more than the limit for all, but it is the newest
	kept("job-6")
}

func TestWhatBoundsAJobIsReadAgain(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	defer l.Close()
	want := &model.JobAsked{Discover: "keyword", PerInput: 7, Total: 9}
	job, err := l.Begin(t.Context(), model.Job{Dataset: "gd_x", Request: want}, "d", nil, nil)
	noerr.Must(t, err)
	if job, err = l.Change(t.Context(), job.ID, func(*model.Job) (string, error) { return "", nil }); err != nil || !reflect.DeepEqual(job.Request, want) {
		t.Errorf("%+v, %v", job.Request, err)
	}
	if job, err = l.Job(t.Context(), job.ID); err != nil || !reflect.DeepEqual(job.Request, want) {
		t.Errorf("%+v, %v", job.Request, err)
	}
}

func TestWhatBegunJobsAskedForIsGivenWithEach(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	defer l.Close()
	for _, job := range []model.Job{{Profile: "p", Dataset: "gd_x"}, {Profile: "p", Dataset: "gd_y"}, {Profile: "q", Dataset: "gd_x"}, {Profile: "p", Dataset: "gd_x"}, {Profile: "p", Dataset: "gd_x"}} {
		noerr.Must(t, noerr.From(l.Begin(t.Context(), job, "d", []byte("asked"), nil)))
	}
	noerr.Must(t, noerr.From(l.Change(t.Context(), "job-4", func(j *model.Job) (string, error) { j.State = model.JobRefused; return "", nil })))
	noerr.Must(t, noerr.From(raw(t, path).ExecContext(t.Context(), "UPDATE jobs SET account = '{' WHERE n = 5")))
	begun := func(since time.Time) (got []string) {
		t.Helper()
		noerr.Must(t, l.EachBegun(t.Context(), "p", "gd_x", since, func(j model.Job, digest string, request []byte) {
			got = append(got, j.ID+" "+digest+" "+string(request))
		}))
		return got
	}
	first := noerr.Try(l.Job(t.Context(), "job-1")).Must(t)
	// The row of job-5 is damaged: it is included, without its request.
	if got, want := begun(first.Created), []string{"job-5  ", "job-1 d asked"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := begun(first.Created.Add(time.Hour)); len(got) != 0 {
		t.Errorf("an hour later: %q", got)
	}
}
