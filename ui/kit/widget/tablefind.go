package widget

import (
	"slices"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// TableFind is the "/" search of a Table: typing moves the cursor to the first matching
// row, n and N move between matches. Use NewTableFind; the zero value is not usable.
type TableFind struct {
	theme  *kit.Theme
	input  textinput.Model
	typing bool
	query  string
	from   int // the row where the search began
	match  int // the number of the match under the cursor, from 1, when it last moved
	count  int // the number of matches then
}

// findIntent is the meaning of a search key. A view passes it to Update like every
// message it does not handle itself.
type findIntent int

const (
	findOpen findIntent = iota
	findTake
	findEnd
	findNext
	findBefore
)

// NewTableFind makes a closed search.
func NewTableFind(t *kit.Theme) TableFind {
	return TableFind{theme: t, input: NewInput(t)}
}

// CapturingText reports whether the query is being typed.
func (f *TableFind) CapturingText() bool { return f.typing }

// Active reports whether there is a query; n, N and esc then belong to the search.
func (f *TableFind) Active() bool { return f.typing || f.query != "" }

// With adds the search keys that work now to the keys of a view. While the query is
// typed there are no others; while the search is active its keys come first, so that n
// is the next match.
func (f *TableFind) With(view ...kit.Binding) []kit.Binding {
	switch {
	case f.typing:
		return f.bindings()
	case f.Active():
		return append(f.bindings(), view...)
	default:
		return append(view, f.bindings()...)
	}
}

func (f *TableFind) bindings() []kit.Binding {
	const group = "Search"
	switch {
	case f.typing:
		return []kit.Binding{
			{Keys: []string{"enter"}, Label: "keep", Help: "Keep the search; n and N go from match to match.", Group: group, Intent: findTake, WhileTyping: true},
			{Keys: []string{"esc"}, Label: "end search", Help: "End the search and go back to the row where it began.", Group: group, Intent: findEnd, WhileTyping: true},
		}
	case f.query != "":
		return []kit.Binding{
			{Keys: []string{"n"}, Label: "next match", Help: "Go to the next matching row.", Group: group, Intent: findNext},
			{Keys: []string{"N"}, Label: "previous match", Help: "Go to the previous matching row.", Group: group, Intent: findBefore},
			{Keys: []string{"esc"}, Label: "end search", Help: "End the search.", Group: group, Intent: findEnd},
			{Keys: []string{"/"}, Label: "search", Help: "Search for something else.", Group: group, Intent: findOpen, Hidden: true},
		}
	default:
		return []kit.Binding{{Keys: []string{"/"}, Label: "search", Help: "Search the rows; n and N go from match to match.", Group: group, Intent: findOpen, Hidden: true}}
	}
}

// Update handles the search's intents and, while the query is typed, keys and pastes.
// It reports whether it handled the message.
func (f *TableFind) Update(t *Table, msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if i, ok := msg.(findIntent); ok {
		return f.act(t, i), true
	}
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
	default:
		return nil, false
	}
	if !f.typing {
		return nil, false
	}
	cmd = UpdateInput(&f.input, msg)
	if q := strings.TrimSpace(f.input.Value()); q != f.query {
		f.query = q
		f.goTo(t, f.from, 1)
	}
	return cmd, true
}

func (f *TableFind) act(t *Table, i findIntent) tea.Cmd {
	switch i {
	case findOpen:
		f.typing, f.query, f.from, f.match, f.count = true, "", t.Cursor(), 0, 0
		f.input = NewInput(f.theme) // the theme may have changed
		return f.input.Focus()
	case findTake:
		f.typing = false
		f.input.Blur()
	case findEnd:
		if f.typing {
			t.SetCursor(f.from)
		}
		f.typing, f.query = false, ""
		f.input.Blur()
	case findNext:
		f.goTo(t, t.Cursor()+1, 1)
	case findBefore:
		f.goTo(t, t.Cursor()-1, -1)
	}
	return nil
}

// goTo moves the cursor to the first match from a row on, wrapping around, and counts
// the matches.
func (f *TableFind) goTo(t *Table, from, by int) {
	f.match, f.count = 0, 0
	n := t.Len()
	if f.query == "" || n == 0 {
		t.SetCursor(f.from)
		return
	}
	query := strings.ToLower(f.query)
	hits := make([]int, 0, n)
	for i := range n {
		if t.matches(i, query) {
			hits = append(hits, i)
		}
	}
	if f.count = len(hits); f.count == 0 {
		return
	}
	at, found := slices.BinarySearch(hits, from)
	if by < 0 && !found {
		at--
	}
	at = (at + len(hits)) % len(hits)
	f.match = at + 1
	t.SetCursor(hits[at])
}

// matches reports whether a cell of row i contains the lower-case query.
func (t *Table) matches(i int, query string) bool {
	if t.Match != nil {
		return t.Match(i, query)
	}
	for _, c := range t.row(i) {
		if strings.Contains(strings.ToLower(text.Clean(c.Text)), query) {
			return true
		}
	}
	return false
}

// Render draws the table as exactly h lines of w cells, with an active search below.
func (f *TableFind) Render(t *Table, focused bool, w, h int) string {
	line := f.line(w)
	if line == "" {
		return t.Render(f.theme, focused, w, h)
	}
	return Stack(t.Render(f.theme, focused, w, h-1), line)
}

// line is the search in one line of w cells; empty if there is no search.
func (f *TableFind) line(w int) string {
	if !f.Active() {
		return ""
	}
	counted := ""
	switch {
	case f.query == "":
	case f.count == 0:
		counted = "  nothing matches"
	case f.typing:
		counted = "  " + strconv.Itoa(f.match) + " of " + strconv.Itoa(f.count)
	default:
		counted = "  " + strconv.Itoa(f.match) + " of " + strconv.Itoa(f.count) + " · n next · N previous · esc ends"
	}
	ink := f.theme.Muted
	if f.query != "" && f.count == 0 {
		ink = f.theme.Warn
	}
	head := f.theme.KeyHint.Render(" / ")
	room := max(w-3-text.Width(counted), 8)
	words := text.Cut(text.Clean(f.query), room)
	if f.typing {
		f.input.SetWidth(room - 1)
		words = strings.TrimRight(f.input.View(), " ")
	}
	return text.Cut(head+words+ink.Render(counted), w)
}
