package ledger

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database/postgrestest"
)

func TestInFlightAreTheJobsTheServiceMayWorkOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	states := []model.JobState{
		model.JobIntent, model.JobSending, model.JobMayHave, model.JobRefused, model.JobNotSent, model.JobAccepted,
		model.JobRunning, model.JobReady, model.JobFailed, model.JobCanceled,
	}
	for _, state := range states {
		changed(t, l, model.Job{State: state}, "")
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

func TestAtServiceAreTheJobsOfAProfileThatCanBeAskedFor(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	for _, j := range []model.Job{
		{Profile: "p", State: model.JobRunning, Snapshot: "sd_1"},
		{Profile: "other", State: model.JobRunning, Snapshot: "sd_2"},
		{Profile: "p", State: model.JobAccepted, Snapshot: "sd_3"},
		{Profile: "p", State: model.JobAccepted},
		{Profile: "p", State: model.JobSending},
		{Profile: "p", State: model.JobReady, Snapshot: "sd_4"},
	} {
		changed(t, l, j, "")
	}
	var got []string
	list, err := l.AtService(t.Context(), "p")
	for _, job := range list {
		got = append(got, job.Snapshot)
	}
	if want := []string{"sd_3", "sd_1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestMatchingJobsComeWithTheirSteps(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	for i := range jobsAtOnce + 3 {
		profile := "p"
		if i == 1 {
			profile = "other"
		}
		noerr.Must(t, noerr.From(l.Begin(t.Context(), model.Job{Profile: profile}, "", nil, nil)))
	}
	matches := func(j model.Job) bool { return j.Profile == "p" }
	for limit, want := range map[int]int{0: jobsAtOnce + 2, 2: 2} {
		list, match, total, err := l.Matching(t.Context(), matches, limit)
		if err != nil || len(list) != want || match != jobsAtOnce+2 || total != jobsAtOnce+3 {
			t.Fatalf("limit %d: %d jobs, %d match, %d in all, %v", limit, len(list), match, total, err)
		}
		without := func(j model.Job) bool { return len(j.Steps) != 1 }
		if slices.ContainsFunc(list, without) || list[0].ID != jobID(jobsAtOnce+3) {
			t.Errorf("limit %d: begins with %+v", limit, list[0])
		}
	}
}

// A job in flight may be older than thousands of others, whose steps must not be read.
func TestAJobInFlightIsReadWithItsOwnStepsAlone(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	job, err := l.Begin(t.Context(), model.Job{Profile: "p"}, "", nil, nil)
	if err == nil {
		_, err = l.Change(t.Context(), job.ID, acceptAs("sd_1"))
	}
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(raw(t, path).ExecContext(t.Context(), "INSERT INTO job_steps (job, seq, at, state, text) VALUES ('no number', 1, 1, '', '')")))
	list, err := l.AtService(t.Context(), "p")
	if err != nil || len(list) != 1 || len(list[0].Steps) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestOwingAreTheProfilesWithSomethingToFollow(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	now := testTime.Add(time.Hour)
	for _, j := range []model.Job{
		{Profile: "over", State: model.JobReady},
		{Profile: "waits", State: model.JobMayHave, WebhookDue: now.Add(time.Second)},
		{Profile: "not-waiting", State: model.JobMayHave},
		{Profile: "runs", State: model.JobRunning},
		{Profile: "due", State: model.JobMayHave, WebhookDue: now},
		{Profile: "accepted", State: model.JobAccepted},
		{Profile: "accepted", State: model.JobAccepted},
	} {
		changed(t, l, j, "")
	}
	got, err := l.Owing(t.Context(), now)
	if want := []string{"accepted", "due", "runs"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestALedgerByAnotherClockIsTheSame(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	at := testTime.Add(1000 * time.Hour)
	job, err := l.By(func() time.Time { return at }).Begin(t.Context(), model.Job{Profile: "p"}, "", nil, nil)
	if err != nil || !job.Created.Equal(at) {
		t.Fatalf("%+v, %v", job, err)
	}
	if got, err := l.Job(t.Context(), job.ID); err != nil || !got.Created.Equal(at) {
		t.Errorf("%+v, %v", got, err)
	}
}
