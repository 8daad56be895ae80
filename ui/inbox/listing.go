package inbox

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/inbox"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// about is how many rows are read on either side of the cursor; they are read anew when it comes
// closer than half of that to their end.
const about = 256

// listing are the webhooks that match: all of their numbers, and the rows about the cursor.
type listing struct {
	filter  string // the filter that it is of
	numbers []int64
	total   int // of the inbox
	changes int64
	rows    map[int64]model.Delivery
	from    int // rows are of numbers[from:to]
	to      int
}

// at is the number of the webhook at the cursor; 0 where there is none.
func (b *Inbox) at() int64 {
	if i := b.table.Cursor(); i < len(b.list.numbers) {
		return b.list.numbers[i]
	}
	return 0
}

// indexOf is the place of a number, or that of the one that follows it; for 0 it is the first.
func (l listing) indexOf(n int64) int {
	if n == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(l.numbers, n, func(have, want int64) int { return int(min(max(want-have, -1), 1)) })
	return min(i, max(len(l.numbers)-1, 0))
}

// readList reads the numbers of what matches, and the rows about a number; same is true where
// nothing has changed since the list before.
func readList(ctx context.Context, store Store, f inbox.Filter, was listing, at int64, anew bool) (l listing, same bool, err error) {
	changes, err := store.Changes(ctx)
	if err != nil || !anew && changes == was.changes {
		if err == nil && was.waits() { // for the service, which changes nothing here
			l, err = was.read(ctx, store)
			return l, false, err
		}
		return was, err == nil, err
	}
	l.changes = changes
	if l.numbers, l.total, err = store.Numbers(ctx, f); err != nil {
		return l, false, err
	}
	l.from, l.to = l.span(l.indexOf(at))
	l, err = l.read(ctx, store)
	return l, false, err
}

// span are the rows about a place.
func (l listing) span(i int) (from, to int) { return max(i-about, 0), min(i+about, len(l.numbers)) }

func (l listing) read(ctx context.Context, store Store) (listing, error) {
	rows, err := store.Rows(ctx, l.numbers[l.from:l.to])
	l.rows = make(map[int64]model.Delivery, len(rows))
	byID := make(map[string]model.Delivery, len(rows))
	for _, d := range rows {
		byID[d.ID] = d
	}
	for _, n := range l.numbers[l.from:l.to] {
		if d, ok := byID[model.HookID(n)]; ok {
			l.rows[n] = d
		}
	}
	return l, err
}

// waits reports whether a job of the rows is not over.
func (l listing) waits() bool {
	for _, d := range l.rows {
		if d.JobState != "" && !d.JobState.Final() {
			return true
		}
	}
	return false
}

// takeList shows a list that was read, with the cursor on the webhook it was on.
func (b *Inbox) takeList(l listing) {
	at, other := b.at(), l.filter != b.list.filter
	b.list = l
	b.table.SetRowsKeyed(len(l.numbers), func(i int) string { return model.HookID(l.numbers[i]) }, b.cells)
	switch i := l.indexOf(at); {
	case len(l.numbers) > 0 && (l.numbers[i] == at || !other):
		b.table.SetCursor(i)
	default:
		b.table.SetCursor(0)
	}
	if other {
		b.table.ForgetNews()
	}
}

// nearby reads the rows about the cursor when it comes close to the end of those that are there.
func (b *Inbox) nearby() tea.Cmd {
	l, i := b.list, b.table.Cursor()
	early, late := l.from > 0 && i < l.from+about/2, l.to < len(l.numbers) && i >= l.to-about/2
	if !early && !late || b.near.Running() {
		return nil
	}
	store := b.deps.Store
	l.from, l.to = l.span(i)
	return kit.Load(kit.InOverlay(b), &b.near, b.deps.Ctx, func(ctx context.Context) (listing, error) {
		return l.read(ctx, store)
	}, b.tookNear)
}

// tookNear shows rows that were read, unless the list is another one by now.
func (b *Inbox) tookNear(l listing, err error) tea.Cmd {
	switch {
	case err != nil:
		b.problem = err.Error()
		return nil
	case l.filter == b.list.filter && l.changes == b.list.changes:
		b.list = l
	}
	return b.nearby()
}

// filterMsg handles what is the filter's.
func (b *Inbox) filterMsg(msg tea.Msg) tea.Cmd {
	cmd, event := widget.UpdateFilter(&b.filter, b.deps.Theme, msg, inbox.Fields(b.deps.Now()))
	if event == widget.FilterChanged {
		cmd = tea.Batch(cmd, b.read(true))
	}
	return cmd
}

// filterLine is the filter, with how many of the webhooks it shows.
func (b *Inbox) filterLine(w int) string {
	shown := len(b.list.numbers)
	if b.filter.Text() != b.list.filter {
		shown = -1
	}
	return b.filter.Line(b.deps.Theme, shown, b.list.total, w)
}
