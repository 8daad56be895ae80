// Package inspect shows the body of an answer by pages: as it came, as the text that one
// reads, as a tree, as a picture, as bytes; each only where it applies. A filter (jq or a
// CSS selector) takes the place of the page while one types it. All reading happens in
// commands.
package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/filter"
	"zonedeck/service/readable"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/body/hex"
	"zonedeck/ui/kit/body/jsontree"
	"zonedeck/ui/kit/body/picture"
	"zonedeck/ui/kit/text"
)

// Page is a way of showing a body.
type Page string

// The pages.
const (
	Body    Page = "Body"
	Text    Page = "Text"
	Tree    Page = "Tree"
	Picture Page = "Picture"
	Hex     Page = "Hex"
)

// View shows a body. The owning view passes it every message it does not handle itself,
// kit.Tick among them.
type View struct {
	view  kit.ViewID
	ctx   context.Context // of the owning view; every load ends with it
	theme *kit.Theme
	src   body.Source
	url   string
	pages []Page
	at    Page

	body    *body.View
	text    textPage
	tree    *jsontree.View
	picture *picture.View
	hex     *hex.View
	filter  filterLine
}

// textPage is an HTML page as Markdown.
type textPage struct {
	view *body.View
	load kit.Slot
	note string // what the text leaves out
	err  error
	read bool
}

// Remember keeps the filters in a file beyond this session; it is called before the first is opened.
func (v *View) Remember(h filter.History) { v.filter.past = h }

// New makes an empty view; ctx ends its loads. by is what the terminal draws.
func New(ctx context.Context, view kit.ViewID, theme *kit.Theme, by picture.Protocol) *View {
	v := &View{
		view: view, ctx: ctx, theme: theme,
		body: body.New(ctx, view, theme), tree: jsontree.New(ctx, view, theme),
		picture: picture.New(ctx, view, theme, by), hex: hex.New(ctx, view, theme),
	}
	v.text.view = body.New(ctx, view, theme)
	v.text.view.SetProse()
	v.filter = newFilterLine(ctx, view, theme)
	v.pages, v.at = []Page{Body}, Body
	return v
}

// Open shows another body, which came from url, on its first page, and releases the
// previous one.
func (v *View) Open(src body.Source, url string) tea.Cmd {
	gone := v.Close()
	v.src, v.url = src, url
	v.pages = pagesOf(src)
	v.filter.kind = ""
	if !slices.Contains(v.pages, Hex) {
		v.filter.kind = filter.KindOf(src.Type, src.Head)
	}
	return tea.Batch(gone, v.body.Open(src), v.Show(v.pages[0]))
}

// pagesOf are the pages that a body has, the best first.
func pagesOf(src body.Source) []Page {
	switch {
	case src.Reader == nil || src.Size <= 0:
		return []Page{Body}
	case picture.Image(src.Type, src.Head):
		return []Page{Picture, Hex, Body}
	case hex.Binary(src.Type, src.Head):
		return []Page{Hex, Body}
	}
	switch filter.KindOf(src.Type, src.Head) {
	case filter.JQ:
		return []Page{Body, Tree}
	case filter.CSS:
		return []Page{Body, Text}
	}
	return []Page{Body}
}

// Close releases the body; the view is empty afterwards.
func (v *View) Close() tea.Cmd {
	v.filter.close()
	v.text.load.Drop()
	v.text.view.Close()
	v.text.note, v.text.err, v.text.read = "", nil, false
	v.tree.Close()
	v.hex.Close()
	gone := v.picture.Close()
	v.body.Close() // it holds the reader of all
	v.src, v.url = body.Source{}, ""
	v.pages, v.at = []Page{Body}, Body
	return gone
}

// Pages are the pages of the body, the one to show first at the beginning.
func (v *View) Pages() []Page { return v.pages }

// Show opens a page. What it needs is read then.
func (v *View) Show(p Page) tea.Cmd {
	if !slices.Contains(v.pages, p) {
		p = v.pages[0]
	}
	var gone tea.Cmd
	if v.at == Picture && p != Picture {
		gone = v.picture.Leave()
	}
	v.at = p
	v.filter.end()
	if v.src.Reader == nil {
		return gone
	}
	switch {
	case p == Tree && !v.tree.Opened():
		return tea.Batch(gone, v.tree.Open(v.src, v.treeBuilt))
	case p == Picture && !v.picture.Opened():
		return tea.Batch(gone, v.picture.Open(v.src))
	case p == Hex && !v.hex.Opened():
		return tea.Batch(gone, v.hex.Open(v.src))
	case p == Text && !v.text.read:
		return tea.Batch(gone, v.readText())
	}
	return gone
}

// Leave is called when no page of the body is on the screen any more.
func (v *View) Leave() tea.Cmd { return v.picture.Leave() }

func (v *View) readText() tea.Cmd {
	v.text.read = true
	src, url := v.src, v.url
	return kit.Load(v.view, &v.text.load, v.ctx, func(context.Context) (readable.Text, error) {
		return readable.Markdown(src.Reader, src.Size, url)
	}, v.showText)
}

func (v *View) showText(t readable.Text, err error) tea.Cmd {
	if err != nil {
		v.text.err = err
		return nil
	}
	switch {
	case t.Cut && t.Tables:
		v.text.note = fmt.Sprintf("the first %s of the page, its large tables as words", text.Bytes(readable.MaxInput))
	case t.Cut:
		v.text.note = fmt.Sprintf("the first %s of the page", text.Bytes(readable.MaxInput))
	case t.Tables:
		v.text.note = "the tables are too large and stand here as words"
	case t.Markdown == "":
		v.text.note = "the page has no text"
	}
	b := []byte(t.Markdown)
	return v.text.view.Open(body.Source{Reader: bytes.NewReader(b), Size: int64(len(b)), Type: "text/markdown"})
}

