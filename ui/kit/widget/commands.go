package widget

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Command is one line of the palette.
type Command struct {
	Label string
	Note  string // one sentence, beside it; it is searched, too
	// Synonyms are other words that people type for it, in small letters.
	Synonyms string
	Key      string // at the right edge
	// Disabled is the reason why it cannot be picked, or empty.
	Disabled string
	// Pick runs when it is picked, after the palette has closed.
	Pick tea.Cmd
}

// CommandGroup is a heading of the palette with its lines.
type CommandGroup struct {
	Title    string
	Commands []Command
}

// Commands is the palette: groups of lines in aligned columns, and a field whose words find
// them. Without words it lists every group that is given to NewCommands; what Search gives
// is added below.
type Commands struct {
	theme  *kit.Theme
	input  textinput.Model
	groups []CommandGroup
	search func(words []string) tea.Cmd
	found  []CommandGroup
	rows   []commandRow
	cursor int // an index of rows; -1 when nothing matches
	top    int
	drawn  int // rows that were drawn last
	labels int // the width of the labels
}

// commandRow is a line: a heading, or a command.
type commandRow struct {
	title   string
	command *Command
}

// FoundCommands brings what Search has found for the words that are typed now, for the
// palette that it is sent to by kit.ForOverlay.
type FoundCommands struct{ Groups []CommandGroup }

type commandPick struct{}

// NewCommands makes the palette. search is called when the words have changed; it may be nil.
func NewCommands(t *kit.Theme, placeholder string, groups []CommandGroup, search func(words []string) tea.Cmd) *Commands {
	c := &Commands{theme: t, input: NewInput(t), groups: groups, search: search}
	c.input.Placeholder = placeholder
	c.input.Focus()
	c.list()
	return c
}

// Init does nothing.
func (c *Commands) Init() tea.Cmd { return nil }

// Title is the palette's heading.
func (c *Commands) Title() string { return "Commands" }

// Size is the same for every number of lines, so that the frame stays while one types.
func (c *Commands) Size(w, h int) (int, int) { return min(110, w-6), max(h*3/4, 8) }

// CapturingText is always true: typed text searches.
func (c *Commands) CapturingText() bool { return true }

// Bindings are the palette's keys.
func (c *Commands) Bindings() []kit.Binding {
	return []kit.Binding{
		{Name: "list.pick", Keys: []string{"enter"}, Label: "pick", Help: "Pick the line under the cursor.", Intent: commandPick{}, WhileTyping: true},
		{Name: "list.close", Keys: []string{"esc"}, Label: "close", Help: "Close without picking.", Intent: kit.Close{}, WhileTyping: true},
	}
}

// Update searches, moves and picks.
func (c *Commands) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case commandPick:
		return c.pick()
	case FoundCommands:
		c.found = msg.Groups
		c.list()
		return nil
	case tea.MouseClickMsg:
		at := c.top + msg.Y - 1
		if msg.Y < 1 || msg.Y > c.drawn || at >= len(c.rows) || c.rows[at].command == nil {
			return nil
		}
		c.cursor = at
		return c.pick()
	}
	if by, ok := motionWhileTyping(msg, max(c.drawn-1, 1), len(c.rows)); ok {
		c.move(by)
		return nil
	}
	before := c.input.Value()
	cmd := UpdateInput(&c.input, msg)
	if c.input.Value() == before {
		return cmd
	}
	c.found = nil
	c.list()
	if c.search != nil {
		return tea.Batch(cmd, c.search(c.terms()))
	}
	return cmd
}

func (c *Commands) terms() []string { return strings.Fields(strings.ToLower(c.input.Value())) }

func (c *Commands) pick() tea.Cmd {
	if c.cursor < 0 {
		return nil
	}
	picked := c.rows[c.cursor].command
	if picked.Disabled != "" {
		return kit.Warn(picked.Label + ": " + picked.Disabled)
	}
	return tea.Sequence(kit.CloseOverlay(c), picked.Pick)
}

// move goes by lines, over headings.
func (c *Commands) move(by int) {
	step := 1
	if by < 0 {
		step = -1
	}
	for at, left := c.cursor, by*step; left > 0; left-- {
		at += step
		for at >= 0 && at < len(c.rows) && c.rows[at].command == nil {
			at += step
		}
		if at < 0 || at >= len(c.rows) {
			return
		}
		c.cursor = at
	}
}

// list fills the rows: every command without words, otherwise those that match them, the best first, under
// the headings of their groups. The cursor goes to the first, unless lines were only added.
func (c *Commands) list() {
	words := c.terms()
	var picked *Command
	if c.cursor >= 0 && c.cursor < len(c.rows) && c.found != nil {
		picked = c.rows[c.cursor].command
	}
	type match struct {
		title   string
		command *Command
		rank    int
	}
	var matches []match
	for _, g := range c.groups {
		for i := range g.Commands {
			if r := rank(&g.Commands[i], g.Title, words); r != nowhere {
				matches = append(matches, match{g.Title, &g.Commands[i], r})
			}
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return cmp.Compare(a.rank, b.rank) })
	matches = slices.DeleteFunc(matches, func(m match) bool { return m.rank > inSynonyms && matches[0].rank <= inSynonyms })
	for _, g := range c.found {
		for i := range g.Commands {
			matches = append(matches, match{title: g.Title, command: &g.Commands[i]})
		}
	}
	c.rows, c.labels, c.cursor = c.rows[:0], 0, -1
	for i, m := range matches {
		if i == 0 || m.title != matches[i-1].title {
			c.rows = append(c.rows, commandRow{title: m.title})
		}
		c.rows = append(c.rows, commandRow{command: m.command})
		c.labels = max(c.labels, text.Width(m.command.Label))
		if c.cursor < 0 || m.command == picked {
			c.cursor = len(c.rows) - 1
		}
	}
}

