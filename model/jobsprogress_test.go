package model

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestProgressOfJobsGoesOnWhenOneEnds(t *testing.T) {
	var p JobsProgress
	job := func(id string, inputs, done int, s JobState) Job {
		return Job{ID: id, Inputs: inputs, Done: done, State: s}
	}
	var got []int
	for _, s := range []struct {
		j  Job
		on bool
	}{
		{job("a", 10, -1, JobAccepted), true},   // nothing is said yet
		{job("b", 30, -1, JobAccepted), true},   //
		{job("a", 10, 5, JobRunning), true},     // 5 of 40
		{job("b", 30, 3, JobRunning), true},     // 8 of 40
		{job("c", 100, 0, JobRunning), true},    // of the next set
		{job("a", 10, 10, JobReady), false},     // 13 of 40
		{job("b", 30, 1, JobRunning), true},     // the service counts down: what was reached stays
		{job("z", 9, 1, JobFailed), false},      // over before it was seen
		{job("c", 100, 20, JobRunning), true},   //
		{job("b", 30, -1, JobCanceled), false},  // the set is over: c alone
		{job("c", 100, 30, JobRunning), true},   //
		{job("c", 100, 30, JobRunning), false},  // nobody asks about it any more
		{job("d", 0, -1, JobRunning), true},     // nobody knows its inputs
		{job("d", 0, -1, JobDownloaded), false}, //
	} {
		p.Update(s.j, s.on)
		n := p.Percent()
		if !p.Any() {
			n = -2
		}
		got = append(got, n)
	}
	if want := []int{-1, -1, 12, 20, 20, 32, 32, 32, 32, 20, 30, -2, -1, -2}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestProgressOfASetOfJobsNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p JobsProgress
		states := []JobState{JobAccepted, JobRunning, JobReady, JobFailed}
		for id, inputs := range map[string]int{"a": 1, "b": 50, "c": 1000} {
			p.Update(Job{ID: id, Inputs: inputs, Done: -1, State: JobAccepted}, true)
		}
		last, ended := -1, map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "job")
			if ended[id] {
				continue
			}
			j := Job{ID: id, Inputs: map[string]int{"a": 1, "b": 50, "c": 1000}[id], Done: rapid.IntRange(-1, 1200).Draw(t, "done"), State: rapid.SampledFrom(states).Draw(t, "state")}
			p.Update(j, !j.State.Final())
			if ended[id] = j.State.Final(); !p.Any() {
				return
			}
			if n := p.Percent(); n < last || n > 100 {
				t.Fatalf("%d after %d", n, last)
			} else {
				last = n
			}
		}
	})
}
