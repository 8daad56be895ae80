package body

import (
	"context"
	"sort"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// Search looks for query in the background and shows the first hit at or after the
// screen. An empty query ends the search and removes its marks.
func (b *View) Search(query string) tea.Cmd {
	b.slots.search.Drop()
	input := b.find.input
	b.find = finder{input: input, query: query, at: -1, from: b.topOffset()}
	b.drawn = drawnRows{}
	if query == "" || b.src.Reader == nil {
		return nil
	}
	reader, size := b.src.Reader, b.src.Size
	return kit.Follow(b.view, &b.slots.search, b.ctx, func(ctx context.Context, emit func([]int64)) (more bool, err error) {
		return searchBytes(reader, size, query, func() bool { return ctx.Err() != nil }, emit)
	}, func(offs []int64) tea.Cmd {
		b.find.hits = append(b.find.hits, offs...)
		b.drawn = drawnRows{}
		return b.firstHit(false)
	}, func(more bool, err error) tea.Cmd {
		if err != nil {
			b.failed(err)
			return nil
		}
		b.find.truncated = more
		return b.firstHit(true)
	})
}

// topOffset is the byte offset of the first row on screen.
func (b *View) topOffset() int64 {
	if r, ok := b.window.row(b.pos.top); ok {
		return r.off
	}
	return 0
}

// firstHit goes to the first hit at or after the start of the search. If all hits are
// known, it wraps around.
func (b *View) firstHit(all bool) tea.Cmd {
	if b.find.at >= 0 || len(b.find.hits) == 0 {
		return nil
	}
	i := sort.Search(len(b.find.hits), func(i int) bool { return b.find.hits[i] >= b.find.from })
	if i == len(b.find.hits) {
		if !all {
			return nil
		}
		i = 0
	}
	return b.goHit(i)
}

func (b *View) hit(by int) tea.Cmd {
	n := len(b.find.hits)
	if n == 0 {
		return nil
	}
	if b.find.at < 0 {
		return b.firstHit(true)
	}
	return b.goHit(((b.find.at+by)%n + n) % n)
}

func (b *View) goHit(i int) tea.Cmd {
	b.find.at = i
	b.drawn = drawnRows{}
	off := b.find.hits[i]
	// A hit on the screen needs no jump.
	for y := range max(b.pos.h-1, 1) {
		r, ok := b.window.row(b.pos.top + y)
		if ok && !b.wrap && off >= r.off && off < r.off+int64(len(r.text)) {
			col := cellsBefore(r.text, int(off-r.off))
			if col >= b.pos.x && col < b.pos.x+b.textWidth()-8 {
				return nil
			}
		}
	}
	return b.jump(off)
}

// inks are the marked byte ranges of one row: hits, the current hit, evidence.
func (b *View) inks(r bodyRow) []inkRange {
	var out []inkRange
	end := r.off + int64(len(r.text))
	add := func(off, n int64, ink kit.Ink) {
		if off < end && off+n > r.off {
			out = append(out, inkRange{max(int(off-r.off), 0), min(int(off+n-r.off), len(r.text)), ink})
		}
	}
	if b.pos.markOff >= 0 && b.pos.markLen > 0 {
		add(b.pos.markOff, b.pos.markLen, b.theme.MatchNow)
	}
	n := int64(len(b.find.query))
	first := sort.Search(len(b.find.hits), func(i int) bool { return b.find.hits[i]+n > r.off })
	for i := first; i < len(b.find.hits) && b.find.hits[i] < end; i++ {
		ink := b.theme.Match
		if i == b.find.at {
			ink = b.theme.MatchNow
		}
		add(b.find.hits[i], n, ink)
	}
	return out
}

// inkRange is a stretch of a row's bytes that is marked.
type inkRange struct {
	from, to int
	ink      kit.Ink
}
