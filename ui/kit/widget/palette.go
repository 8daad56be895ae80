package widget

import (
	"encoding/json"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Choice is one line of a Finder. Its Value must be set if the Label is not.
type Choice struct {
	Option
	// Pick runs when it is picked, after the overlay has closed.
	Pick tea.Cmd
}

// Finder is an overlay with an input line and the matching choices: the command
// palette, and any list to pick from.
type Finder struct {
	title string
	list  picker
	picks []tea.Cmd
	// Digits makes the digit that is a choice's hint pick it, until something is typed. A digit ends
	// the finder even where its choice is disabled, so that the next key is not typed into it.
	Digits bool
	// Free picks what is typed where no choice has all of its words; nil for a finder that
	// takes choices alone.
	Free func(typed string) tea.Cmd
	// Anew asks for the choices again, by ctrl+r; nil if there is nothing to ask.
	Anew func() tea.Cmd
	// Foot is a line below the choices: what there is to say of all of them; "" for none.
	Foot string
	// Lines takes what is pasted if it has several lines or is JSON, which are no words of a choice; nil makes them words.
	Lines func(pasted string) tea.Cmd
}

// NewFinder makes a finder over choices, which keep their order until something is
// typed.
func NewFinder(t *kit.Theme, title, placeholder string, choices []Choice) *Finder {
	f := &Finder{title: title, list: newPicker(t, placeholder)}
	f.list.input.Focus()
	f.list.table.Columns = []Column{{Width: 20, Flex: true}, {Width: 10, Right: true, Priority: 1}}
	f.SetChoices(title, choices)
	return f
}

// NewFreeFinder makes a finder that matches whole words, and that takes what is typed where
// nothing matches; empty is what it says then.
func NewFreeFinder(t *kit.Theme, title, placeholder, empty string, free func(typed string) tea.Cmd) *Finder {
	f := NewFinder(t, title, placeholder, nil)
	f.Free, f.list.byWord, f.list.table.Empty = free, true, empty
	return f
}

// SetChoices replaces heading and choices. What is typed stays, and the cursor on its choice.
func (f *Finder) SetChoices(title string, choices []Choice) {
	f.title, f.picks = title, nil
	options := make([]Option, len(choices))
	for i, c := range choices {
		options[i] = c.Option
		f.picks = append(f.picks, c.Pick)
	}
	f.list.set(options)
}

type (
	finderPick  struct{}
	finderAnew  struct{}
	finderDigit struct{ at int }
)

// Init does nothing.
func (f *Finder) Init() tea.Cmd { return nil }

// Title is the finder's heading.
func (f *Finder) Title() string { return f.title }

// Size is two thirds of the screen, or less for few choices.
func (f *Finder) Size(w, h int) (int, int) {
	return min(84, w-6), min(max(h*2/3, 8), max(len(f.picks), 1)+1+len(f.foot()))
}

// CapturingText is always true: typed text filters.
func (f *Finder) CapturingText() bool { return true }

// Bindings are the finder's keys.
func (f *Finder) Bindings() []kit.Binding {
	var digits []kit.Binding
	for i, o := range f.list.options {
		if f.Digits && f.list.input.Value() == "" && o.Hint != "" {
			digits = append(digits, kit.Binding{Keys: []string{o.Hint}, Label: o.label(), Intent: finderDigit{i}, WhileTyping: true, Hidden: true})
		}
	}
	out := append(digits, kit.Binding{Name: "list.pick", Keys: []string{"enter"}, Label: "pick", Help: "Pick the line under the cursor.", Intent: finderPick{}, WhileTyping: true})
	if f.Anew != nil {
		out = append(out, kit.Binding{Name: "list.reload", Keys: []string{"ctrl+r"}, Label: "ask again", Help: "Ask for the list again, however new it is.", Intent: finderAnew{}, WhileTyping: true})
	}
	return append(out, kit.Binding{Name: "list.close", Keys: []string{"esc"}, Label: "close", Help: "Close without picking.", Intent: kit.Close{}, WhileTyping: true})
}

// Update filters and picks.
func (f *Finder) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case finderDigit:
		return tea.Sequence(kit.CloseOverlay(f), f.pick(msg.at))
	case finderAnew:
		return f.Anew()
	case finderPick:
		at, ok := f.list.chosen()
		typed := strings.TrimSpace(f.list.input.Value())
		switch {
		case ok && f.list.options[at].Disabled != "":
			return f.pick(at)
		case ok:
			return tea.Sequence(kit.CloseOverlay(f), f.pick(at))
		case typed != "" && f.Free != nil:
			return tea.Sequence(kit.CloseOverlay(f), f.Free(typed))
		}
		return nil
	case tea.PasteMsg:
		if pasted := strings.Trim(text.PastedLines(msg.Content), "\n"); f.Lines != nil && noWords(strings.TrimSpace(pasted)) {
			return f.Lines(pasted)
		}
		return f.list.update(msg)
	default:
		return f.list.update(msg)
	}
}

// noWords reports whether a text has several lines, or is an object or an array of JSON.
func noWords(pasted string) bool {
	return strings.Contains(pasted, "\n") || strings.IndexAny(pasted, "{[") == 0 && json.Valid([]byte(pasted))
}

// pick runs a choice, or says why it cannot be picked.
func (f *Finder) pick(at int) tea.Cmd {
	if o := f.list.options[at]; o.Disabled != "" {
		return kit.Warn(o.label() + ": " + o.Disabled)
	}
	return f.picks[at]
}

// Hidden are the matches that were not drawn last.
func (f *Finder) Hidden() (above, below int) { return f.list.table.Hidden() }

// Render draws the input line and the matches.
func (f *Finder) Render(w, h int) string {
	t := f.list.theme
	f.list.input.SetWidth(max(w-4, 1))
	foot := f.foot()
	table := f.list.table.Render(t, true, w, max(h-1-len(foot), 1))
	return Stack(append([]string{text.Fit(" "+t.KeyHint.Render("› ")+ViewInput(f.list.input), w), table}, foot...)...)
}

func (f *Finder) foot() []string {
	if f.Foot == "" {
		return nil
	}
	return []string{" " + f.list.theme.Warn.Render("! "+text.Clean(f.Foot))}
}
