package body

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit/widget"
)

// bodyIntent is what a key of the viewer does.
type bodyIntent int

const (
	bodySearch bodyIntent = iota
	bodyFindGo
	bodyFindEnd
	bodyNext
	bodyPrev
	bodyWrap
	bodyLeft
	bodyRight
)

func (b *View) page() int { return max(b.pos.h-1, 1) }

func (b *View) motion(key string) tea.Cmd {
	switch key {
	case "home", "g":
		b.pos.sub, b.pos.x, b.pos.wantEnd, b.pos.wantOff = 0, 0, false, -1
		return b.goTo(0)
	case "end", "G":
		b.pos.wantEnd = true
		return b.pending()
	}
	by, ok := widget.Motion(key, b.page(), 0)
	if !ok {
		return nil
	}
	return b.scroll(by)
}

// scroll moves by screen lines.
func (b *View) scroll(by int) tea.Cmd {
	b.pos.wantEnd, b.pos.wantOff = false, -1
	if !b.wrap {
		return b.goTo(b.pos.top + by)
	}
	for ; by > 0; by-- {
		b.pos.sub++
		if b.pos.sub >= b.wrapped(b.pos.top) {
			if b.pos.top >= b.lastTop() {
				b.pos.sub--
				break
			}
			b.pos.top++
			b.pos.sub = 0
		}
	}
	for ; by < 0; by++ {
		if b.pos.sub > 0 {
			b.pos.sub--
		} else if b.pos.top > 0 {
			b.pos.top--
			b.pos.sub = b.wrapped(b.pos.top) - 1
		}
	}
	return b.ensure()
}

// lastTop is the last row that may stand at the top of the screen.
func (b *View) lastTop() int {
	if b.wrap {
		return max(b.known()-1, 0)
	}
	return max(b.known()-max(b.pos.h, 1), 0)
}

// known is the number of rows known so far.
func (b *View) known() int {
	n := b.index.rows
	if !b.index.done {
		n = max(n, b.window.from+len(b.window.rows))
	}
	return n
}

// goTo puts a row at the top and loads what is missing around it.
func (b *View) goTo(row int) tea.Cmd {
	b.pos.top = min(max(row, 0), b.lastTop())
	return b.ensure()
}

// showAt scrolls so that a row is a third down the screen and its byte off is visible.
func (b *View) showAt(row int, off int64) {
	r, ok := b.window.row(row)
	if !ok {
		return
	}
	at := int(off - r.off)
	if b.wrap {
		b.pos.top, b.pos.sub = row, b.wrappedLineOf(r, at)
		for range b.pos.h / 3 {
			if b.pos.sub > 0 {
				b.pos.sub--
			} else if b.pos.top > b.window.from {
				b.pos.top--
				b.pos.sub = b.wrapped(b.pos.top) - 1
			}
		}
		return
	}
	b.pos.top = min(max(row-b.pos.h/3, 0), b.lastTop())
	col := cellsBefore(r.text, at)
	width := max(b.textWidth(), 1)
	if col < b.pos.x || col >= b.pos.x+width-8 {
		b.pos.x = max(col-width/2, 0)
	}
	b.drawn = drawnRows{}
}

// jump shows a byte offset, now or as soon as the index reaches it.
func (b *View) jump(off int64) tea.Cmd {
	b.pos.wantEnd = false
	b.pos.wantOff = off
	return b.pending()
}

// pending carries out a waiting jump if the index has reached its target.
func (b *View) pending() tea.Cmd {
	switch {
	case b.pos.wantEnd && b.index.done:
		b.pos.wantEnd = false
		if b.wrap {
			b.pos.top, b.pos.sub, b.pos.bottom = max(b.index.rows-1, 0), 0, true
			if cmd := b.ensure(); cmd != nil {
				return cmd
			}
			return b.toBottom()
		}
		return b.goTo(b.index.rows)
	case b.pos.wantOff >= 0 && (b.index.done || b.pos.wantOff < b.index.scanned):
		off := b.pos.wantOff
		b.pos.wantOff = -1
		return b.load(b.index.beforeOffset(off), 0, off)
	}
	return nil
}
