package widget

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Choice is one line of a Finder.
type Choice struct {
	Text string // what is matched and shown
	Note string // shown beside it, matched too
	Key  string // a key hint, or empty
	// Disabled is the reason why it cannot be picked, or empty.
	Disabled string
	// Pick runs when it is picked, after the overlay has closed.
	Pick tea.Cmd
}

// Finder is an overlay with an input line and the matching choices: the command
// palette, and any list to pick from.
type Finder struct {
	theme   *kit.Theme
	title   string
	input   textinput.Model
	choices []Choice
	shown   []int
	table   Table
}

// NewFinder makes a finder over choices, which keep their order until something is
// typed.
func NewFinder(t *kit.Theme, title, placeholder string, choices []Choice) *Finder {
	f := &Finder{theme: t, title: title, choices: choices, input: NewInput(t)}
	f.input.Placeholder = placeholder
	f.input.Focus()
	f.table.Columns = []Column{{Width: 20, Flex: true}, {Width: 10, Right: true, Priority: 1}}
	f.table.Empty = "nothing matches"
	f.match()
	return f
}

type finderPick struct{}

// Init does nothing.
func (f *Finder) Init() tea.Cmd { return nil }

// Title is the finder's heading.
func (f *Finder) Title() string { return f.title }

// Size is two thirds of the screen, or less for few choices.
func (f *Finder) Size(w, h int) (int, int) {
	return min(84, w-6), min(max(h*2/3, 8), len(f.choices)+1)
}

// CapturingText is always true: typed text filters.
func (f *Finder) CapturingText() bool { return true }

// Bindings are the finder's keys.
func (f *Finder) Bindings() []kit.Binding {
	return []kit.Binding{
		{Keys: []string{"enter"}, Label: "pick", Help: "Pick the line under the cursor.", Intent: finderPick{}, WhileTyping: true},
		{Keys: []string{"esc"}, Label: "close", Help: "Close without picking.", Intent: kit.Close{}, WhileTyping: true},
	}
}

// Update filters and picks.
func (f *Finder) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case finderPick:
		if f.table.Cursor() >= len(f.shown) {
			return nil
		}
		c := f.choices[f.shown[f.table.Cursor()]]
		if c.Disabled != "" {
			return kit.Warn(c.Text + ": " + c.Disabled)
		}
		return tea.Sequence(kit.Send(kit.Close{Overlay: f}), c.Pick)
	case tea.KeyPressMsg:
		switch msg.String() {
		case "up", "ctrl+p":
			f.table.Move(-1)
			return nil
		case "down", "ctrl+n":
			f.table.Move(1)
			return nil
		case "pgup", "pgdown":
			f.table.Update(msg)
			return nil
		}
	case tea.MouseWheelMsg:
		f.table.Update(msg)
		return nil
	}
	before := f.input.Value()
	cmd := UpdateInput(&f.input, msg)
	if f.input.Value() != before {
		f.match()
	}
	return cmd
}

func (f *Finder) match() {
	query := strings.TrimSpace(f.input.Value())
	f.shown = f.shown[:0]
	if query == "" {
		for i := range f.choices {
			f.shown = append(f.shown, i)
		}
	} else {
		for _, m := range fuzzy.FindFrom(query, choiceSource(f.choices)) {
			f.shown = append(f.shown, m.Index)
		}
	}
	f.table.SetCursor(0)
	f.table.SetRows(len(f.shown), func(i int) []Cell {
		c := f.choices[f.shown[i]]
		text, ink := c.Text, f.theme.Text
		if c.Note != "" {
			text += "  " + c.Note
		}
		if c.Disabled != "" {
			text, ink = c.Text+"  ("+c.Disabled+")", f.theme.Muted
		}
		return []Cell{{Text: text, Ink: ink}, {Text: c.Key, Ink: f.theme.KeyHint}}
	})
}

// Render draws the input line and the matches.
func (f *Finder) Render(w, h int) string {
	f.input.SetWidth(max(w-4, 1))
	return Stack(text.Fit(" "+f.theme.KeyHint.Render("› ")+f.input.View(), w), f.table.Render(f.theme, true, w, h-1))
}

type choiceSource []Choice

func (s choiceSource) String(i int) string { return s[i].Text + " " + s[i].Note }
func (s choiceSource) Len() int            { return len(s) }
