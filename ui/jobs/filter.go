package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/rehearsal"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// filter hides the jobs that do not match what is typed. The list follows every letter.
type filter struct {
	input   textinput.Model
	typing  bool
	text    string // what the list shows
	before  string // what it showed before the typing began
	problem string // why what is typed is no filter; the list stays
}

// Intents of the filter.
type (
	openFilter  struct{}
	keepFilter  struct{}
	leaveFilter struct{} // back to what was shown before
	clearFilter struct{}
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
		j.ID, j.Snapshot, j.Dataset, j.Profile, j.KeyName, string(j.State), j.State.Label(), j.Wire, j.Detail, j.File, j.Fault.Diagnosis.Summary,
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

// filterMsg handles the filter's intents and, while it is typed, keys and pastes.
func (m *Model) filterMsg(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	f := &m.ledger.filter
	switch msg.(type) {
	case openFilter:
		f.typing, f.before, f.problem, m.panes.At = true, f.text, "", paneList
		f.input = widget.NewInput(m.deps.Theme) // the theme may have changed
		f.input.Placeholder = "words " + strings.Join(terms(), " ")
		f.input.SetWidth(30) // until it is drawn
		f.input.SetValue(f.text)
		f.input.CursorEnd()
		return f.input.Focus(), true
	case keepFilter:
		f.typing, f.problem = false, ""
		f.input.Blur()
		return nil, true
	case leaveFilter, clearFilter:
		if _, leave := msg.(leaveFilter); !leave {
			f.before = ""
		}
		f.typing = false
		f.input.Blur()
		m.setFilter(f.before)
		return nil, true
	case tea.KeyPressMsg, tea.PasteMsg:
		if !f.typing || m.preview.open {
			return nil, false
		}
		cmd = widget.UpdateInput(&f.input, msg)
		if typed := strings.TrimSpace(f.input.Value()); typed != f.text || f.problem != "" {
			m.setFilter(typed)
		}
		return cmd, true
	}
	return nil, false
}

// setFilter shows the jobs that match; what is no filter changes nothing but the line that says so.
func (m *Model) setFilter(s string) {
	if _, err := parseFilter(s, m.deps.Now()); err != nil {
		m.ledger.filter.problem = err.Error()
		return
	}
	m.ledger.filter.text, m.ledger.filter.problem = s, ""
	before, had := m.ledger.table.CursorKey()
	m.fill()
	if after, has := m.ledger.table.CursorKey(); !had || !has || before != after {
		m.ledger.table.SetCursor(0)
		m.detail = widget.Scroll{}
	}
}

// filterBindings are the filter's keys.
func (m *Model) filterBindings() []kit.Binding {
	const group = "Filter"
	f := &m.ledger.filter
	if f.typing {
		return []kit.Binding{
			{Keys: []string{"enter"}, Label: "keep", Help: "Keep the filter, and go on in the list.", Group: group, Intent: keepFilter{}, WhileTyping: true},
			{Keys: []string{"esc"}, Label: "leave", Help: "Show what was shown before.", Group: group, Intent: leaveFilter{}, WhileTyping: true},
		}
	}
	out := []kit.Binding{{Keys: []string{"/"}, Label: "filter", Help: "Show only the jobs that match: words, and " + strings.Join(terms(), ", ") + ".", Group: group, Intent: openFilter{}, Hidden: true}}
	if f.text != "" && m.panes.At == paneList && !m.panes.Zoomed {
		out = append(out, kit.Binding{Keys: []string{"esc"}, Label: "show all", Help: "Show all jobs again.", Group: group, Intent: clearFilter{}})
	}
	return out
}

// filterLine is the filter in one line of w cells; empty if there is none.
func (m *Model) filterLine(w int) string {
	f, t := &m.ledger.filter, m.deps.Theme
	if !f.typing && f.text == "" {
		return ""
	}
	tail := fmt.Sprintf("  %s of %s", text.Count(len(m.ledger.shown)), text.Count(len(m.ledger.jobs)))
	ink := t.Muted
	switch {
	case f.problem != "":
		tail, ink = "  "+f.problem, t.Warn
	case len(m.ledger.shown) == 0:
		ink = t.Warn
	case !f.typing:
		tail += " · esc shows all"
	}
	head := t.KeyHint.Render(" / ")
	if !f.typing {
		room := max(w-3-text.Width(tail), 8)
		return text.Cut(head+text.Cut(text.Clean(f.text), room)+ink.Render(tail), w)
	}
	f.input.SetWidth(max(min(w/2, w-4-text.Width(tail)), 16))
	return text.Cut(head+strings.TrimRight(f.input.View(), " ")+ink.Render(text.Clean(tail)), w)
}
