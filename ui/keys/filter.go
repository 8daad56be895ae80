package keys

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/query"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// fields is what the list of keys can be asked.
func fields() query.Fields[*searchText] {
	return query.Fields[*searchText]{
		query.SearchText(func(w *searchText) string { return w.all }),
		query.Enum("state", "due", nil, func(w *searchText) []string {
			if w.due { // what every part of the screen counts as due
				return []string{w.state, "due"}
			}
			return []string{w.state}
		}),
		query.Enum("level", "admin", nil, func(w *searchText) []string { return []string{w.level} }),
		query.Enum("duty", "human", nil, func(w *searchText) []string { return []string{w.duty} }),
		query.List("profile", "acme", func(w *searchText) []string { return w.profiles }),
	}
}

// searchText is a row as the filter sees it, in lower case.
type searchText struct {
	all, state, level, duty string
	profiles                []string // that it comes with, or that use it
	due                     bool
}

// wordsOf are those of a key whose cells are given.
func (m *Model) wordsOf(k model.Key, state string, due bool, cells ...string) searchText {
	w := searchText{state: state, level: strings.ToLower(k.Level.String()), duty: strings.ToLower(dutyCell(k.Duty)), due: due}
	for _, user := range slices.Concat(k.UsedBy, []string{"profile " + m.origin(k.Name)}) {
		if name, ok := strings.CutPrefix(user, "profile "); ok && name != "" {
			w.profiles = append(w.profiles, strings.ToLower(name))
		}
	}
	cells = append(append(cells, state, k.Name, w.level, w.duty), k.UsedBy...)
	w.all = strings.ToLower(strings.Join(cells, "\n"))
	return w
}

// filter handles what is the filter's.
func (m *Model) filter(msg tea.Msg) tea.Cmd {
	cmd, event := m.list.filter.Update(m.deps.Theme, msg, fields().Examples(), func(s string) error {
		_, err := query.Parse(s, fields())
		return err
	})
	switch event {
	case widget.FilterOpened:
		m.panes.At = paneList
	case widget.FilterChanged:
		m.filtered()
	}
	return cmd
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
	l.visible = l.visible[:0:0] // rows that were made before are asked for once more
	filter, err := query.Parse(l.filter.Text(), fields())
	for i := range l.keys {
		if err != nil || filter.Match(&l.searchTexts[i]) {
			l.visible = append(l.visible, i)
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
	keys, shown := l.keys, l.visible // not changed later: the table asks for the name of the old cursor's row
	l.table.SetRowsKeyed(len(shown), func(i int) string { return keys[shown[i]].Name }, func(i int) []widget.Cell { return m.row(m.list.visible[i]) })
}

// filterBindings are the filter's keys.
func (m *Model) filterBindings() []kit.Binding {
	return m.list.filter.Bindings("keys", fields().Examples(), !m.canGoBack())
}
