package body

import (
	"context"
	"fmt"
	"io"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// How many rows are kept above and below the first row on screen, and how close to
// the window's edge the next window is loaded.
const (
	rowsAbove  = 100
	rowsBelow  = 300
	rowsMargin = 20
)

// HeadBytes is how many of the first bytes of a body tell what it is.
const HeadBytes = 512

// Source is a body's bytes. The reader is used in commands only, possibly from several
// goroutines at once, which io.ReaderAt allows.
type Source struct {
	Reader io.ReaderAt
	Size   int64  // bytes
	Type   string // content type, for the colours
	Head   []byte // the first bytes, up to HeadBytes, as far as they are known
	// Close releases the reader; it may be nil.
	Close func() error
}

// View shows a body of any size through a window: a sparse line index is
// built in the background, and only the rows around the screen are in memory.
// Lines longer than 4 KiB are shown as several rows.
//
// The owning view passes it every message it does not handle itself.
type View struct {
	view  kit.ViewID
	ctx   context.Context // of the owning view; every load ends with it
	theme *kit.Theme
	src   Source
	err   error

	index    rowIndex
	window   bodyWindow
	slots    struct{ index, load, search kit.Slot }
	pos      bodyPos
	find     finder
	drawn    drawnRows
	wrap     bool
	wordWrap bool
}

// bodyPos is the position of the view.
type bodyPos struct {
	top  int // first row on screen
	sub  int // with wrapping: screen lines of that row above the screen
	x    int // without wrapping: cells scrolled to the right
	w, h int // size drawn last
	// wantOff and wantEnd are jumps that wait for the index; wantOff is -1 for none.
	wantOff int64
	wantEnd bool
	bottom  bool // with wrapping: show the end once its rows are loaded
	// markOff and markLen are the evidence shown, in bytes.
	markOff, markLen int64
}

// bodyWindow is the rows in memory.
type bodyWindow struct {
	rows []bodyRow
	from int
	eof  bool // the window reaches the end of the body
	jump int  // the row that holds the byte asked for; -1 for none
}

func (w *bodyWindow) row(i int) (bodyRow, bool) {
	if i < w.from || i >= w.from+len(w.rows) {
		return bodyRow{}, false
	}
	return w.rows[i-w.from], true
}

// finder is the search.
type finder struct {
	input     textinput.Model
	typing    bool
	query     string
	hits      []int64
	at        int // the current hit; -1 before the first was chosen
	from      int64
	truncated bool
}

// New makes an empty viewer for a view; ctx ends its loads.
func New(ctx context.Context, view kit.ViewID, theme *kit.Theme) *View {
	b := &View{view: view, ctx: ctx, theme: theme}
	b.find.input = widget.NewInput(theme)
	b.reset()
	return b
}

func (b *View) reset() {
	b.err = nil
	b.index, b.window = rowIndex{}, bodyWindow{}
	b.pos = bodyPos{w: b.pos.w, h: b.pos.h, wantOff: -1, markOff: -1}
	b.find = finder{input: b.find.input, at: -1}
	b.drawn = drawnRows{}
}

// Open shows another body from its beginning and releases the previous one.
func (b *View) Open(src Source) tea.Cmd {
	b.Close()
	b.src = src
	if src.Reader == nil || src.Size <= 0 {
		return nil
	}
	reader, size := src.Reader, src.Size
	build := kit.Follow(b.view, &b.slots.index, b.ctx, func(ctx context.Context, emit func(rowIndex)) (struct{}, error) {
		return struct{}{}, scanRows(reader, size, func() bool { return ctx.Err() != nil }, emit)
	}, func(part rowIndex) tea.Cmd {
		b.index.add(part)
		return b.pending()
	}, func(_ struct{}, err error) tea.Cmd {
		b.failed(err)
		return nil
	})
	return tea.Batch(build, b.load(rowMark{}, 0, -1))
}

// Close releases the body; the viewer is empty afterwards.
func (b *View) Close() {
	b.slots.index.Drop()
	b.slots.load.Drop()
	b.slots.search.Drop()
	if b.src.Close != nil {
		_ = b.src.Close() // it was only read
	}
	b.src = Source{}
	b.reset()
}

// SetWrap wraps long lines, or cuts them at the edge.
func (b *View) SetWrap(wrap bool) {
	b.wrap = wrap
	b.pos.sub, b.pos.x = 0, 0
	b.drawn = drawnRows{}
}

// SetProse wraps lines between words.
func (b *View) SetProse() {
	b.SetWrap(true)
	b.wordWrap = true
}

// CapturingText reports whether the search line is being typed.
func (b *View) CapturingText() bool { return b.find.typing }

// JumpTo shows and marks a byte range: the place that evidence points to.
func (b *View) JumpTo(off, length int64) tea.Cmd {
	if off < 0 || off >= b.src.Size {
		return nil
	}
	b.pos.markOff, b.pos.markLen = off, length
	b.drawn = drawnRows{}
	return b.jump(off)
}

// Bindings are the viewer's keys; the owning view adds them to its own while
// the viewer has the focus.
func (b *View) Bindings() []kit.Binding {
	const group = "Body"
	if b.find.typing {
		return []kit.Binding{
			{Name: "body.find", Keys: []string{"enter"}, Label: "search", Help: "Search for what was typed.", Group: group, Intent: bodyFindGo, WhileTyping: true},
			{Name: "body.leave-search", Keys: []string{"esc"}, Label: "leave the search", Help: "Stop searching.", Group: group, Intent: bodyFindEnd, WhileTyping: true},
		}
	}
	empty, none := "", ""
	if b.src.Size <= 0 {
		empty = "there is no body"
	}
	if b.find.query == "" {
		none = "no search yet; " + b.theme.Key("body.search") + " searches"
	}
	out := []kit.Binding{
		{Name: "body.search", Keys: []string{"/"}, Label: "search", Help: "Search the body (ignores case).", Group: group, Intent: bodySearch, Disabled: empty},
		{Name: "body.next-hit", Keys: []string{"n"}, Label: "next hit", Help: "Go to the next hit.", Group: group, Intent: bodyNext, Disabled: none, Hidden: b.find.query == ""},
		{Name: "body.previous-hit", Keys: []string{"N"}, Label: "previous hit", Help: "Go to the previous hit.", Group: group, Intent: bodyPrev, Disabled: none, Hidden: true},
		{Name: "body.wrap", Keys: []string{"W"}, Label: "wrap", Help: "Wrap long lines, or cut them.", Group: group, Intent: bodyWrap, Hidden: true},
		{Name: "body.left", Keys: []string{"left", "h"}, Label: "left", Help: "Scroll to the left.", Group: group, Intent: bodyLeft, Hidden: true},
		{Name: "body.right", Keys: []string{"right", "l"}, Label: "right", Help: "Scroll to the right.", Group: group, Intent: bodyRight, Hidden: true},
	}
	if b.find.query != "" {
		out = append(out, kit.Binding{Name: "body.end-search", Keys: []string{"esc"}, Label: "end the search", Help: "Remove the marks of the search.", Group: group, Intent: bodyFindEnd, Hidden: true})
	}
	return append(out, widget.MotionBindings()...)
}

// Update handles the viewer's intents, and the keys and wheel messages
// that the owning view passes on.
func (b *View) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case bodyIntent:
		return b.act(msg)
	case tea.KeyPressMsg, tea.PasteMsg:
		if b.find.typing {
			return widget.UpdateInput(&b.find.input, msg)
		}
		if k, ok := msg.(tea.KeyPressMsg); ok {
			return b.motion(k.String())
		}
	case tea.MouseWheelMsg:
		if by, ok := widget.Wheel(msg); ok {
			return b.scroll(by)
		}
	}
	return nil
}

