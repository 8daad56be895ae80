// Package hex shows the bytes of a body of any size: offset, sixteen bytes (eight in a
// narrow pane) and their ASCII. Only those near the screen are read.
package hex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// The bytes that are read around the screen.
const windowBytes = 64 << 10

// wide is the width from which a row has sixteen bytes.
const wide = 77

// View shows bytes. The owning view passes it every message it does not handle itself.
type View struct {
	view  kit.ViewID
	ctx   context.Context // of the owning view; every load ends with it
	theme *kit.Theme
	src   body.Source
	err   error
	top   int64 // offset of the first byte on screen, a multiple of the bytes of a row
	w, h  int
	mark  struct{ off, n int64 }
	have  window
	load  kit.Slot
}

type window struct {
	off   int64
	bytes []byte
}

// New makes an empty view of bytes; ctx ends its loads.
func New(ctx context.Context, view kit.ViewID, theme *kit.Theme) *View {
	return &View{view: view, ctx: ctx, theme: theme}
}

// Open shows another body from its beginning. The view does not close its reader.
func (v *View) Open(src body.Source) tea.Cmd {
	v.Close()
	v.src = src
	return v.ensure()
}

// Close empties the view.
func (v *View) Close() {
	v.load.Drop()
	v.src, v.err, v.top, v.have = body.Source{}, nil, 0, window{}
	v.mark.off, v.mark.n = 0, 0
}

// Opened reports whether a body is shown.
func (v *View) Opened() bool { return v.src.Reader != nil }

// JumpTo shows and marks a range of bytes.
func (v *View) JumpTo(off, n int64) tea.Cmd {
	v.mark.off, v.mark.n = off, n
	v.top = off/v.row()*v.row() - int64(v.h/3)*v.row()
	return v.scroll(0)
}

// Bindings are the view's keys.
func (v *View) Bindings() []kit.Binding { return widget.MotionBindings() }

// Update handles the keys and wheel messages that the owning view passes on.
func (v *View) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if by, ok := widget.Motion(msg.String(), max(v.h-1, 1), int(v.src.Size/v.row())+1); ok {
			return v.scroll(by)
		}
	case tea.MouseWheelMsg:
		if by, ok := widget.Wheel(msg); ok {
			return v.scroll(by)
		}
	}
	return nil
}

// row is how many bytes a row has.
func (v *View) row() int64 {
	if v.w >= wide {
		return 16
	}
	return 8
}

func (v *View) scroll(by int) tea.Cmd {
	v.place(by)
	return v.ensure()
}

// place moves by rows and stays within the body.
func (v *View) place(by int) {
	n := v.row()
	last := max((v.src.Size+n-1)/n-int64(max(v.h, 1)), 0) * n
	v.top = min(max(v.top/n*n+int64(by)*n, 0), last)
}

// ensure reads what is on the screen if it was not read.
func (v *View) ensure() tea.Cmd {
	if v.src.Reader == nil || v.err != nil {
		return nil
	}
	end := min(v.top+int64(max(v.h, 1))*v.row(), v.src.Size)
	if v.top >= v.have.off && end <= v.have.off+int64(len(v.have.bytes)) {
		return nil
	}
	r, off := v.src.Reader, max(v.top-windowBytes/2, 0)
	size := min(windowBytes, v.src.Size-off)
	return kit.Load(v.view, &v.load, v.ctx, func(context.Context) (window, error) {
		b := make([]byte, size)
		n, err := r.ReadAt(b, off)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return window{}, err
		case int64(n) < size:
			return window{}, io.ErrUnexpectedEOF // the file became shorter
		}
		return window{off, b}, nil
	}, func(read window, err error) tea.Cmd {
		if v.err = err; err != nil {
			return nil
		}
		v.have = read
		return v.ensure()
	})
}

// Render draws exactly h lines of w cells: the bytes, and below them the position. It
// remembers its size for the paging keys.
func (v *View) Render(_ bool, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	v.w, v.h = w, max(h-1, 1)
	v.place(0)
	t := v.theme
	var out strings.Builder
	out.Grow(w * h * 2)
	for y := range h - 1 {
		off := v.top + int64(y)*v.row()
		switch {
		case y == 0 && v.err != nil:
			out.WriteString(t.Bad.Render(text.Fit(" ✗ the body cannot be read: "+text.Clean(v.err.Error()), w)))
		case v.err != nil || off >= v.src.Size:
			out.WriteString(text.Spaces(w))
		default:
			v.line(&out, off)
		}
		out.WriteByte('\n')
	}
	foot := fmt.Sprintf("byte %s of %s ", text.Count(int(v.top)), text.Count(int(v.src.Size)))
	out.WriteString(text.Edge("", t.Muted.Render(foot), w))
	return out.String()
}

// line draws one row.
func (v *View) line(out *strings.Builder, off int64) {
	t, n := v.theme, v.row()
	cells := v.w
	put := func(ink kit.Ink, words string) {
		words = text.Cut(words, cells)
		cells -= text.Width(words)
		out.WriteString(ink.Render(words))
	}
	put(t.LineN, fmt.Sprintf(" %08x ", off))
	end := min(off+n, v.src.Size)
	if off < v.have.off || end > v.have.off+int64(len(v.have.bytes)) {
		put(t.Muted, " …")
		out.WriteString(text.Spaces(cells))
		return
	}
	b := v.have.bytes[off-v.have.off : end-v.have.off]
	for i := range int(n) {
		if i%8 == 0 {
			put(kit.Ink{}, " ")
		}
		if i >= len(b) {
			put(kit.Ink{}, "   ")
			continue
		}
		put(v.ink(off+int64(i), b[i]), fmt.Sprintf("%02x", b[i]))
		put(kit.Ink{}, " ")
	}
	put(kit.Ink{}, " ")
	for i, c := range b {
		shown := "."
		if c >= ' ' && c < 0x7f {
			shown = string(rune(c))
		}
		put(v.ink(off+int64(i), c), shown)
	}
	out.WriteString(text.Spaces(cells))
}

// ink is the ink of a byte: marked, printable, zero, other.
func (v *View) ink(off int64, c byte) kit.Ink {
	switch {
	case off >= v.mark.off && off < v.mark.off+v.mark.n:
		return v.theme.MatchNow
	case c >= ' ' && c < 0x7f:
		return kit.Ink{}
	case c == 0:
		return v.theme.Muted
	default:
		return v.theme.Invisible
	}
}

// Binary reports whether a body is shown as bytes: by its content type, or because there
// are zero bytes in its beginning.
func Binary(contentType string, head []byte) bool {
	t, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	t = strings.TrimSpace(t)
	for _, p := range []string{"image/", "audio/", "video/", "font/", "application/zip", "application/gzip", "application/x-gzip", "application/pdf", "application/wasm", "application/x-protobuf", "application/grpc"} {
		if strings.HasPrefix(t, p) && t != "image/svg+xml" {
			return true
		}
	}
	return strings.IndexByte(string(head), 0) >= 0
}
