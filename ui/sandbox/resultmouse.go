package sandbox

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// clickResult opens the page, or takes the next step, whose name was drawn under the pointer.
func (m *Model) clickResult(hit kit.Hit) tea.Cmd {
	head := m.result.head
	if hit.Line < 0 || hit.Line >= len(head) {
		return nil
	}
	line := ansi.Strip(head[hit.Line])
	if hit.Line == len(head)-1 {
		for _, t := range m.result.pages() {
			if at := text.Width(before(line, " "+string(t)+" ")); strings.Contains(line, " "+string(t)+" ") && hit.Col >= at && hit.Col < at+text.Width(string(t))+2 {
				return m.result.open(t)
			}
		}
		return nil
	}
	steps := slices.IndexFunc(head, func(l string) bool { return strings.HasPrefix(ansi.Strip(l), " do next ") })
	if steps < 0 || hit.Line < steps { // what an answer says is not a step
		return nil
	}
	for _, b := range m.deps.Theme.Bound(m.Bindings()) {
		if _, step := b.Intent.(runStep); !step || b.Disabled != "" {
			continue
		}
		start := before(line, "["+kit.KeyName(b.Key())+"] ")
		if len(start) == len(line) || hit.Col < text.Width(start) {
			continue
		}
		rest := line[len(start):]
		if end, _, _ := strings.Cut(rest, "  "); hit.Col < text.Width(start)+text.Width(end) {
			return m.Update(b.Intent)
		}
	}
	return nil
}

// before is the part of a line before a word, the whole line without it.
func before(line, word string) string {
	start, _, _ := strings.Cut(line, word)
	return start
}
