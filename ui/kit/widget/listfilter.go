package widget

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// ListFilter is what an operator types after "/" to hide rows of a list, which follows every
// letter. The zero value hides nothing.
type ListFilter struct {
	input   textinput.Model
	typing  bool
	text    string // what the list shows
	before  string // what it showed before the typing began
	problem string // why what is typed is no filter; the list stays
}

// The key that keeps a filter.
const keyKeep, labelKeep = "enter", "keep"

// Intents of a filter.
type (
	filterOpen  struct{}
	filterKeep  struct{}
	filterLeave struct{} // back to what was shown before
	filterClear struct{}
)

// FilterIntent is an intent of a filter's Bindings.
type FilterIntent interface{ ofFilter() }

func (filterOpen) ofFilter()  {}
func (filterKeep) ofFilter()  {}
func (filterLeave) ofFilter() {}
func (filterClear) ofFilter() {}

// FilterEvent is what a message did to a filter.
type FilterEvent int

// The events. FilterChanged is another Text, for which the list is to be filled anew.
const (
	FilterNothing FilterEvent = iota // the message was not the filter's
	FilterHandled
	FilterOpened
	FilterChanged
)

// Typing reports whether it is being typed.
func (f *ListFilter) Typing() bool { return f.typing }

// Takes reports whether a message goes into what is typed: all but what moves in the list meanwhile.
func (f *ListFilter) Takes(msg tea.Msg) bool {
	_, moves := motionWhileTyping(msg, 1, 1)
	return f.typing && !moves
}

// Text is the filter that the list shows; "" hides nothing.
func (f *ListFilter) Text() string { return f.text }

// Clear hides nothing any more.
func (f *ListFilter) Clear() { f.text, f.problem = "", "" }

// Update handles the filter's intents and, while it is typed, keys and pastes. terms are examples
// of what it knows; the error of check says why a text is no filter.
func (f *ListFilter) Update(t *kit.Theme, msg tea.Msg, terms []string, check func(string) error) (tea.Cmd, FilterEvent) {
	wrong := f.problem != ""
	cmd, event := f.update(t, msg, terms, check)
	if wrong && f.problem == "" { // what was said of enter no longer holds
		cmd = tea.Batch(cmd, kit.Send(kit.Refusal(keyKeep, labelKeep, "")))
	}
	return cmd, event
}

func (f *ListFilter) update(t *kit.Theme, msg tea.Msg, terms []string, check func(string) error) (tea.Cmd, FilterEvent) {
	switch msg.(type) {
	case filterOpen:
		f.typing, f.before, f.problem = true, f.text, ""
		f.input = NewInput(t) // the theme may have changed
		f.input.Placeholder = "words " + strings.Join(terms, " ")
		f.input.SetWidth(30) // until it is drawn
		f.input.SetValue(f.text)
		f.input.CursorEnd()
		return f.input.Focus(), FilterOpened
	case filterKeep:
		f.typing, f.problem = false, ""
		f.input.Blur()
		return nil, FilterHandled
	case filterLeave, filterClear:
		if _, leave := msg.(filterLeave); !leave {
			f.before = ""
		}
		f.typing = false
		f.input.Blur()
		return nil, f.set(f.before, check)
	case tea.KeyPressMsg, tea.PasteMsg:
		if !f.Takes(msg) {
			return nil, FilterNothing
		}
		cmd := UpdateInput(&f.input, msg)
		if typed := strings.TrimSpace(f.input.Value()); typed != f.text || f.problem != "" {
			return cmd, f.set(typed, check)
		}
		return cmd, FilterHandled
	}
	return nil, FilterNothing
}

// set takes a text; what is no filter changes nothing but the line that says so.
func (f *ListFilter) set(s string, check func(string) error) FilterEvent {
	if err := check(s); err != nil {
		f.problem = err.Error()
		return FilterHandled
	}
	f.text, f.problem = s, ""
	return FilterChanged
}

// Bindings are the filter's keys. rows names what is listed ("jobs"); esc shows all again where
// it means nothing else.
func (f *ListFilter) Bindings(rows string, terms []string, esc bool) []kit.Binding {
	const group = "Filter"
	if f.typing {
		return []kit.Binding{
			{Name: "filter.keep", Keys: []string{keyKeep}, Label: labelKeep, Help: "Keep the filter, and go on in the list, where enter opens. Arrows move in the list while you type, too.", Group: group, Intent: filterKeep{}, WhileTyping: true, Disabled: f.problem},
			{Name: "filter.leave", Keys: []string{"esc"}, Label: "leave", Help: "Show what was shown before.", Group: group, Intent: filterLeave{}, WhileTyping: true},
		}
	}
	out := []kit.Binding{{
		Name: "filter.open", Keys: []string{"/"}, Label: "filter", Help: "Show only the " + rows + " that match: words, and " + strings.Join(terms, ", ") + ".", Group: group, Intent: filterOpen{}, Hidden: true,
	}}
	if f.text != "" && esc {
		out = append(out, kit.Binding{Name: "filter.show-all", Keys: []string{"esc"}, Label: "show all", Help: "Show all " + rows + " again.", Group: group, Intent: filterClear{}})
	}
	return out
}

// Problem is what is wrong with what is typed, or empty. Line cuts it.
func (f *ListFilter) Problem() string { return f.problem }

// Line is the filter in one line of w cells, with how many rows it shows, or with a shown below 0
// that this is not known yet, and without all if it is not counted; empty if there is none.
func (f *ListFilter) Line(t *kit.Theme, shown, all, w int) string {
	if !f.typing && f.text == "" {
		return ""
	}
	tail := fmt.Sprintf("  %s of %s", text.Count(shown), text.Count(all))
	ink := t.Muted
	if shown < 0 {
		tail = "  looking…"
	}
	switch {
	case f.problem == "" && all < 0: // not counted
		tail = ""
	case f.problem != "":
		tail, ink = "  "+f.problem, t.Warn
	case shown == 0:
		ink = t.Warn
	case !f.typing:
		tail += " · esc shows all"
	}
	head := t.KeyHint.Render(" / ")
	if !f.typing {
		room := max(w-3-text.Width(tail), 8)
		return text.Cut(head+text.Cut(text.Clean(f.text), room)+ink.Render(tail), w)
	}
	f.input.SetWidth(max(min(w/2, w-4-text.Width(tail)), 16))
	return text.Cut(head+strings.TrimRight(ViewInput(f.input), " ")+ink.Render(text.Clean(tail)), w)
}
