package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/rehearsal"
)

// FilterTerms are the names that a filter knows, each with an example.
func FilterTerms() []string {
	return []string{"state:failed", "dataset:gd_products", "profile:acme", "since:2h"}
}

// ParseFilter parses what an operator types to narrow a list of jobs: words that must all occur in a job, and the terms
// state:, dataset:, profile: and since: (see rehearsal.ParseSince). An address counts as a word. now is the clock by
// which the jobs of a profile are dated: an emulator's may be days ahead.
func ParseFilter(s string, now func(profile string) time.Time) (matches func(model.Job) bool, err error) {
	var all []func(model.Job) bool
	for term := range strings.FieldsSeq(s) {
		name, value, isTerm := strings.Cut(term, ":")
		low := strings.ToLower(value)
		switch {
		case !isTerm || strings.HasPrefix(value, "//"):
			word := strings.ToLower(term)
			all = append(all, func(j model.Job) bool { return strings.Contains(wordsOf(j), word) })
			continue
		case value == "":
			return nil, fmt.Errorf("%s: needs a value, as in %s", name, strings.Join(FilterTerms(), ", "))
		}
		switch name {
		case "state":
			match, err := stateMatch(low)
			if err != nil {
				return nil, err
			}
			all = append(all, match)
		case "dataset":
			all = append(all, func(j model.Job) bool { return strings.HasPrefix(strings.ToLower(j.Dataset), low) })
		case "profile":
			all = append(all, func(j model.Job) bool { return strings.EqualFold(j.Profile, value) })
		case "since":
			if _, err := rehearsal.ParseSince(value, now("")); err != nil {
				return nil, err
			}
			all = append(all, func(j model.Job) bool {
				since, err := rehearsal.ParseSince(value, now(j.Profile))
				return err == nil && !j.Created.Before(since)
			})
		default:
			return nil, fmt.Errorf("unknown term %q: use words and %s", name, strings.Join(FilterTerms(), ", "))
		}
	}
	return func(j model.Job) bool {
		return !slices.ContainsFunc(all, func(match func(model.Job) bool) bool { return !match(j) })
	}, nil
}

// wordsOf is the text, in lower case, that the words of a filter are searched in.
func wordsOf(j model.Job) string {
	return strings.ToLower(strings.Join([]string{
		j.ID, j.Snapshot, j.Dataset, j.Profile, j.KeyName, string(j.State), j.Label(), j.Wire, j.Detail, j.File, j.Fault.Diagnosis.Summary,
	}, "\n"))
}

// stateMatch matches a state as JSON spells it or as the list shows it, with "-" or "_" for a space;
// its beginning is enough. open matches every state that can still change.
func stateMatch(value string) (func(model.Job) bool, error) {
	if value == "open" {
		return func(j model.Job) bool { return !j.State.Final() }, nil
	}
	plain := strings.NewReplacer("-", "_", " ", "_")
	value = plain.Replace(value)
	begins := func(s model.JobState) bool {
		return strings.HasPrefix(string(s), value) || strings.HasPrefix(plain.Replace(s.Label()), value)
	}
	if !slices.ContainsFunc(model.JobStates(), begins) {
		return nil, fmt.Errorf("state %q is not open or one of %s", value, joined(model.JobStates()))
	}
	return func(j model.Job) bool { return begins(j.State) }, nil
}

func joined(states []model.JobState) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