// The rank of what begins a name or a synonym, below which notes and scattered letters are not listed, and of what
// does not match.
const (
	inSynonyms = 3
	nowhere    = 100
)

// rank says how well a command fits the words, 0 the best: they are its name, each is a word of it, begins one, begins a
// synonym, stands in its name, synonyms or heading, or in its note, or their letters are scattered in its name.
func rank(c *Command, title string, words []string) int {
	name := strings.ToLower(c.Label)
	synonyms := name + " " + c.Synonyms
	in := synonyms + " " + strings.ToLower(title)
	each := func(in string, fits func(in, typed string) bool) bool {
		parts := append(strings.Fields(strings.Trim(in, "…")), in)
		return !slices.ContainsFunc(words, func(typed string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return fits(part, typed) })
		})
	}
	joined := strings.Join(words, " ")
	switch {
	case len(words) == 0, name == joined:
		return 0
	case each(name, func(word, typed string) bool { return word == typed }):
		return 1
	case each(name, strings.HasPrefix):
		return 2
	case each(synonyms, strings.HasPrefix):
		return inSynonyms
	case each(in, strings.Contains):
		return 4
	case each(in+" "+strings.ToLower(c.Note), strings.Contains):
		return 5
	}
	if len(joined) > 2 && len(fuzzy.Find(joined, []string{name})) > 0 {
		return 6
	}
	return nowhere
}

// labelCap is the widest that the column of labels gets.
const labelCap = 34

// Hidden are the lines that were not drawn last.
func (c *Commands) Hidden() (above, below int) { return c.top, len(c.rows) - c.top - c.drawn }

// Render draws the field and the lines.
func (c *Commands) Render(w, h int) string {
	t := c.theme
	c.input.SetWidth(max(w-4, 1))
	lines := make([]string, 0, h)
	lines = append(lines, text.Fit(" "+t.KeyHint.Render("› ")+ViewInput(c.input), w))
	var foot []string
	if h > 9 && slices.ContainsFunc(c.rows, func(r commandRow) bool {
		return r.command != nil && text.Width(r.command.note()) > c.room(r.command, w)
	}) {
		foot = c.foot(w)
	}
	c.drawn = max(h-1-len(foot), 0)
	if c.cursor < 0 {
		lines = append(lines, " "+t.Muted.Render("nothing matches"))
		return Block(strings.Join(lines, "\n"), w, h)
	}
	first := c.cursor
	if first > 0 && c.rows[first-1].command == nil {
		first-- // with its heading
	}
	c.top = max(min(c.top, first), c.cursor-c.drawn+1, 0)
	c.top = min(c.top, max(len(c.rows)-c.drawn, 0))
	for i := c.top; i < min(c.top+c.drawn, len(c.rows)); i++ {
		lines = append(lines, c.line(i, w))
	}
	return Block(strings.Join(lines, "\n"), w, h-len(foot)) + strings.Join(append([]string{""}, foot...), "\n")
}

// note says what a command does, or why it cannot.
func (p *Command) note() string {
	if p.Disabled != "" {
		return "(" + text.Clean(p.Disabled) + ")"
	}
	return text.Clean(p.Note)
}

// room is how much of a line the note has.
func (c *Commands) room(p *Command, w int) int {
	return w - min(c.labels, labelCap, max(w/2, 8)) - 6 - text.Width(p.Key)
}

// foot is the whole note of the command under the cursor: its line may cut it.
func (c *Commands) foot(w int) []string {
	if c.cursor < 0 || c.rows[c.cursor].command == nil {
		return nil
	}
	lines := append(Indent(WrappedTo(c.theme.Muted, c.rows[c.cursor].command.note(), w-2, 2)), "", "")
	return append(Foot(c.theme, w), lines[:2]...) // of one height, whatever is chosen
}

func (c *Commands) line(i, w int) string {
	t, p := c.theme, c.rows[i].command
	if p == nil {
		return " " + t.Title.Render(text.Cut(text.Clean(c.rows[i].title), w-2))
	}
	key, labels := p.Key, min(c.labels, labelCap, max(w/2, 8))
	room, label, note, ink := c.room(p, w), text.Fit(text.Clean(p.Label), labels), p.note(), t.Text
	if p.Disabled != "" {
		ink = t.Muted
	}
	if i == c.cursor {
		plain := " ›" + label + "  " + text.Fit(note, max(room, 0)) + " " + key + " "
		return t.Selected.Render(text.Fit(plain, w))
	}
	return "  " + ink.Render(label) + "  " + t.Muted.Render(text.Fit(note, max(room, 0))) + " " + t.KeyHint.Render(key) + " "
}
