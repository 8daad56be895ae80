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
	unseen := candidate("sd_1", 3, "it has 3 inputs and not 2")
	unseen.Unseen = true
	const cut = "not every job of that time could be looked at"
	const adopt = "'zonedeck --profile second jobs resolve job-9 --adopt SNAPSHOT' takes the one that it is"
	for name, c := range map[string]struct {
		found      []jobs.Candidate
		want, says string
	}{
		"one that fits": {[]jobs.Candidate{candidate("sd_1", 2, ""), candidate("sd_2", 3, "it has 3 inputs and not 2")}, "sd_1", ""},
		"two that fit": {
			[]jobs.Candidate{candidate("sd_1", 2, ""), candidate("sd_2", 2, "")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; nothing against it), sd_2 (begun 0s after the POST; nothing against it); " + adopt,
		},
		"one that fits beside one in doubt": {
			[]jobs.Candidate{candidate("sd_1", 2, "it can be job-2 as well"), candidate("sd_2", 2, "")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; it can be job-2 as well), sd_2 (begun 0s after the POST; nothing against it); " + adopt,
		},
		"another that is not known": {[]jobs.Candidate{candidate("sd_1", 2, ""), candidate("sd_2", -1, "its number of inputs could not be asked for")}, "", "the number of inputs of sd_2 is not known; choose with --adopt"},
		"one that leaves a doubt": {
			[]jobs.Candidate{candidate("sd_1", 2, cut), candidate("sd_2", 3, "it has 3 inputs and not 2")},
			"",
			"sd_1 of the service's list has its 2 inputs, but " + cut + "; 'zonedeck --profile second jobs resolve job-9 --adopt sd_1' takes it",
		},
		"two that leave one": {
			[]jobs.Candidate{candidate("sd_1", 2, cut), candidate("sd_2", 2, "it can be job-2 as well")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; " + cut + "), sd_2 (begun 0s after the POST; it can be job-2 as well); " + adopt,
		},
		"another beyond what was seen": {[]jobs.Candidate{unseen}, "", "no job that was seen in the service's list has its 2 inputs, and " + cut},
		"one of other inputs":          {[]jobs.Candidate{candidate("sd_1", 3, "it has 3 inputs and not 2")}, "", "no job of the service's list fits; 'zonedeck jobs resolve job-9 --not-started' says that it did not start"},
		"none":                         {nil, "", "no job of the service's list fits; 'zonedeck jobs resolve job-9 --not-started' says that it did not start"},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := onlyFit(model.Job{ID: "job-9", Inputs: 2}, c.found, "zonedeck --profile second jobs")
			if c.says != "" && (err == nil || err.Error() != c.says) || c.says == "" && (err != nil || one.Snapshot != c.want) {
				t.Errorf("%+v, %v; want %q, %q", one, err, c.want, c.says)
			}
		})
	}
}
