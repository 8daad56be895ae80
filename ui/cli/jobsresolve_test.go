package cli

import (
	"testing"

	"zonedeck/model"
	"zonedeck/service/jobs"
)

func TestOnlyAJobWithoutADoubtIsFound(t *testing.T) {
	candidate := func(snapshot string, inputs int, against string) jobs.Candidate {
		return jobs.Candidate{RemoteJob: model.RemoteJob{Snapshot: snapshot}, Inputs: inputs, Against: against}
	}
	for name, c := range map[string]struct {
		found []jobs.Candidate
		want  string
	}{
		"one that fits":             {[]jobs.Candidate{candidate("sd_1", 2, ""), candidate("sd_2", 3, "it has 3 inputs and not 2")}, "sd_1"},
		"two that fit":              {[]jobs.Candidate{candidate("sd_1", 2, ""), candidate("sd_2", 2, "")}, ""},
		"another that is not known": {[]jobs.Candidate{candidate("sd_1", 2, ""), candidate("sd_2", -1, "its number of inputs could not be asked for")}, ""},
		"one that leaves a doubt":   {[]jobs.Candidate{candidate("sd_1", 2, "it can be job-2 as well")}, ""},
		"none":                      {},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := onlyFit(c.found)
			if (err == nil) != (c.want != "") || err == nil && one.Snapshot != c.want {
				t.Errorf("%+v, %v; want %q", one, err, c.want)
			}
		})
	}
}
