package keys

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// filter hides the keys that do not match what is typed. The list follows every letter.
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
func terms() []string { return []string{"state:due", "level:admin", "duty:human", "profile:acme"} }

// words is a row as the filter sees it, in lower case.
type words struct {
	all, state, level, duty string
	profiles                []string // that it comes with, or that use it
	due                     bool
}

// wordsOf are those of a key whose cells are given.
func (m *Model) wordsOf(k model.Key, state string, due bool, cells ...string) words {
	w := words{state: state, level: strings.ToLower(k.Level.String()), duty: strings.ToLower(dutyCell(k.Duty)), due: due}
	for _, user := range slices.Concat(k.UsedBy, []string{"profile " + m.origin(k.Name)}) {
		if name, ok := strings.CutPrefix(user, "profile "); ok && name != "" {
			w.profiles = append(w.profiles, strings.ToLower(name))
		}
	}
	cells = append(append(cells, state, k.Name, w.level, w.duty), k.UsedBy...)
	w.all = strings.ToLower(strings.Join(cells, "\n"))
	return w
}

// parseFilter reads what is typed after "/": words that all occur in a row, and terms.
func parseFilter(s string) (matches func(w *words) bool, err error) {
	var all []func(w *words) bool
	for term := range strings.FieldsSeq(strings.ToLower(s)) {
		name, value, isTerm := strings.Cut(term, ":")
		var match func(w *words) bool
		switch {
		case !isTerm:
			match = func(w *words) bool { return strings.Contains(w.all, term) }
		case term == "state:due": // what every part of the screen counts as due
			match = func(w *words) bool { return w.due }
		case name == "state":
			match = func(w *words) bool { return strings.HasPrefix(w.state, value) }
		case name == "level":
			match = func(w *words) bool { return strings.HasPrefix(w.level, value) }
		case name == "duty":
			match = func(w *words) bool { return strings.HasPrefix(w.duty, value) }
		case name == "profile":
			match = func(w *words) bool { return slices.Contains(w.profiles, value) }
		default:
			return nil, fmt.Errorf("unknown term %q: use words and %s", name+":", strings.Join(terms(), ", "))
		}
		if isTerm && value == "" {
			return nil, fmt.Errorf("%s: needs a value, as in %s", name, strings.Join(terms(), ", "))
		}
		all = append(all, match)
	}
	return func(w *words) bool {
		for _, match := range all {
			if !match(w) {
				return false
			}
		}
		return true
	}, nil
}

// filterMsg handles the filter's intents and, while it is typed, keys and pastes.
func (m *Model) filterMsg(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	f := &m.list.filter
	switch msg.(type) {
	case openFilter:
		f.typing, f.before, f.problem, m.panes.At = true, f.text, "", paneList
		f.input = widget.NewInput(m.deps.Theme) // the theme may have changed
		f.input.Placeholder = "words " + strings.Join(terms(), " ")
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
		if !f.typing {
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

// setFilter shows the keys that match; what is no filter changes nothing but the line that says so.
func (m *Model) setFilter(s string) {
	if _, err := parseFilter(s); err != nil {
		m.list.filter.problem = err.Error()
		return
	}
	m.list.filter.text, m.list.filter.problem = s, ""
	before, had := m.list.table.CursorKey()
	m.showRows()
	if after, has := m.list.table.CursorKey(); !had || !has || before != after {
		m.list.table.SetCursor(0)
	}
	if m.side == sideDetail {
		m.text = widget.Scroll{}
	}
}

// showRows makes the table of the keys that the filter lets through.
func (m *Model) showRows() {
	l := &m.list
	l.shown = l.shown[:0:0] // rows that were made before are asked for once more
	matches, err := parseFilter(l.filter.text)
	for i := range l.keys {
		if err != nil || matches(&l.words[i]) {
			l.shown = append(l.shown, i)
		}
	}
	l.table.Empty = "no keys yet: a records one"
	if l.filter.text != "" {
		l.table.Empty = "nothing matches: esc shows all keys"
	}
	keys, shown := l.keys, l.shown // not changed later: the table asks for the name of the old cursor's row
	l.table.SetRowsKeyed(len(shown), func(i int) string { return keys[shown[i]].Name }, func(i int) []widget.Cell { return m.row(m.list.shown[i]) })
}

// filterBindings are the filter's keys.
func (m *Model) filterBindings() []kit.Binding {
	const group = "Filter"
	f := &m.list.filter
	if f.typing {
		return []kit.Binding{
			{Keys: []string{"enter"}, Label: "keep", Help: "Keep the filter, and go on in the list.", Group: group, Intent: keepFilter{}, WhileTyping: true},
			{Keys: []string{"esc"}, Label: "leave", Help: "Show what was shown before.", Group: group, Intent: leaveFilter{}, WhileTyping: true},
		}
	}
	out := []kit.Binding{{Keys: []string{"/"}, Label: "filter", Help: "Show only the keys that match: words, and " + strings.Join(terms(), ", ") + ".", Group: group, Intent: openFilter{}, Hidden: true}}
	if f.text != "" && !m.canGoBack() {
		out = append(out, kit.Binding{Keys: []string{"esc"}, Label: "show all", Help: "Show all keys again.", Group: group, Intent: clearFilter{}})
	}
	return out
}

// filterLine is the filter in one line of w cells; empty if there is none.
func (m *Model) filterLine(w int) string {
	f, t := &m.list.filter, m.deps.Theme
	if !f.typing && f.text == "" {
		return ""
	}
	tail := fmt.Sprintf("  %s of %s", text.Count(len(m.list.shown)), text.Count(len(m.list.keys)))
	ink := t.Muted
	switch {
	case f.problem != "":
		tail, ink = "  "+f.problem, t.Warn
	case len(m.list.shown) == 0:
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
