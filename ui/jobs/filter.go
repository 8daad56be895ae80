package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/rehearsal"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// terms are the names that a filter knows, each with an example.
func terms() []string {
	return []string{"state:failed", "dataset:gd_products", "profile:acme", "since:2h"}
}

// parseFilter parses what is typed after "/": words that must all occur in a job, and the terms
// state:, dataset:, profile: and since: (see rehearsal.ParseSince). An address is a word.
func parseFilter(s string, now time.Time) (matches func(model.Job) bool, err error) {
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
			return nil, fmt.Errorf("%s: needs a value, as in %s", name, strings.Join(terms(), ", "))
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
			since, err := rehearsal.ParseSince(value, now)
			if err != nil {
				return nil, err
			}
			all = append(all, func(j model.Job) bool { return !j.Created.Before(since) })
		default:
			return nil, fmt.Errorf("unknown term %q: use words and %s", name, strings.Join(terms(), ", "))
		}
	}
	return func(j model.Job) bool {
		return !slices.ContainsFunc(all, func(match func(model.Job) bool) bool { return !match(j) })
	}, nil
}

// wordsOf is what the words of a filter are looked for in, in lower case.
func wordsOf(j model.Job) string {
	return strings.ToLower(strings.Join([]string{
		j.ID, j.Snapshot, j.Dataset, j.Profile, j.KeyName, string(j.State), j.Label(), j.Wire, j.Detail, j.File, j.Fault.Diagnosis.Summary,
	}, "\n"))
}

// stateMatch is a state as JSON spells it or as the list shows it, with "-" or "_" for a blank;
// its beginning is enough. open is each that still changes.
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

// filterMsg handles what is the filter's.
func (m *Model) filterMsg(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if m.preview.open {
		return nil, false
	}
	cmd, event := m.ledger.filter.Update(m.deps.Theme, msg, terms(), func(s string) error {
		_, err := parseFilter(s, m.deps.Now())
		return err
	})
	switch event {
	case widget.FilterOpened:
		m.panes.At = paneList
	case widget.FilterChanged:
		m.filtered()
	}
	return cmd, event != widget.FilterNothing
}

// filtered shows the jobs that match.
func (m *Model) filtered() {
	before, had := m.ledger.table.CursorKey()
	m.fill()
	m.ledger.table.Seen()
	if after, has := m.ledger.table.CursorKey(); !had || !has || before != after {
		m.ledger.table.SetCursor(0)
		m.detail = widget.Scroll{}
	}
}

// filterBindings are the filter's keys.
func (m *Model) filterBindings() []kit.Binding {
	return m.ledger.filter.Bindings("jobs", terms(), m.panes.At == paneList && !m.panes.Zoomed)
}
