package jobs

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// headEvery is how often the newest job of the ledger is compared with the one that is listed.
const headEvery = 5 * time.Second

// headRead is the newest job of the ledger, and how many it has.
type headRead struct {
	newest []model.Job // at most one
	total  int
	err    error
}

// watchHead looks whether another process has begun a job, which may have ended before anybody
// here could follow it.
func (m *Model) watchHead() tea.Cmd {
	now, h := m.deps.Now(), &m.ledger.head
	if !m.ledger.loaded || m.ledger.slot.Running() || h.slot.Running() || now.Sub(h.at).Abs() < headEvery {
		return nil
	}
	h.at = now
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &h.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		newest, total, err := l.Jobs(ctx, 1)
		return headRead{newest, total, err}
	})
}

// headRead reads the list again where the ledger has another newest job.
func (m *Model) headRead(msg headRead) tea.Cmd {
	if msg.err != nil || len(msg.newest) == 0 { // a ledger that cannot be read is told by what reads it next
		return nil
	}
	newest := msg.newest[0]
	for _, j := range m.ledger.jobs {
		if j.ID == newest.ID && msg.total == m.ledger.total && !newest.Updated.After(j.Updated) {
			return nil
		}
	}
	return tea.Batch(m.load(), m.drift.Refresh())
}
