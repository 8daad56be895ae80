package picture

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/text"
)

// View shows an image. The owning view passes it every message it does not handle itself,
// and kit.Tick while it is on the screen.
type View struct {
	view  kit.ViewID
	ctx   context.Context // of the owning view; every load ends with it
	theme *kit.Theme
	by    Protocol
	src   body.Source
	pic   decoded
	err   error

	size  size // drawn last
	drawn struct {
		size    size
		version int
		lines   []string
	}
	placed size // that the terminal has the image for; zero for none
	slots  struct{ load, place kit.Slot }
}

type size struct{ cols, rows int }

// wholeView shows the picture over the whole terminal.
type wholeView struct{}

// New makes an empty view of a picture; ctx ends its loads.
func New(ctx context.Context, view kit.ViewID, theme *kit.Theme, by Protocol) *View {
	return &View{view: view, ctx: ctx, theme: theme, by: by}
}

// Open decodes another body. The view does not close its reader.
func (v *View) Open(src body.Source) tea.Cmd {
	gone := v.Close()
	v.src = src
	return tea.Batch(gone, kit.Load(v.view, &v.slots.load, v.ctx, func(context.Context) (decoded, error) {
		return decode(src.Reader, src.Size)
	}, func(pic decoded, err error) tea.Cmd {
		if v.err = err; err != nil {
			return nil
		}
		v.pic, v.drawn.lines = pic, nil
		return v.place()
	}))
}

// Opened reports whether a body is shown.
func (v *View) Opened() bool { return v.src.Reader != nil }

// Close empties the view, and the terminal forgets the image.
func (v *View) Close() tea.Cmd {
	v.slots.load.Drop()
	v.src, v.pic, v.err, v.drawn.lines = body.Source{}, decoded{}, nil, nil
	return v.Leave()
}

// Leave makes the terminal forget the image while another page is shown.
func (v *View) Leave() tea.Cmd {
	v.slots.place.Drop()
	had := v.placed != size{}
	v.placed = size{}
	if !had {
		return nil
	}
	return tea.Raw(remove())
}

// Bindings are the picture's keys.
func (v *View) Bindings() []kit.Binding {
	none := ""
	switch {
	case v.err != nil:
		none = "there is no picture"
	case v.pic.img == nil:
		none = "the picture is being read"
	}
	return []kit.Binding{{
		Name: "picture.pixels", Keys: []string{"enter"}, Label: "in pixels", Group: "Picture", Intent: wholeView{}, Disabled: none,
		Help: "Show the picture over the whole terminal, if it draws sixel or kitty graphics. Any key comes back.",
	}}
}

// Update handles the view's messages.
func (v *View) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case kit.Tick:
		return v.place()
	case wholeView:
		return tea.Exec(&full{ctx: v.ctx, img: v.pic.img}, func(err error) tea.Msg {
			return kit.Call(v.view, func() tea.Cmd { return v.afterWhole(err) })
		})
	}
	return nil
}

// afterWhole follows the whole view, which took the image.
func (v *View) afterWhole(err error) tea.Cmd {
	v.placed, v.drawn.lines = size{}, nil
	if err != nil {
		return tea.Batch(v.place(), kit.Warn("The picture is drawn in cells: "+err.Error()+"."))
	}
	return v.place()
}

// place hands the image to a terminal with placeholders, in the size drawn last. Until
// then half blocks are shown.
func (v *View) place() tea.Cmd {
	if v.by != Kitty || v.pic.img == nil || v.size == (size{}) || v.placed == v.size || v.slots.place.Running() {
		return nil
	}
	img, at := v.pic.img, v.size
	return kit.Load(v.view, &v.slots.place, v.ctx, func(context.Context) (string, error) {
		return transmit(img, at.cols, at.rows)
	}, func(seq string, err error) tea.Cmd {
		if err != nil { // half blocks stay
			v.by = HalfBlocks
			return nil
		}
		v.placed, v.drawn.lines = at, nil
		return tea.Raw(seq)
	})
}

// Render draws exactly h lines of w cells: the picture, and below it what it is. It
// remembers its size.
func (v *View) Render(_ bool, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	t := v.theme
	lines := make([]string, 0, h)
	switch {
	case v.err != nil:
		lines = append(lines, t.Warn.Render(text.Fit(" ! "+text.Clean(v.err.Error())+"; ] shows the bytes", w)))
	case v.pic.img == nil:
		lines = append(lines, t.Muted.Render(text.Fit(" reading …", w)))
	case h > 1:
		lines = append(lines, v.cells(w-2, h-1)...)
	}
	for i := range lines {
		lines[i] += text.Spaces(w - text.Width(lines[i]))
	}
	for len(lines) < h-1 {
		lines = append(lines, text.Spaces(w))
	}
	return strings.Join(append(lines[:h-1], v.foot(w)), "\n")
}

// cells draws the picture into at most w×h cells; a cell is twice as high as wide.
func (v *View) cells(w, h int) []string {
	b := v.pic.img.Bounds()
	cols, pix := fit(b.Dx(), b.Dy(), min(max(w, 1), maxPlace, b.Dx()), min(2*h, 2*maxPlace, 2*b.Dy()))
	at := size{cols, (pix + 1) / 2}
	v.size = at
	if v.drawn.lines == nil || v.drawn.size != at || v.drawn.version != v.theme.Version {
		v.drawn.size, v.drawn.version = at, v.theme.Version
		if v.placed == at {
			v.drawn.lines = placeholders(cols, at.rows)
		} else {
			v.drawn.lines = halfBlocks(scale(v.pic.img, cols, pix), v.theme.NoColor)
		}
		for i := range v.drawn.lines {
			v.drawn.lines[i] = " " + v.drawn.lines[i]
		}
	}
	return append([]string(nil), v.drawn.lines...)
}

func (v *View) foot(w int) string {
	if v.pic.img == nil {
		return text.Spaces(w)
	}
	how := "half blocks"
	if v.placed == v.size && v.by == Kitty {
		how = "kitty graphics"
	}
	what := fmt.Sprintf("%s, %d × %d pixels · drawn as %s ", strings.ToUpper(v.pic.format), v.pic.w, v.pic.h, how)
	return text.Edge("", v.theme.Muted.Render(what), w)
}
