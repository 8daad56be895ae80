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

// rowsAround is how many rows are read on each side of the cursor. When it comes closer to their end than half
// of that, they are read again.
const rowsAround = 256

// listing is the list of matching webhooks: all their numbers, and the rows around the cursor.
type listing struct {
	filter  string // that the webhooks match
	numbers []int64
	total   int // of all webhooks in the inbox
	changes int64
	rows    map[int64]model.Webhook
	from    int // rows are those of numbers[from:to]
	to      int
}

// at is the number of the webhook at the cursor, or 0.
func (b *Inbox) at() int64 {
	if i := b.table.Cursor(); i < len(b.list.numbers) {
		return b.list.numbers[i]
	}
	return 0
}

// indexOf is the index of a number, or of the next lower one, or the last index. For 0 it is the first.
func (l listing) indexOf(n int64) int {
	if n == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(l.numbers, n, func(have, want int64) int { return int(min(max(want-have, -1), 1)) })
	return min(i, max(len(l.numbers)-1, 0))
}

// readList reads the numbers of matching webhooks, and the rows around the number at. same is true if
// nothing has changed since the list was.
func readList(ctx context.Context, store Store, f inbox.Filter, was listing, at int64, anew bool) (l listing, same bool, err error) {
	changes, err := store.Changes(ctx)
	if err != nil || !anew && changes == was.changes {
		if err == nil && was.waits() { // the state of a job changes nothing in the inbox
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

// span are the bounds of the rows around an index.
func (l listing) span(i int) (from, to int) {
	return max(i-rowsAround, 0), min(i+rowsAround, len(l.numbers))
}

func (l listing) read(ctx context.Context, store Store) (listing, error) {
	rows, err := store.Rows(ctx, l.numbers[l.from:l.to])
	l.rows = make(map[int64]model.Webhook, len(rows))
	byID := make(map[string]model.Webhook, len(rows))
	for _, d := range rows {
		byID[d.ID] = d
	}
	for _, n := range l.numbers[l.from:l.to] {
		if d, ok := byID[model.WebhookID(n)]; ok {
			l.rows[n] = d
		}
	}
	return l, err
}

// waits reports whether the rows have a job that is not over.
func (l listing) waits() bool {
	for _, d := range l.rows {
		if d.JobState != "" && !d.JobState.Final() {
			return true
		}
	}
	return false
}

// takeList shows a list, with the cursor on the same webhook as before.
func (b *Inbox) takeList(l listing) {
	at, other := b.at(), l.filter != b.list.filter
	b.list = l
	b.table.SetRowsKeyed(len(l.numbers), func(i int) string { return model.WebhookID(l.numbers[i]) }, b.cells)
	b.table.SetCursor(l.indexOf(at))
	if other {
		if b.at() != at {
			b.table.SetCursor(0)
		}
		b.table.ForgetNews()
	}
}

// nearby reads the rows around the cursor if it is close to the end of the loaded ones.
func (b *Inbox) nearby() tea.Cmd {
	l, i := b.list, b.table.Cursor()
	early, late := l.from > 0 && i < l.from+rowsAround/2, l.to < len(l.numbers) && i >= l.to-rowsAround/2
	if !early && !late || b.neighbours.Running() {
		return nil
	}
	store := b.deps.Store
	l.from, l.to = l.span(i)
	return kit.Load(kit.InOverlay(b), &b.neighbours, b.deps.Ctx, func(ctx context.Context) (listing, error) {
		return l.read(ctx, store)
	}, b.tookNear)
}

// tookNear shows rows that were read, unless the list has changed since.
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

// filterMsg passes a message to the filter.
func (b *Inbox) filterMsg(msg tea.Msg) tea.Cmd {
	cmd, event := widget.UpdateFilter(&b.filter, b.deps.Theme, msg, inbox.Fields(b.deps.Now()))
	if event == widget.FilterChanged {
		cmd = tea.Batch(cmd, b.read(true))
	}
	return cmd
}

// filterLine draws the filter, with how many webhooks match.
func (b *Inbox) filterLine(w int) string {
	shown := len(b.list.numbers)
	if b.filter.Text() != b.list.filter {
		shown = -1
	}
	return b.filter.Line(b.deps.Theme, shown, b.list.total, w)
}
