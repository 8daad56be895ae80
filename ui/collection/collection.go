package collection

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Store keeps saved requests; *saved.Store is one.
type Store interface {
	List(ctx context.Context) ([]fetch.SavedRequest, error)
	Rename(ctx context.Context, from, to string) error
	Delete(ctx context.Context, name string) error
	Restore(ctx context.Context, name string) error
	// LastDeleted names the request that Restore can bring back, "" if there is none.
	LastDeleted(ctx context.Context) (string, error)
	DeletedDir() string
}

// Form is what a request is picked for.
type Form interface {
	// OpenSaved is what happens to the request that is picked, after the overlay has closed.
	OpenSaved(name string) tea.Cmd
	// RenamedSaved hears of another name of a request, or of a folder.
	RenamedSaved(from, to string)
}

// Deps are the parts the overlay works with.
type Deps struct {
	Ctx   context.Context
	Now   func() time.Time // of the machine: files have its time
	Theme *kit.Theme
	Store Store
	Form  Form
}

// Collection is the overlay. See kit.Overlay.
type Collection struct {
	deps    Deps
	input   textinput.Model
	table   widget.Table
	entries []fetch.SavedRequest
	rows    []row
	loaded  bool
	problem string
	work    kit.Slot // a change, or the list
	want    string   // the request to select when the list has come
	deleted string   // the request that undo brings back, "" for none
	noUndo  string   // why the deleted ones cannot be read
}

// row is a line of the tree: a folder, or a request in it.
type row struct {
	name  string // with its folders
	entry int    // in entries; -1 for a folder
	depth int
	count int // of a folder
}

// Intents.
type (
	pick    struct{}
	rename  struct{}
	remove  struct{}
	restore struct{}
)

// listing is what the store holds, and the request that undo brings back.
type listing struct {
	entries []fetch.SavedRequest
	deleted string
	noUndo  error
}

// New makes the overlay; the list is read when it opens.
func New(d Deps) *Collection {
	c := &Collection{deps: d, input: widget.NewInput(d.Theme)}
	c.input.Placeholder = "type to filter"
	c.input.Focus()
	c.table.Columns = []widget.Column{
		{Title: "REQUEST", Width: 24, Flex: true},
		{Title: "ZONE", Width: 16, Priority: 1},
		{Title: "URL", Width: 20, Flex: true, Priority: 2},
		{Title: "CHANGED", Width: 9, Right: true, Priority: 3},
	}
	c.table.Empty = "nothing matches"
	return c
}

// Init reads the list.
func (c *Collection) Init() tea.Cmd { return c.load() }

// Title is the heading.
func (c *Collection) Title() string { return "Saved requests" }

// Hidden are the rows that were not drawn last.
func (c *Collection) Hidden() (above, below int) { return c.table.Hidden() }

// CapturingText is always true: typed text filters.
func (c *Collection) CapturingText() bool { return true }

// Size is most of the screen for many requests.
func (c *Collection) Size(w, h int) (int, int) {
	return min(110, w-6), min(max(h*2/3, 10), max(len(c.rows)+5, 8))
}

func (c *Collection) load() tea.Cmd {
	store := c.deps.Store
	return kit.Load(kit.InOverlay(c), &c.work, c.deps.Ctx, func(ctx context.Context) (l listing, err error) {
		l.entries, err = store.List(ctx)
		l.deleted, l.noUndo = store.LastDeleted(ctx)
		return l, err
	}, func(l listing, err error) tea.Cmd {
		c.problem, c.loaded = "", true
		if err != nil {
			c.problem = err.Error()
			return nil
		}
		c.entries, c.deleted, c.noUndo = l.entries, l.deleted, ""
		if l.noUndo != nil {
			c.noUndo = l.noUndo.Error()
		}
		c.filter()
		return nil
	})
}

// change makes a call that changes the store, and says so. Then the request named on is selected, "" for the one at the
// cursor, and done follows, which may be nil.
func (c *Collection) change(call func(ctx context.Context) error, said, on string, done func()) tea.Cmd {
	return kit.Load(kit.InOverlay(c), &c.work, c.deps.Ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, call(ctx)
	}, func(_ struct{}, err error) tea.Cmd {
		if err != nil {
			return tea.Batch(c.load(), kit.Fail(err.Error()))
		}
		if done != nil {
			done()
		}
		c.want = on
		return tea.Batch(c.load(), kit.Send(kit.Toast{Text: said, About: kit.AboutSaved}))
	})
}

// current is the row under the cursor.
func (c *Collection) current() (row, bool) {
	if i := c.table.Cursor(); i < len(c.rows) {
		return c.rows[i], true
	}
	return row{}, false
}

