package history

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// reload reads the newest page, which replaces the window. The rows on the screen stay, and
// their keys work, until it is there.
func (m *Model) reload() tea.Cmd {
	m.news.n, m.news.overflow = 0, false
	m.walk.Drop()
	return m.loadPage(0, 0, true)
}

// loadPage reads the n-th page; anew says that it replaces the whole window.
func (m *Model) loadPage(n int, before int64, anew bool) tea.Cmd {
	f := m.filter.parsed
	f.Before, f.Limit = before, pageSize
	journal := m.deps.Journal
	return kit.Load(kit.History, &m.load, m.deps.Ctx, func(ctx context.Context) ([]model.HistoryEntry, error) {
		return journal.Entries(ctx, f)
	}, func(rows []model.HistoryEntry, err error) tea.Cmd { return m.pageLoaded(n, rows, anew, err) })
}

// loadMore loads the page the cursor needs, unless a load is already running.
func (m *Model) loadMore() tea.Cmd {
	if m.load.Running() || m.walk.Running() || !m.loaded {
		return nil
	}
	page, before, ok := m.win.pageFor(m.table.Cursor())
	if !ok {
		return nil
	}
	return m.loadPage(page, before, false)
}

// toEnd walks from the last known page to the oldest entry and keeps only the
// start of each page.
func (m *Model) toEnd() tea.Cmd {
	f := m.filter.parsed
	f.Limit = pageSize
	starts := append([]int64(nil), m.win.starts...)
	journal := m.deps.Journal
	return kit.Load(kit.History, &m.walk, m.deps.Ctx, func(ctx context.Context) ([]model.HistoryEntry, error) {
		for {
			f.Before = starts[len(starts)-1]
			rows, err := journal.Entries(ctx, f)
			if err != nil || len(rows) < pageSize {
				return rows, err
			}
			starts = append(starts, rows[len(rows)-1].ID)
		}
	}, func(rows []model.HistoryEntry, err error) tea.Cmd { return m.tailFound(starts, rows, err) })
}

func canceled(err error) bool { return errors.Is(err, context.Canceled) }