// JumpTo shows and marks a range of bytes of the body: the place that evidence points to.
func (v *View) JumpTo(off, n int64) tea.Cmd {
	v.filter.close()
	if slices.Contains(v.pages, Hex) {
		return tea.Batch(v.Show(Hex), v.hex.JumpTo(off, n))
	}
	return tea.Batch(v.Show(Body), v.body.JumpTo(off, n))
}

// At is the page on the screen.
func (v *View) At() Page { return v.at }

// Filtered is the filter whose result is on the screen in place of the page, as in "jq .items[]"; "" without one.
func (v *View) Filtered() string {
	if !v.filter.on || v.filter.typing || v.filter.res.Matches == 0 {
		return ""
	}
	return string(v.filter.kind) + " " + v.filter.ran
}

// CapturingText reports whether a search or a filter is being typed.
func (v *View) CapturingText() bool {
	if v.filter.on {
		return v.filter.typing || v.filter.out.CapturingText()
	}
	t := v.viewer()
	return t != nil && t.CapturingText()
}

// viewer is the text that is on the screen, or nil.
func (v *View) viewer() *body.View {
	switch {
	case v.at == Body, v.at == Tree && v.noTree():
		return v.body
	case v.at == Text:
		return v.text.view
	}
	return nil
}

// noTree reports whether the body turned out not to be JSON: then its text is shown.
func (v *View) noTree() bool {
	f := v.tree.Fault()
	return f != nil && (!f.Partial || v.tree.Empty())
}

// Bindings are the keys of the page on the screen.
func (v *View) Bindings() []kit.Binding {
	if v.filter.on {
		return v.filter.bindings()
	}
	var out []kit.Binding
	switch t := v.viewer(); {
	case t != nil:
		out = t.Bindings()
		if t.CapturingText() {
			return out
		}
	case v.at == Tree:
		out = v.tree.Bindings()
	case v.at == Picture:
		out = v.picture.Bindings()
	case v.at == Hex:
		out = v.hex.Bindings()
	}
	b := kit.Binding{Name: "body.filter", Keys: []string{"|"}, Label: "filter", Help: "Filter the body as you type: jq for JSON, a CSS selector for HTML.", Synonyms: "filter", Group: "Body", Intent: openFilter{}}
	if v.filter.kind == "" || v.src.Reader == nil {
		b.Disabled, b.Hidden = "filters read JSON (jq) and HTML (CSS)", true
	} else {
		b.Label = string(v.filter.kind)
	}
	return append([]kit.Binding{b}, out...)
}

// treeBuilt shows the text where it is not JSON.
func (v *View) treeBuilt() tea.Cmd {
	if !v.noTree() {
		return nil
	}
	return v.body.JumpTo(min(v.tree.Fault().Off, v.src.Size-1), 1)
}

// Update handles the intents of the page on the screen, and the keys and wheel messages that the owning
// view passes on.
func (v *View) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case openFilter:
		return v.filter.open(v.src)
	case kit.Tick:
		if v.at == Picture {
			return v.picture.Update(msg)
		}
		return nil
	case filterIntent:
		return v.filter.act(msg)
	}
	if _, wheel := msg.(tea.MouseWheelMsg); v.filter.on && (!wheel || !v.filter.typing) { // the page is on the screen then
		return v.filter.input(msg)
	}
	switch t := v.viewer(); {
	case t != nil:
		return t.Update(msg)
	case v.at == Tree:
		return v.tree.Update(msg)
	case v.at == Picture:
		return v.picture.Update(msg)
	default:
		return v.hex.Update(msg)
	}
}

// Render draws exactly h lines of w cells.
func (v *View) Render(focused bool, w, h int) string {
	if v.filter.on {
		return v.filter.render(func(h int) string { return v.renderPage(focused, w, h) }, focused, w, h)
	}
	return v.renderPage(focused, w, h)
}

func (v *View) renderPage(focused bool, w, h int) string {
	t := v.theme
	note := ""
	switch v.at {
	case Tree:
		if !v.noTree() {
			return v.tree.Render(focused, w, h)
		}
		note = t.Warn.Render(text.Fit(" ! Shown as text: "+text.Clean(v.tree.Fault().String()), w))
	case Picture:
		return v.picture.Render(focused, w, h)
	case Hex:
		return v.hex.Render(focused, w, h)
	case Text:
		switch {
		case v.text.err != nil:
			note = t.Warn.Render(text.Fit(" ! "+text.Clean(v.text.err.Error()), w))
		case v.text.load.Running():
			note = t.Muted.Render(text.Fit(" reading the page …", w))
		case v.text.note != "":
			note = t.Warn.Render(text.Fit(" ! "+v.text.note, w))
		}
	}
	if note == "" || h < 2 {
		return v.viewer().Render(focused, w, h)
	}
	if v.at == Text && (v.text.err != nil || v.text.load.Running()) {
		return note + blank(w, h-1)
	}
	return note + "\n" + v.viewer().Render(focused, w, h-1)
}

// blank is h empty lines, each after a line break.
func blank(w, h int) string {
	out := ""
	for range h {
		out += "\n" + text.Spaces(w)
	}
	return out
}
