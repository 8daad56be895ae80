package jobs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// launchedWords are what SharedInputs says: the jobs with how many inputs each, and the unknown ones.
func launchedWords(t *testing.T, cl *Runner, r model.TriggerRequest) (words []string, left []model.JobInput) {
	t.Helper()
	got := noerr.Try(cl.SharedInputs(t.Context(), r, time.Hour)).Must(t)
	for _, s := range got.Overlaps {
		words = append(words, fmt.Sprintf("%s %d", s.Job.ID, s.Inputs))
	}
	for _, j := range got.Unknown {
		words = append(words, j.ID+" unknown")
	}
	return words, got.Unlaunched(r.Inputs)
}

func launchedAll(t *testing.T, cl *Runner, list ...model.TriggerRequest) {
	t.Helper()
	for _, r := range list {
		noerr.Must(t, noerr.From(cl.Trigger(t.Context(), r)))
	}
}

func TestNothingIsLeftOfAWholeListThatWasLaunched(t *testing.T) {
	cl := serving(t, text(200, `{"snapshot_id":"sd_1"}`))
	whole := trigger("http://lab.test/1", "http://lab.test/2", "http://lab.test/3")
	launchedAll(t, cl, trigger("http://lab.test/1"), whole)
	words, left := launchedWords(t, cl, whole)
	if want := []string{"job-2 3", "job-1 1"}; !slices.Equal(words, want) || len(left) != 0 {
		t.Errorf("%v, want %v; left %v", words, want, left)
	}
}

func TestEveryJobOfTheLastWhileIsComparedWithALaunch(t *testing.T) {
	t.Parallel()
	cl := serving(t, text(200, `{"snapshot_id":"sd_1"}`))
	for i := range 60 {
		launchedAll(t, cl, trigger(fmt.Sprintf("http://lab.test/%d", i)))
	}
	words, left := launchedWords(t, cl, trigger("http://lab.test/1", "http://lab.test/0", "http://lab.test/60"))
	if want := []string{"job-2 1", "job-1 1"}; !slices.Equal(words, want) || len(left) != 1 || left[0].URL != "http://lab.test/60" {
		t.Errorf("%v, want %v; left %v", words, want, left)
	}
}

func TestAJobWhoseInputsAreNotKeptMayHaveAny(t *testing.T) {
	cl := serving(t, text(200, `{"snapshot_id":"sd_1"}`))
	unkept, other, discovery := trigger("http://lab.test/1", "http://lab.test/2"), trigger("http://lab.test/9"), trigger("http://lab.test/7")
	unkept.Settings.Notify = "https://hooks.test/services/T0K3NxT0K3NxT0K3NxT0K3N"
	discovery.Settings = model.JobSettings{Discover: "keyword", Notify: unkept.Settings.Notify}
	launchedAll(t, cl, unkept, other, discovery)
	ask := trigger("http://lab.test/2", "http://lab.test/9")
	words, left := launchedWords(t, cl, ask)
	if want := []string{"job-2 1", "job-1 unknown"}; !slices.Equal(words, want) || len(left) != 1 {
		t.Errorf("%v, want %v; left %v", words, want, left)
	}
	// The digest of the whole says it all.
	if words, left = launchedWords(t, cl, trigger("http://lab.test/2", "http://lab.test/1")); !slices.Equal(words, []string{"job-1 2"}) || len(left) != 0 {
		t.Errorf("the whole: %v, left %v", words, left)
	}
}

func TestADamagedRequestIsOneOfUnknownInputs(t *testing.T) {
	cl := serving(t, text(200, `{"snapshot_id":"sd_1"}`))
	launchedAll(t, cl, trigger("http://lab.test/1", "http://lab.test/2"), trigger("http://lab.test/3"))
	kept := noerr.Try(cl.cfg.Ledger.Request(t.Context(), "job-1")).Must(t)
	noerr.Must(t, cl.cfg.Ledger.ReplaceRequest(t.Context(), "job-1", kept, kept[:len(kept)/2]))
	words, left := launchedWords(t, cl, trigger("http://lab.test/1", "http://lab.test/3"))
	if want := []string{"job-2 1", "job-1 unknown"}; !slices.Equal(words, want) || len(left) != 1 {
		t.Errorf("%v, want %v; left %v", words, want, left)
	}
}

func TestManyJobsOfUnknownInputsAreCounted(t *testing.T) {
	var l EarlierJobs
	for i := range 12 {
		l.Unknown = append(l.Unknown, model.Job{ID: fmt.Sprintf("job-%d", i), State: model.JobReady})
	}
	want := "job-0 (ready), job-1 (ready), job-2 (ready), job-3 (ready), job-4 (ready), job-5 (ready), job-6 (ready), job-7 (ready), job-8 (ready), job-9 (ready), 2 more"
	if got := l.UnknownNames(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
