package ledger

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zonedeck/model"
)

func TestInFlightAreTheJobsTheServiceMayWorkOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	states := []model.JobState{
		model.JobIntent, model.JobSending, model.JobMayHave, model.JobRefused, model.JobNotSent, model.JobAccepted,
		model.JobRunning, model.JobReady, model.JobFailed, model.JobCanceled,
	}
	for _, state := range states {
		job, err := l.Begin(t.Context(), model.Job{}, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.State = state
			return "", nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	var got []model.JobState
	list, err := l.InFlight(t.Context())
	for _, job := range list {
		got = append(got, job.State)
	}
	if want := []model.JobState{model.JobRunning, model.JobAccepted, model.JobSending, model.JobIntent}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestOwingAreTheProfilesWithSomethingToFollow(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	now := testTime.Add(time.Hour)
	for _, j := range []model.Job{
		{Profile: "over", State: model.JobReady},
		{Profile: "waits", State: model.JobMayHave, HookDue: now.Add(time.Second)},
		{Profile: "not-waiting", State: model.JobMayHave},
		{Profile: "runs", State: model.JobRunning},
		{Profile: "due", State: model.JobMayHave, HookDue: now},
		{Profile: "accepted", State: model.JobAccepted},
		{Profile: "accepted", State: model.JobAccepted},
	} {
		job, err := l.Begin(t.Context(), j, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Change(t.Context(), job.ID, func(row *model.Job) (string, error) {
			row.State, row.HookDue = j.State, j.HookDue
			return "", nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Owing(t.Context(), now)
	if want := []string{"accepted", "due", "runs"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestALedgerByAnotherClockIsTheSame(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	at := testTime.Add(1000 * time.Hour)
	job, err := l.By(func() time.Time { return at }).Begin(t.Context(), model.Job{Profile: "p"}, "", nil)
	if err != nil || !job.Created.Equal(at) {
		t.Fatalf("%+v, %v", job, err)
	}
	if got, err := l.Job(t.Context(), job.ID); err != nil || !got.Created.Equal(at) {
		t.Errorf("%+v, %v", got, err)
	}
}
