package widget

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// ConfirmSpec is the question before an action that costs money or destroys something.
// Body names the object and what happens to it.
type ConfirmSpec struct {
	Title string
	Body  string
	// Counted stands before Body, of what goes on changing while the question is open; nil for nothing.
	Counted func() string
	// Yes is the label for going ahead ("cancel the job"): "y" does it; "n", esc and
	// enter do not.
	Yes string
	// View receives Intent if the operator agrees; empty means the root.
	View   kit.ViewID
	Intent tea.Msg
}

// Confirm opens the question.
func Confirm(t *kit.Theme, spec ConfirmSpec) tea.Cmd {
	return kit.OpenOverlay(NewConfirm(t, spec))
}

// NewConfirm makes the question without opening it.
func NewConfirm(t *kit.Theme, spec ConfirmSpec) kit.Overlay { return &confirm{theme: t, spec: spec} }

type confirm struct {
	theme *kit.Theme
	spec  ConfirmSpec
}

type confirmYes struct{}

func (c *confirm) Init() tea.Cmd { return nil }

func (c *confirm) Title() string { return c.spec.Title }

// Guarded ignores keys for a moment: a question may appear unexpectedly.
func (c *confirm) Guarded(string) bool { return true }

func (c *confirm) Size(w, _ int) (int, int) {
	ow := min(64, w-6)
	return ow, len(c.body(ow)) + 3
}

func (c *confirm) body(w int) []string {
	words := c.spec.Body
	if c.spec.Counted != nil {
		words = c.spec.Counted() + words
	}
	return Wrapped(kit.Ink{}, words, w-2)
}

func (c *confirm) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(confirmYes); !ok {
		return nil
	}
	intent := c.spec.Intent
	if c.spec.View != "" {
		intent = kit.Addressed{View: c.spec.View, Msg: intent}
	}
	return tea.Sequence(kit.CloseOverlay(c), kit.Send(intent))
}

func (c *confirm) Bindings() []kit.Binding {
	return []kit.Binding{
		{Name: "question.yes", Keys: []string{"y"}, Label: c.spec.Yes, Help: "Do it.", Intent: confirmYes{}, Dangerous: true},
		{Name: "question.no", Keys: []string{"n", "esc", "enter"}, Label: "no", Help: "Do nothing.", Intent: kit.Close{}},
	}
}

func (c *confirm) Render(w, h int) string {
	lines, keys := append([]string{""}, Indent(c.body(w))...), c.theme.Bound(c.Bindings())
	lines = append(lines, "", " "+c.theme.KeyHint.Render(kit.KeyName(keys[0].Key()))+" "+c.theme.Bad.Render(keys[0].Label)+
		c.theme.Muted.Render("   ·   ")+c.theme.KeyHint.Render(kit.KeyName(keys[1].Key()))+" "+keys[1].Label)
	return Block(strings.Join(lines, "\n"), w, h)
}

// MenuItem is one line of a Menu.
type MenuItem struct {
	// Key picks it; empty means with the cursor only. A motion key moves instead.
	Key   string
	Label string
	Note  string
	// Intent is sent to the menu's view, a kit.Copy to the root; Disabled says why it
	// cannot be picked.
	Intent   tea.Msg
	Disabled string
}

// CopyItem is the line of a menu that copies a text; what names it. An empty text cannot
// be copied.
func CopyItem(key, what, words string) MenuItem {
	it := MenuItem{Key: key, Label: what, Note: text.Cut(text.Clean(words), 40), Intent: kit.Copy{Label: what, Text: words}}
	if words == "" {
		it.Disabled = "there is none"
	}
	return it
}

// OpenMenu opens a short list of choices (a copy menu, a list of exports). The picked
// item's intent is sent to view.
func OpenMenu(t *kit.Theme, title string, view kit.ViewID, items []MenuItem) tea.Cmd {
	m := &menu{theme: t, title: title, view: view, items: items}
	for i, it := range items {
		if _, motion := Motion(it.Key, 1, 1); motion {
			items[i].Key = ""
		}
	}
	m.table.Columns = []Column{{Width: 4}, {Width: 16, Flex: true}}
	m.table.SetRows(len(items), m.row)
	return kit.OpenOverlay(m)
}

type menu struct {
	theme *kit.Theme
	title string
	view  kit.ViewID
	items []MenuItem
	table Table
	below int // lines below the list: see whole
}

func (it MenuItem) option() Option {
	return Option{Label: it.Label, Note: it.Note, Disabled: it.Disabled}
}

type menuPick struct{ at int }

func (m *menu) Init() tea.Cmd { return nil }

func (m *menu) Title() string              { return m.title }
func (m *menu) Hidden() (above, below int) { return m.table.Hidden() }

func (m *menu) Size(w, h int) (int, int) {
	widest := text.Width(m.title) + 8
	for _, it := range m.items {
		widest = max(widest, text.Width(it.option().cell(m.theme).Text)+8)
	}
	width := min(widest, w-6)
	m.below = 0
	for _, it := range m.items {
		if lines := m.whole(it, width); len(lines) > 0 {
			m.below = max(m.below, 1+len(lines))
		}
	}
	return width, min(len(m.items)+m.below, h-6)
}

// whole is what stands below a rule under the list, of a line that is cut there.
func (m *menu) whole(it MenuItem, w int) []string {
	words := it.option().cell(m.theme).Text
	if text.Width(words) <= w-6 { // behind the cursor's mark and the key
		return nil
	}
	return text.Wrap(text.Clean(words), max(w-2, 8))
}

func (m *menu) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case menuPick:
		at := msg.at
		if at < 0 {
			at = m.table.Cursor()
		}
		if at >= len(m.items) {
			return nil
		}
		it := m.items[at]
		if it.Disabled != "" {
			return kit.Warn(it.Disabled)
		}
		if _, ok := it.Intent.(kit.Copy); ok {
			return tea.Sequence(kit.CloseOverlay(m), kit.Send(it.Intent))
		}
		return tea.Sequence(kit.CloseOverlay(m), kit.SendTo(m.view, it.Intent))
	default:
		m.table.Update(msg)
	}
	return nil
}

func (m *menu) Bindings() []kit.Binding {
	out := make([]kit.Binding, 0, len(m.items)+2)
	for i, it := range m.items {
		if it.Key != "" {
			out = append(out, kit.Binding{Keys: []string{it.Key}, Label: it.Label, Intent: menuPick{at: i}, Hidden: true})
		}
	}
	out = append(out,
		kit.Binding{Name: "menu.pick", Keys: []string{"enter"}, Label: "pick", Help: "Pick the line under the cursor.", Intent: menuPick{at: -1}},
		kit.Binding{Name: "menu.close", Keys: []string{"esc"}, Label: "close", Help: "Close without picking.", Intent: kit.Close{}})
	return append(out, MotionBindings()...)
}

// Render draws the lines, and below them the whole of the selected one if it is cut.
func (m *menu) Render(w, h int) string {
	list := m.table.Render(m.theme, true, w, max(h-m.below, 1))
	if m.below == 0 {
		return list
	}
	return list + "\n" + Block(strings.Join(Foot(m.theme, w, m.whole(m.items[m.table.Cursor()], w)...), "\n"), w, m.below)
}

func (m *menu) row(i int) []Cell {
	it := m.items[i]
	return []Cell{{Text: it.Key, Ink: m.theme.KeyHint}, it.option().cell(m.theme)}
}
