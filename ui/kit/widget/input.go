package widget

import (
	"image/color"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// NewInput makes a one-line editor without a prompt, without a blinking cursor (every
// blink costs a frame), and without clipboard keys (the terminal pastes).
func NewInput(t *kit.Theme) textinput.Model {
	in := textinput.New()
	in.Prompt = ""
	in.KeyMap.Paste = key.NewBinding(key.WithDisabled())
	in.KeyMap.NextSuggestion = key.NewBinding(key.WithDisabled())
	in.KeyMap.PrevSuggestion = key.NewBinding(key.WithDisabled())
	in.KeyMap.AcceptSuggestion = key.NewBinding(key.WithDisabled())
	styleInput(&in, t)
	return in
}

// styleInput gives an editor the theme as it is now: it may have changed since the
// editor was made.
func styleInput(in *textinput.Model, t *kit.Theme) {
	s := textinput.StyleState{Text: t.Text.Style(), Placeholder: t.Placeholder.Style(), Suggestion: t.Muted.Style(), Prompt: t.KeyHint.Style()}
	styles := textinput.Styles{Focused: s, Blurred: s}
	styles.Cursor.Color = t.Accent.Style().GetForeground()
	styles.Cursor.Blink = false
	in.SetStyles(styles)
}

// styleArea does the same for an editor of several lines.
func styleArea(a *textarea.Model, t *kit.Theme) {
	s := textarea.StyleState{Text: t.Text.Style(), CursorLine: t.Text.Style(), Placeholder: t.Placeholder.Style(), Selection: t.Selected.Style()}
	styles := textarea.Styles{Focused: s, Blurred: s}
	styles.Cursor.Color = t.Accent.Style().GetForeground()
	a.SetStyles(styles)
}

// UpdateInput passes a message to the editor of a search, without invisible characters.
func UpdateInput(in *textinput.Model, msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.PasteMsg:
		m.Content = text.OnlyShown(strings.Trim(m.Content, "\r\n"))
		msg = m
	case tea.KeyPressMsg:
		m.Text = text.OnlyShown(m.Text)
		msg = m
	}
	return updateField(in, msg)
}

// updateField passes a message to an editor, which drops control characters itself. Marks and line ends at the ends of
// what is pasted are taken off, and marks named; all others stay, since with another character an address is another one. So do
// blanks: a paste may be the middle of a text.
func updateField(in *textinput.Model, msg tea.Msg) tea.Cmd {
	var cmd, said tea.Cmd
	if m, ok := msg.(tea.PasteMsg); ok {
		bare, marks := model.TrimMarks(m.Content)
		if marks != "" {
			said = kit.Info(marks + " was removed from the ends of the pasted text")
		}
		before, after, _ := strings.Cut(m.Content, bare)
		blanks := func(s string) string { return strings.Repeat(" ", strings.Count(s, " ")) }
		m.Content = blanks(before) + bare + blanks(after)
		msg = m
	}
	*in, cmd = in.Update(msg)
	if _, pasted := msg.(tea.PasteMsg); pasted {
		in.SetSuggestions(in.AvailableSuggestions()) // which a paste leaves as they were
	}
	return tea.Batch(cmd, said)
}

// ViewInput is an editor as it is drawn: with tokens for what is not visible, and a cursor that reads in plain text.
func ViewInput(in textinput.Model) string {
	if in.Placeholder != "" {
		in.Placeholder = "  " + text.Cut(in.Placeholder, max(in.Width()-2, 1)) // behind the cursor
	}
	value := in.Value()
	if shown := text.Clean(value); shown != value && in.EchoMode == textinput.EchoNormal {
		at := utf8.RuneCountInString(text.Clean(string([]rune(value)[:in.Position()])))
		in.SetValue(shown)
		in.SetCursor(0)
		in.SetCursor(at)
	}
	return solidCursor(in.View(), in.Styles().Cursor.Color)
}

// solidCursor draws the cursor of an editor as a block where no character is under it: it looks the same, and is seen
// where neither colours nor reversed cells are.
func solidCursor(view string, ink color.Color) string {
	s := lipgloss.NewStyle().Foreground(ink).Inline(true)
	return strings.Replace(view, s.Reverse(true).Render(" "), s.Render("█"), 1)
}