func (b *View) act(i bodyIntent) tea.Cmd {
	switch i {
	case bodySearch:
		b.find.typing = true
		b.find.input = widget.NewInput(b.theme) // the theme may have changed
		b.find.input.SetValue(b.find.query)
		b.find.input.CursorEnd()
		return b.find.input.Focus()
	case bodyFindGo:
		b.find.typing = false
		b.find.input.Blur()
		return b.Search(b.find.input.Value())
	case bodyFindEnd:
		b.find.typing = false
		b.find.input.Blur()
		return b.Search("")
	case bodyNext:
		return b.hit(1)
	case bodyPrev:
		return b.hit(-1)
	case bodyWrap:
		b.SetWrap(!b.wrap)
	case bodyLeft:
		b.pos.x = max(b.pos.x-8, 0)
		b.drawn = drawnRows{}
	case bodyRight:
		if !b.wrap {
			b.pos.x = min(b.pos.x+8, rowBytes)
			b.drawn = drawnRows{}
		}
	}
	return nil
}

// ensure loads the rows around the screen if the window does not cover them.
func (b *View) ensure() tea.Cmd {
	if b.src.Reader == nil || b.err != nil {
		return nil
	}
	from := max(b.pos.top-rowsMargin, 0)
	to := b.pos.top + b.pos.h + rowsMargin
	if b.index.done {
		to = min(to, b.index.rows)
	}
	end := b.window.from + len(b.window.rows)
	if from >= b.window.from && (to <= end || b.window.eof) {
		return nil
	}
	return b.load(b.index.before(max(b.pos.top-rowsAbove, 0)), b.pos.top, -1)
}

