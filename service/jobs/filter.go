package jobs

import (
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/query"
)

// Fields is what a list of jobs can be asked. now is the clock by which the jobs of a profile are dated: an emulator's
// may be days ahead.
func Fields(now func(profile string) time.Time) query.Fields[model.Job] {
	return query.Fields[model.Job]{
		query.SearchText(wordsOf),
		query.Enum("state", "failed", states(), func(j model.Job) []string {
			words := []string{string(j.State), j.State.Label()}
			if !j.State.Final() {
				words = append(words, stateOpen)
			}
			return words
		}),
		query.Text("dataset", "gd_products", func(j model.Job) string { return j.Dataset }),
		query.List("profile", "acme", func(j model.Job) []string { return []string{j.Profile} }),
		query.Since(func(j model.Job) time.Time { return j.Created }, func(j model.Job) time.Time { return now(j.Profile) }),
	}
}

// wordsOf is the text that the words of a filter are searched in.
func wordsOf(j model.Job) string {
	return strings.ToLower(strings.Join([]string{
		j.ID, j.Snapshot, j.Dataset, j.Profile, j.KeyName, string(j.State), j.Label(), j.Wire, j.Detail, j.File, j.Fault.Diagnosis.Summary,
	}, "\n"))
}

// stateOpen is every state that can still change.
const stateOpen = "open"

// states are the words for a state: as JSON spells it, and as the list shows it.
func states() []string {
	words := []string{stateOpen}
	for _, s := range model.JobStates() {
		if words = append(words, string(s)); s.Label() != string(s) {
			words = append(words, s.Label())
		}
	}
	return words
}
