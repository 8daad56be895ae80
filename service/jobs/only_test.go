package jobs

import (
	"testing"

	"zonedeck/model"
)

func TestOnlyAJobWithoutADoubtIsFound(t *testing.T) {
	candidate := func(snapshot string, inputs int, against string) Candidate {
		return Candidate{RemoteJob: model.RemoteJob{Snapshot: snapshot}, Inputs: inputs, Against: against}
	}
	unseen := candidate("sd_1", 3, "it has 3 inputs and not 2")
	unseen.Unseen = true
	const cut = "not every job of that time could be looked at"
	for name, c := range map[string]struct {
		found      []Candidate
		want, says string
	}{
		"one that fits": {[]Candidate{candidate("sd_1", 2, ""), candidate("sd_2", 3, "it has 3 inputs and not 2")}, "sd_1", ""},
		"two that fit": {
			[]Candidate{candidate("sd_1", 2, ""), candidate("sd_2", 2, "")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; nothing against it), sd_2 (begun 0s after the POST; nothing against it)",
		},
		"one that fits beside one in doubt": {
			[]Candidate{candidate("sd_1", 2, "it can be job-2 as well"), candidate("sd_2", 2, "")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; it can be job-2 as well), sd_2 (begun 0s after the POST; nothing against it)",
		},
		"another that is not known": {[]Candidate{candidate("sd_1", 2, ""), candidate("sd_2", -1, "its number of inputs could not be asked for")}, "", "the number of inputs of sd_2 is not known"},
		"one that leaves a doubt": {
			[]Candidate{candidate("sd_1", 2, cut), candidate("sd_2", 3, "it has 3 inputs and not 2")},
			"",
			"sd_1 of the service's list has its 2 inputs, but " + cut,
		},
		"two that leave one": {
			[]Candidate{candidate("sd_1", 2, cut), candidate("sd_2", 2, "it can be job-2 as well")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; " + cut + "), sd_2 (begun 0s after the POST; it can be job-2 as well)",
		},
		"another beyond what was seen": {[]Candidate{unseen}, "", "no job that was seen in the service's list has its 2 inputs, and " + cut},
		"one of other inputs":          {[]Candidate{candidate("sd_1", 3, "it has 3 inputs and not 2")}, "", "no job of the service's list fits"},
		"none":                         {nil, "", "no job of the service's list fits"},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := Settlement{Job: model.Job{ID: "job-9", Inputs: 2}, Candidates: c.found}.Only()
			if c.says != "" && (err == nil || err.Error() != c.says) || c.says == "" && (err != nil || one.Snapshot != c.want) {
				t.Errorf("%+v, %v; want %q, %q", one, err, c.want, c.says)
			}
		})
	}
}
