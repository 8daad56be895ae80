package widget

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

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

// UpdateInput passes a message to an editor, without invisible characters.
func UpdateInput(in *textinput.Model, msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.PasteMsg:
		m.Content = text.OnlyShown(strings.TrimSpace(m.Content))
		msg = m
	case tea.KeyPressMsg:
		m.Text = text.OnlyShown(m.Text)
		msg = m
	}
	var cmd tea.Cmd
	*in, cmd = in.Update(msg)
	return cmd
}
