package cli

import (
	"testing"

	"zonedeck/model"
)

// TestAWordOfTheServiceIsShownAsItIs: one that is not known says only that the job still runs.
func TestAWordOfTheServiceIsShownAsItIs(t *testing.T) {
	job := model.Job{Snapshot: "sd_1", State: model.JobRunning, Done: 3, Inputs: 5, Records: -1}
	for wire, want := range map[string]string{
		"":                           "sd_1  running  3 of 5 inputs",
		"running":                    "sd_1  running  3 of 5 inputs",
		"validating\x1b[31m quota\n": "sd_1  running  3 of 5 inputs  (the service says validating␛[31m quota␊)",
	} {
		job.Wire = wire
		if got := progressLine(job); got != want {
			t.Errorf("%q: %q", wire, got)
		}
	}
}
