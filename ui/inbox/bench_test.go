package inbox

import (
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/ui/kit"
)

// rowsStore returns rows for any numbers.
type rowsStore struct{ Store }

func (rowsStore) Rows(_ context.Context, numbers []int64) ([]model.Webhook, error) {
	list := make([]model.Webhook, len(numbers))
	for i, n := range numbers {
		list[i] = model.Webhook{ID: model.WebhookID(n), Times: 1, Verdict: model.WebhookVerified, Reason: "verified by Standard Webhooks"}
	}
	return list, nil
}

func long(b *testing.B, n int) *Inbox {
	b.Helper()
	in := New(Deps{Ctx: b.Context(), Now: time.Now, Theme: kit.NewTheme(true, false), Store: rowsStore{}})
	l := listing{numbers: make([]int64, n), total: n}
	for i := range l.numbers {
		l.numbers[i] = int64(n - i)
	}
	l.from, l.to = l.span(0)
	l, err := l.read(b.Context(), in.deps.Store)
	noerr.Must(b, err)
	in.apply(state{list: l}, nil)
	return in
}

// A key that moves the cursor, the rows it reads, and the frame at 120x40, with 100 and 1,000,000
// webhooks. The cursor ends where it began.
func BenchmarkMoveInTheInbox(b *testing.B) {
	inboxes := []*Inbox{long(b, 100), long(b, 1_000_000)}
	keys := []string{"pgdown", "pgdown", "down", "end", "up", "pgup", "home"}
	took := make([]time.Duration, len(inboxes))
	for b.Loop() {
		for i, in := range inboxes {
			began := time.Now()
			for _, key := range keys {
				cmd := in.Update(tea.KeyPressMsg{Text: key})
				if cmd != nil {
					l := in.list
					l.from, l.to = l.span(in.table.Cursor())
					l, _ = l.read(b.Context(), in.deps.Store)
					in.neighbours = kit.Slot{} // as after the command
					in.tookNear(l, nil)
				}
				_ = in.Render(120, 40)
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "x-for-10000x-rows")
}