// load reads the rows from a mark to rowsBelow rows below row. With off ≥ 0 it finds
// and shows the row that holds that byte instead.
func (b *View) load(from rowMark, row int, off int64) tea.Cmd {
	src := b.src
	lex := lexer{syntax: SyntaxOf(src.Type)}
	return kit.Load(b.view, &b.slots.load, b.ctx, func(ctx context.Context) (bodyWindow, error) {
		return loadRows(ctx, src, from, row, off, lex)
	}, func(w bodyWindow, err error) tea.Cmd { return b.loaded(w, off, err) })
}

// failed keeps why the body cannot be read.
func (b *View) failed(err error) {
	if err != nil {
		b.err = err
	}
}

func loadRows(ctx context.Context, src Source, from rowMark, row int, off int64, lex lexer) (bodyWindow, error) {
	s := newRowScanner(src.Reader, src.Size, from)
	w := bodyWindow{jump: -1}
	for ctx.Err() == nil {
		text, m, err := s.next()
		if err == io.EOF { //nolint:errorlint // rowScanner returns it bare
			w.eof = true
			break
		}
		if err != nil {
			return w, fmt.Errorf("reading the body: %w", err)
		}
		if off >= 0 && w.jump < 0 && off < s.pos.off {
			w.jump, row = m.row, m.row
		}
		if (off < 0 || w.jump >= 0) && m.row >= row+rowsBelow {
			break
		}
		if off < 0 && m.row < row-rowsAbove {
			lex.row(text, m.seg == 0)
			continue
		}
		w.rows = append(w.rows, bodyRow{rowMark: m, text: append([]byte(nil), text...), spans: lex.row(text, m.seg == 0)})
		if off >= 0 && w.jump < 0 && len(w.rows) > 2*rowsAbove {
			w.rows = append(w.rows[:0:0], w.rows[rowsAbove:]...)
		}
	}
	if len(w.rows) > 0 {
		w.from = w.rows[0].row
	}
	return w, nil
}

func (b *View) loaded(w bodyWindow, off int64, err error) tea.Cmd {
	if err != nil {
		b.failed(err)
		return nil
	}
	b.window = w
	b.drawn = drawnRows{}
	if w.jump >= 0 {
		b.showAt(w.jump, off)
	}
	if b.pos.bottom {
		return b.toBottom()
	}
	return b.ensure()
}

// toBottom puts the last screen line of the last row at the bottom.
func (b *View) toBottom() tea.Cmd {
	b.pos.bottom = false
	b.pos.sub = b.wrapped(b.pos.top) - 1
	return b.scroll(1 - b.pos.h)
}
