package history

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// peekEvery is how often the journal is asked for new entries while the cursor is not at
// the top: the rows stay where they are, and the title says how many there are.
const peekEvery = 5 * time.Second

// news are the entries that came after the newest one that is listed.
type news struct {
	slot     kit.Slot
	at       time.Time // of the last look
	n        int
	overflow bool // there are more than a page
}

// headSize is how many of the newest entries are compared with those that are listed.
const headSize = 20

// watchHead reads the newest entries while the cursor is on the newest: another process may
// have written some, or have ended one that was under way.
func (m *Model) watchHead() tea.Cmd {
	if !m.focused || !m.loaded || m.table.Cursor() > 0 || m.log.on || m.filter.Typing() || m.load.Running() || m.walk.Running() || m.news.slot.Running() {
		return nil
	}
	filter, journal := m.filter.parsed, m.deps.Journal
	filter.Limit = headSize
	return kit.Load(kit.History, &m.news.slot, m.deps.Ctx, func(ctx context.Context) ([]model.HistoryEntry, error) {
		return journal.Entries(ctx, filter)
	}, m.headRead)
}

// headRead reads the newest page again when the entries at its head are others.
func (m *Model) headRead(rows []model.HistoryEntry, err error) tea.Cmd {
	if err != nil || m.table.Cursor() > 0 || m.load.Running() { // a journal that cannot be read is reported by what reads it next
		return nil
	}
	listed := m.win.pages[0]
	if slices.Equal(rows, listed[:min(len(listed), headSize)]) {
		return nil
	}
	return m.loadPage(0, 0, true)
}

// peek counts the new entries, unless it has done so lately.
func (m *Model) peek() tea.Cmd {
	now := m.deps.Now()
	if !m.loaded || m.table.Cursor() == 0 || m.news.slot.Running() || len(m.win.starts) == 0 || now.Sub(m.news.at).Abs() < peekEvery {
		return nil
	}
	m.news.at = now
	filter, journal, newest := m.filter.parsed, m.deps.Journal, m.win.starts[0]
	filter.Limit = pageSize
	return kit.Load(kit.History, &m.news.slot, m.deps.Ctx, func(ctx context.Context) (n int, err error) {
		rows, err := journal.Entries(ctx, filter)
		for n < len(rows) && rows[n].ID >= newest {
			n++
		}
		return n, err
	}, func(n int, err error) tea.Cmd {
		if err == nil { // a journal that cannot be read is reported by what reads it next
			m.news.n, m.news.overflow = n, n == pageSize
		}
		return nil
	})
}

// label say how many entries are new, as part of a title; "" for none.
func (n *news) label(key string) string {
	switch {
	case n.overflow:
		return fmt.Sprintf("  %d or more new, %s lists them", n.n, key)
	case n.n > 0:
		return fmt.Sprintf("  %d new, %s lists them", n.n, key)
	default:
		return ""
	}
}
