package jobs

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// newestEvery is how often the newest job of the ledger is compared with the one that is listed.
const newestEvery = 5 * time.Second

// watchNewest looks whether another process has begun a job, which may have ended before anybody
// here could follow it.
func (m *Model) watchNewest() tea.Cmd {
	type read struct {
		jobs  []model.Job // at most one
		total int
	}
	now, h := m.deps.Clock.Now(), &m.ledger.newest
	if !m.ledger.loaded || m.ledger.slot.Running() || h.slot.Running() || now.Sub(h.at).Abs() < newestEvery {
		return nil
	}
	h.at = now
	jobs := m.deps.Jobs
	return kit.Load(kit.Jobs, &h.slot, m.deps.Ctx, func(ctx context.Context) (out read, err error) {
		out.jobs, out.total, err = jobs.Jobs(ctx, 1)
		return out, err
	}, func(out read, err error) tea.Cmd {
		if err != nil || len(out.jobs) == 0 { // what reads the ledger next says that it cannot be read
			return nil
		}
		return m.newestRead(out.jobs[0], out.total)
	})
}

// newestRead reads the list again where the ledger has another newest job.
func (m *Model) newestRead(newest model.Job, total int) tea.Cmd {
	for _, j := range m.ledger.jobs {
		if j.ID == newest.ID && total == m.ledger.total && !newest.Updated.After(j.Updated) {
			return nil
		}
	}
	return tea.Batch(m.load(), m.drift.Refresh())
}
