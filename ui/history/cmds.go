package history

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// pageLoaded is the answer for one page.
type pageLoaded struct {
	page int
	// anew says that it replaces the whole window.
	anew      bool
	rows      []model.Activity
	unindexed int64
	err       error
}

// tailFound ends a walk to the oldest entry.
type tailFound struct {
	starts []int64
	rows   []model.Activity
	err    error
}

// reload reads the newest page, which replaces the window. The rows on the screen stay, and
// their keys work, until it is there.
func (m *Model) reload() tea.Cmd {
	m.news.n, m.news.more = 0, false
	m.walk.Drop()
	return m.loadPage(0, 0, true)
}

func (m *Model) loadPage(page int, before int64, anew bool) tea.Cmd {
	f := m.filter.parsed
	f.Before, f.Limit = before, pageSize
	journal, filtered := m.deps.Journal, m.filter.text != ""
	return kit.Do(kit.Activity, &m.load, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		var unindexed int64
		rows, err := journal.Activity(ctx, f)
		if err == nil && filtered {
			unindexed, err = journal.Unindexed(ctx)
		}
		return pageLoaded{page: page, anew: anew, rows: rows, unindexed: unindexed, err: err}
	})
}

// more loads the page the cursor needs, unless a load is already running.
func (m *Model) more() tea.Cmd {
	if m.load.Running() || m.walk.Running() || !m.loaded {
		return nil
	}
	page, before, ok := m.win.wanted(m.table.Cursor())
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
	return kit.Do(kit.Activity, &m.walk, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		for {
			f.Before = starts[len(starts)-1]
			rows, err := journal.Activity(ctx, f)
			if err != nil {
				return tailFound{err: err}
			}
			if len(rows) < pageSize {
				return tailFound{starts: starts, rows: rows}
			}
			starts = append(starts, rows[len(rows)-1].ID)
		}
	})
}

func canceled(err error) bool { return errors.Is(err, context.Canceled) }
