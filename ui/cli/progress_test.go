package cli

import (
	"strings"
	"testing"

	"zonedeck/model"
)

// TestAWordOfTheServiceIsShownAsItIs: an unknown word says only that the job still runs.
func TestAWordOfTheServiceIsShownAsItIs(t *testing.T) {
	job := model.Job{Snapshot: "sd_1", State: model.JobRunning, Done: 3, Inputs: 5, Records: -1}
	for wire, want := range map[string]string{
		"":                          "sd_1  running  3 of 5 inputs",
		"running":                   "sd_1  running  3 of 5 inputs",
		"validating\x1b[31m\nquota": "sd_1  running  3 of 5 inputs  (the service says validating␛[31m; quota)",
	} {
		var got strings.Builder
		job.Wire = wire
		(&app{Process: Process{Stderr: &got}}).say("%s", progressLine(job))
		if got.String() != want+"\n" {
			t.Errorf("%q: %q", wire, got.String())
		}
	}
}

// TestAJobThatIsOverHasNoWordOfTheService: the service's last word is out of date.
func TestAJobThatIsOverHasNoWordOfTheService(t *testing.T) {
	job := model.Job{Snapshot: "sd_1", Wire: "starting", Done: 0, Inputs: 1, Records: -1}
	for state, want := range map[model.JobState]string{
		model.JobRunning:  "sd_1  running  0 of 1 input  (the service says starting)",
		model.JobExpired:  "sd_1  expired  0 of 1 input",
		model.JobCanceled: "sd_1  cancelled  0 of 1 input",
	} {
		job.State = state
		if got := progressLine(job); got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
}
