package keys

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
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

// filterMsg handles what is the filter's.
func (m *Model) filterMsg(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	cmd, event := m.list.filter.Update(m.deps.Theme, msg, terms(), func(s string) error {
		_, err := parseFilter(s)
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

// filtered shows the keys that match.
func (m *Model) filtered() {
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
	matches, err := parseFilter(l.filter.Text())
	for i := range l.keys {
		if err != nil || matches(&l.words[i]) {
			l.shown = append(l.shown, i)
		}
	}
	switch filtered := l.filter.Text() != ""; {
	case filtered && l.unread != nil:
		l.table.Empty = "nothing matches so far: " + l.unread.Error()
	case filtered:
		l.table.Empty = "nothing matches: esc shows all keys"
	case l.unread != nil:
		l.table.Empty = l.unread.Error()
	default:
		l.table.Empty = "no keys yet: a records one"
	}
	keys, shown := l.keys, l.shown // not changed later: the table asks for the name of the old cursor's row
	l.table.SetRowsKeyed(len(shown), func(i int) string { return keys[shown[i]].Name }, func(i int) []widget.Cell { return m.row(m.list.shown[i]) })
}

// filterBindings are the filter's keys.
func (m *Model) filterBindings() []kit.Binding {
	return m.list.filter.Bindings("keys", terms(), !m.canGoBack())
}
