package keys

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/service/snippet"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// snippets opens the menu that copies the check of the keys for programs that run it at its time.
func (m *Model) snippets() tea.Cmd {
	o := snippet.Options{Within: "14d", Config: m.deps.Config}
	if m.deps.Uses != nil {
		o.Intervals = m.deps.Uses.Intervals()
	}
	kinds := snippet.Kinds()
	items := make([]widget.MenuItem, len(kinds))
	for i, k := range kinds {
		words, _ := snippet.Write(k.Name, o)
		items[i] = widget.CopyItem([]string{"c", "t", "a", "i"}[i], k.Title, words)
		items[i].Note = snippet.Command(k.Name, o)
	}
	return widget.OpenMenu(m.deps.Theme, "Copy the check of the keys for", kit.Keys, items)
}
