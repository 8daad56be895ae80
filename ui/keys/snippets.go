package keys

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/service/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// snippets opens the menu that copies the check of the keys for programs that run it at its time.
func (m *Model) snippets() tea.Cmd {
	var items []widget.MenuItem
	for i, s := range m.deps.Uses.Snippets(keys.SnippetOptions{Within: "14d", Config: m.deps.Config}) {
		item := widget.CopyItem([]string{"c", "t", "a", "i"}[i], s.Title, s.Text)
		item.Note = s.Command
		items = append(items, item)
	}
	return widget.OpenMenu(m.deps.Theme, "Copy the check of the keys for", kit.Keys, items)
}
