package kit

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// newInput makes a one-line editor: no prompt, a cursor that does not blink (a
// blink is a frame), and no clipboard of its own (the terminal pastes).
func newInput(t *Theme) textinput.Model {
	in := textinput.New()
	in.Prompt = ""
	in.KeyMap.Paste = key.NewBinding(key.WithDisabled())
	in.KeyMap.NextSuggestion = key.NewBinding(key.WithDisabled())
	in.KeyMap.PrevSuggestion = key.NewBinding(key.WithDisabled())
	in.KeyMap.AcceptSuggestion = key.NewBinding(key.WithDisabled())
	styleInput(&in, t)
	return in
}

func styleInput(in *textinput.Model, t *Theme) {
	s := textinput.StyleState{Text: t.Text.Style(), Placeholder: t.Placeholder.Style(), Suggestion: t.Muted.Style(), Prompt: t.KeyHint.Style()}
	styles := textinput.Styles{Focused: s, Blurred: s}
	styles.Cursor.Color = t.Accent.Style().GetForeground()
	styles.Cursor.Blink = false
	in.SetStyles(styles)
}

// updateInput passes a message on, without characters that do not show: they
// could not be seen in the field.
func updateInput(in *textinput.Model, msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.PasteMsg:
		m.Content = OnlyShown(strings.TrimSpace(m.Content))
		msg = m
	case tea.KeyPressMsg:
		m.Text = OnlyShown(m.Text)
		msg = m
	}
	var cmd tea.Cmd
	*in, cmd = in.Update(msg)
	return cmd
}

// OnlyShown drops the characters that Clean would have to make visible; tabs
// and line breaks become spaces. It is for text on its way into a field.
func OnlyShown(s string) string {
	if plain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r':
			return ' '
		case !Shown(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
