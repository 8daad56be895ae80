package widget

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// picker is a list that is filtered while one types: of a Finder, and of a form's pick.
type picker struct {
	theme   *kit.Theme
	input   textinput.Model
	table   Table
	options []Option
	matches []int // the options that match
	byWord  bool  // an option matches if it has every word that is typed, not a letter here and there
}

func newPicker(t *kit.Theme, placeholder string) picker {
	p := picker{theme: t, input: NewInput(t)}
	p.input.Placeholder = placeholder
	p.table.Columns = []Column{{Width: 10, Flex: true}}
	p.table.Empty = "nothing matches"
	return p
}

// set replaces the options. The cursor stays on its option.
func (p *picker) set(options []Option) {
	selected := ""
	if i, ok := p.chosen(); ok {
		selected = p.options[i].Value
	}
	p.options = options
	if slices.ContainsFunc(options, func(o Option) bool { return len(o.Cells) > 0 }) {
		p.table.Columns = []Column{{Width: 8}, {Width: 8, Priority: 1}, {Width: 12}, {Width: 10, Flex: true}}
	}
	p.filter()
	p.selectValue(selected)
}

func (p *picker) selectValue(value string) {
	for i, at := range p.matches {
		if p.options[at].Value == value {
			p.table.SetCursor(i)
		}
	}
}

// chosen is the index of the option under the cursor; false if none matches.
func (p *picker) chosen() (int, bool) {
	if i := p.table.Cursor(); i < len(p.matches) {
		return p.matches[i], true
	}
	return 0, false
}

// String and Len make the options a source for the fuzzy search.
func (p *picker) String(i int) string { return p.options[i].label() + " " + p.options[i].Note }
func (p *picker) Len() int            { return len(p.options) }

// filter lists the options that match the typed text, all of them in their order if
// there is none.
func (p *picker) filter() {
	p.matches = p.matches[:0]
	query := strings.TrimSpace(p.input.Value())
	switch {
	case query != "" && p.byWord:
		words := strings.Fields(strings.ToLower(query))
		for i, o := range p.options {
			all := strings.ToLower(p.String(i) + " " + o.Value + " " + o.Also)
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) }) {
				p.matches = append(p.matches, i)
			}
		}
	case query != "":
		for _, m := range fuzzy.FindFrom(query, p) {
			p.matches = append(p.matches, m.Index)
		}
	default:
		for i := range p.options {
			p.matches = append(p.matches, i)
		}
	}
	slices.Sort(p.matches)
	var ranked [4][]int // what is named so comes first, then what begins so, what has it in its name, and the rest
	for _, i := range p.matches {
		name, words, rank := strings.ToLower(p.options[i].label()), strings.ToLower(query), 3
		switch {
		case name == words:
			rank = 0
		case strings.HasPrefix(name, words):
			rank = 1
		case strings.Contains(name, words):
			rank = 2
		}
		ranked[rank] = append(ranked[rank], i)
	}
	p.matches = slices.Concat(ranked[:]...)
	p.table.SetCursor(0)
	p.table.SetRows(len(p.matches), func(i int) []Cell {
		o := p.options[p.matches[i]]
		if len(p.table.Columns) > 2 {
			return append([]Cell{Named(o.label()), {Text: o.Note, Ink: p.theme.Muted}}, o.Cells...)
		}
		return []Cell{o.cell(p.theme), {Text: o.Hint, Ink: p.theme.KeyHint}}
	})
}

// pickRows is the height of the list that a pick opens below its field.
const pickRows = 8

// lines draws the list below a field, behind an indent with the signs of the options that are hidden.
func (p *picker) lines(indent, w int) []string {
	out := strings.Split(p.table.Render(p.theme, true, w, max(min(len(p.matches), pickRows), 1)), "\n")
	above, below := p.table.Hidden()
	signs := make([]string, len(out))
	signs[0] = hiddenSign("↑", above)
	signs[len(out)-1] += hiddenSign("↓", below)
	for i := range out {
		out[i] = p.theme.Muted.Render(text.FitRight(signs[i], indent)) + out[i]
	}
	return out
}

// update moves the cursor, or types and filters.
func (p *picker) update(msg tea.Msg) tea.Cmd {
	if p.table.UpdateWhileTyping(msg) {
		return nil
	}
	before := p.input.Value()
	cmd := UpdateInput(&p.input, msg)
	if p.input.Value() != before {
		p.filter()
	}
	return cmd
}

func (o Option) label() string {
	if o.Label != "" {
		return o.Label
	}
	return o.Value
}

// cell shows the option with its note, or with the reason why it cannot be chosen.
func (o Option) cell(t *kit.Theme) Cell {
	switch {
	case o.Disabled != "":
		return Cell{Text: o.label() + "  (" + o.Disabled + ")", Ink: t.Muted}
	case o.Note != "":
		return Cell{Text: o.label() + "  " + o.Note, Ink: t.Text}
	default:
		return Cell{Text: o.label(), Ink: t.Text}
	}
}
