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

// listRows are the keys as the list shows them, by their places among the derived.
type listRows struct{ m *Model }

func (r listRows) Key(i int) string { return r.m.list.keys[i].Name }

func (r listRows) Cells(i int) []widget.Cell {
	_, cells := r.m.columns(r.m.list.keys[i])
	return cells
}

func (r listRows) Empty(filtered bool) string {
	switch unread := r.m.list.unread; {
	case filtered && unread != nil:
		return "nothing matches so far: " + unread.Error()
	case filtered:
		return "nothing matches: esc shows all keys"
	case unread != nil:
		return unread.Error()
	default:
		return "no keys yet: " + r.m.deps.Theme.Key("keys.add") + " records one"
	}
}

// Fields is what keys can be asked.
func (r listRows) Fields() query.Fields[int] {
	words := func(i int) *searchText { return &r.m.list.searchTexts[i] }
	return query.Fields[int]{
		query.SearchText(func(i int) string { return words(i).all }),
		query.Enum("state", "due", nil, func(i int) []string {
			if words(i).due { // what every part of the screen counts as due
				return []string{words(i).state, "due"}
			}
			return []string{words(i).state}
		}),
		query.Enum("level", "admin", nil, func(i int) []string { return []string{words(i).level} }),
		query.Enum("duty", "human", nil, func(i int) []string { return []string{words(i).duty} }),
		query.List("profile", "acme", func(i int) []string { return words(i).profiles }),
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
	cmd, event := m.list.page.UpdateFilter(m.deps.Theme, msg)
	switch {
	case event == widget.FilterOpened:
		m.panes.At = paneList
	case event == widget.FilterChanged && m.side == sideDetail:
		m.text = widget.Scroll{}
	}
	return cmd
}

// filterBindings are the filter's keys.
func (m *Model) filterBindings() []kit.Binding { return m.list.page.FilterBindings(!m.canGoBack()) }