// Bindings are the overlay's keys.
func (c *Collection) Bindings() []kit.Binding {
	r, ok := c.current()
	busy := kit.Reason(c.loaded && c.work.Running(), "a change is in progress")
	none, folder := busy, busy
	switch {
	case busy != "":
	case !ok:
		none, folder = "no request is selected", "no request is selected"
	case r.entry < 0:
		folder = "this is a folder: choose a request in it"
	}
	open, undo := folder, busy
	if open == "" {
		open = c.entries[r.entry].Problem
	}
	switch {
	case busy != "":
	case c.noUndo != "":
		undo = c.noUndo
	case c.deleted == "":
		undo = fetch.ErrNoneDeleted.Error()
	}
	return []kit.Binding{
		{Name: "requests.open", Keys: []string{"enter"}, Label: "open", Help: "Fill the form with the request. Nothing is sent.", Group: "Saved requests", Intent: pick{}, WhileTyping: true, Disabled: open},
		{Name: "requests.rename", Keys: []string{"ctrl+r"}, Label: "rename", Help: "Rename or move the request or the folder.", Group: "Saved requests", Intent: rename{}, WhileTyping: true, Disabled: none},
		{Name: "requests.delete", Keys: []string{"ctrl+d"}, Label: "remove", Synonyms: "delete", Help: "Remove the request; " + c.deps.Theme.Key("requests.undo") + " brings it back.", Group: "Saved requests", Intent: remove{}, WhileTyping: true, Disabled: folder},
		{Name: "requests.undo", Keys: []string{"ctrl+u"}, Label: "undo", Help: "Bring back the request removed last, in this dialog or earlier.", Group: "Saved requests", Intent: restore{}, WhileTyping: true, Disabled: undo, Hidden: c.deleted == ""},
		{Name: "requests.close", Keys: []string{"esc"}, Label: "close", Help: "Close without picking.", Intent: kit.Close{}, WhileTyping: true, Disabled: busy},
	}
}

// Update handles intents, typing and motions.
func (c *Collection) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case pick:
		r, ok := c.current()
		if !ok || r.entry < 0 {
			return nil
		}
		return tea.Sequence(kit.CloseOverlay(c), c.deps.Form.OpenSaved(r.name))
	case rename:
		return c.rename()
	case remove:
		return c.remove()
	case restore:
		return c.restore()
	case tea.MouseClickMsg:
		c.table.Click(msg.Y - aboveTable)
		return nil
	}
	if c.table.UpdateWhileTyping(msg) {
		return nil
	}
	before := c.input.Value()
	cmd := widget.UpdateInput(&c.input, msg)
	if c.input.Value() != before {
		c.filter()
	}
	return cmd
}

func (c *Collection) remove() tea.Cmd {
	r, ok := c.current()
	if !ok || r.entry < 0 {
		return nil
	}
	d := c.deps
	return c.change(
		func(ctx context.Context) error { return d.Store.Delete(ctx, r.name) },
		"Removed "+r.name+". "+d.Theme.Key("requests.undo")+" brings it back, later "+d.Theme.Key("sandbox.bring-back")+" in the Sandbox; it is kept in "+d.Store.DeletedDir()+" until "+text.Count(fetch.MaxDeletedRequests)+" more are removed.", "", nil,
	)
}

func (c *Collection) restore() tea.Cmd {
	name, d := c.deleted, c.deps
	if name == "" {
		return nil
	}
	return c.change(func(ctx context.Context) error { return d.Store.Restore(ctx, name) }, name+" is back.", name, nil)
}

// rename asks for the other name.
func (c *Collection) rename() tea.Cmd {
	r, ok := c.current()
	if !ok {
		return nil
	}
	d := c.deps
	form := widget.NewForm(d.Theme, widget.Field{
		Name: "name", Label: "Name", Kind: widget.FieldText, Value: r.name, Check: fetch.CheckRequestName,
		Help: "Put folders before the name: shop/de/cart.",
	})
	dialog := widget.NewFormDialog(d.Theme, "Rename "+r.name, form)
	dialog.Submit, dialog.Width = "rename", 60
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		to := strings.TrimSpace(f.Value("name"))
		if to == r.name {
			return kit.CloseOverlay(dialog)
		}
		return tea.Sequence(kit.CloseOverlay(dialog), c.change(
			func(ctx context.Context) error { return d.Store.Rename(ctx, r.name, to) },
			r.name+" is "+to+" now.", to, func() { d.Form.RenamedSaved(r.name, to) },
		))
	}
	return kit.OpenOverlay(dialog)
}

// filter lists the requests that have every typed word in name, zone or URL, below their
// folders.
func (c *Collection) filter() {
	selected := c.want
	if r, ok := c.current(); ok && c.want == "" {
		selected = r.name
	}
	c.want = ""
	words := strings.Fields(strings.ToLower(c.input.Value()))
	c.rows = c.rows[:0]
	folders := map[string]int{} // their rows
	first, named := -1, false   // the row of the first match, or of the first by name
	for i, e := range c.entries {
		if !hasWords(e.Name+" "+string(e.Request.Zone.Name)+" "+e.Request.URL, words) {
			continue
		}
		dirs := strings.Split(e.Name, "/")
		for n := 1; n < len(dirs); n++ {
			dir := strings.Join(dirs[:n], "/")
			if _, seen := folders[dir]; !seen {
				folders[dir] = len(c.rows)
				c.rows = append(c.rows, row{name: dir, entry: -1, depth: n - 1})
			}
			c.rows[folders[dir]].count++
		}
		if byName := hasWords(e.Name, words); first < 0 || byName && !named {
			first, named = len(c.rows), byName
		}
		c.rows = append(c.rows, row{name: e.Name, entry: i, depth: len(dirs) - 1})
	}
	c.table.SetRows(len(c.rows), c.cells)
	c.table.SetCursor(max(first, 0))
	for i, r := range c.rows {
		if r.name == selected && len(words) == 0 {
			c.table.SetCursor(i)
		}
	}
}

func hasWords(s string, words []string) bool {
	s = strings.ToLower(s)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s, w) })
}

func (c *Collection) cells(i int) []widget.Cell {
	th, r := c.deps.Theme, c.rows[i]
	indent := strings.Repeat("  ", r.depth)
	if r.entry < 0 {
		return []widget.Cell{{Text: indent + "▾ " + path.Base(r.name) + "/", Ink: th.Muted}, widget.C(""), {Text: text.Counted(r.count, "request"), Ink: th.Muted}, widget.C("")}
	}
	e := c.entries[r.entry]
	name := widget.C(indent + path.Base(e.Name))
	if e.Problem != "" {
		return []widget.Cell{name, widget.C(""), {Text: "✗ " + e.Problem, Ink: th.Bad}, widget.C("")}
	}
	return []widget.Cell{name, widget.C(string(e.Request.Zone.Name)), widget.C(e.Request.URL), {Text: text.Ago(e.Changed, c.deps.Now()), Ink: th.Muted}}
}

// aboveTable is how many lines are above the table: that of the input.
const aboveTable = 1

// Render draws the input line, the tree, and what the selected request holds.
func (c *Collection) Render(w, h int) string {
	th := c.deps.Theme
	switch {
	case c.problem != "":
		return widget.Block("\n "+th.Bad.Render("✗ ")+text.Cut(text.Clean(c.problem), w-4), w, h)
	case !c.loaded:
		return widget.Block("\n "+th.Muted.Render("reading…"), w, h)
	case len(c.entries) == 0:
		hint := " " + th.KeyHint.Render("esc") + ", then " + th.KeyHint.Render(th.Key("sandbox.save")) + " saves the one in the form."
		if c.deleted != "" {
			hint = " " + th.KeyHint.Render(th.Key("requests.undo")) + " brings " + text.Clean(c.deleted) + " back."
		}
		return widget.Block("\n "+th.Muted.Render("No request is saved.")+"\n\n"+hint, w, h)
	}
	c.input.SetWidth(max(w-4, 8))
	detail := ""
	if r, ok := c.current(); ok && r.entry >= 0 {
		detail = strings.Join(widget.Foot(th, w, c.entries[r.entry].Name+" · "+describe(c.entries[r.entry]), ""), "\n")
	}
	return widget.Stack(" "+widget.ViewInput(c.input), c.table.Render(th, true, w, max(h-4, 1)), detail)
}

// describe is a request in one line.
func describe(e fetch.SavedRequest) string {
	r := e.Request
	if e.Problem != "" {
		return e.Problem
	}
	parts := []string{"by " + r.Via.String()}
	if r.Method != "" {
		parts = append(parts, r.Method)
	}
	if n := len(r.Header); n > 0 {
		parts = append(parts, text.Counted(n, "header"))
	}
	if r.Body != "" {
		parts = append(parts, "body "+text.Bytes(int64(len(r.Body))))
	}
	if names := r.Variables(); len(names) > 0 {
		parts = append(parts, "variables "+strings.Join(names, ", "))
	}
	return strings.Join(parts, " · ")
}
