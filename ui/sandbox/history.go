package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// historyRows is how many fetches the pane lists; the tab History lists all.
const historyRows = 200

// recentFetches is how many fetches of a zone are drawn beside it.
const recentFetches = 12

// historyPane is the list of the last fetches.
type historyPane struct {
	deps    *Deps
	table   widget.Table
	rows    []model.HistoryEntry    // of the profile in use, without the calls of rotations
	flying  int                     // rows of flights above them
	newest  string                  // Ref of the first of rows when the cursor was last there or above
	news    int                     // how many have come since
	recent  map[string]model.Recent // of each zone
	want    string                  // the fetch to put the cursor on once it is listed, by its Ref
	loaded  bool
	problem string
}

func newHistoryPane(t *kit.Theme) historyPane {
	var p historyPane
	p.table.Columns = []widget.Column{
		{Title: "TIME", Width: 10},
		{Title: "CLASS", Width: 19},
		{Title: "ZONE", Width: 14, Priority: 2},
		{Title: "VIA", Width: 6, Priority: 4},
		{Title: "TOOK", Width: 8, Right: true, Priority: 3},
		{Title: "URL", Width: 16, Flex: true},
	}
	p.table.Empty = "No fetch yet. " + t.Key("sandbox.send") + " sends the request."
	return p
}

func (m *Model) loadHistory() tea.Cmd {
	history, profile := m.deps.History, m.session.ProfileName
	return tea.Batch(kit.Load(kit.Sandbox, &m.work.list, m.deps.Ctx, func(ctx context.Context) (read [2][]model.HistoryEntry, err error) {
		if read[0], err = history.Entries(ctx, model.HistoryFilter{Kind: model.HistoryFetch, Profile: profile, Without: model.SourceRotation, Limit: historyRows}); err == nil {
			read[1], err = history.Entries(ctx, model.HistoryFilter{Profile: profile, PerZone: recentFetches, Limit: 1000 * recentFetches})
		}
		return read, err
	}, m.historyLoaded), m.loadURLs())
}

// manyURLs is how many earlier URLs are offered.
const manyURLs = 500

// loadURLs reads the URLs that are offered while one is typed.
func (m *Model) loadURLs() tea.Cmd {
	history, profile := m.deps.History, m.session.ProfileName
	return kit.Load(kit.Sandbox, &m.work.urls, m.deps.Ctx, func(ctx context.Context) ([]string, error) {
		return history.URLs(ctx, profile, manyURLs)
	}, func(urls []string, err error) tea.Cmd {
		if err != nil {
			urls = nil // the history pane says what is wrong with it
		}
		m.form.form.SetRecent(string(fieldURL), urls)
		return nil
	})
}

func (m *Model) historyLoaded(read [2][]model.HistoryEntry, err error) tea.Cmd {
	p := &m.history
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			p.problem = "The history could not be read: " + err.Error()
		}
		return nil
	}
	p.loaded, p.problem, p.rows, p.recent = true, "", read[0], model.RecentOf(read[1], recentFetches)
	m.listHistory()
	return nil
}

// listHistory lists the fetches that were read, below those in flight.
func (m *Model) listHistory() {
	p := &m.history
	m.remember()
	m.flights.listed(p.rows, m.session.ProfileName)
	rows, flying := p.rows, slices.Clone(m.flights.list)
	top := p.table.Cursor() == 0
	key := func(i int) string {
		if i < len(flying) {
			return flying[i].key()
		}
		return rows[i-len(flying)].Ref
	}
	p.table.SetRowsKeyed(len(flying)+len(rows), key, func(i int) []widget.Cell {
		if i < len(flying) {
			return m.flightRow(flying[i])
		}
		return m.history.row(rows[i-len(flying)])
	})
	p.flying = len(flying)
	if top {
		p.table.SetCursor(0) // stay at the newest
	}
	p.toWanted()
	p.countNews()
	m.zoneOptions()
}

// countNews counts the fetches that came above the cursor since it was last at the newest or
// at a flight. A flight's row turns into that of its fetch, so their keys do not tell.
func (p *historyPane) countNews() {
	p.news = max(slices.IndexFunc(p.rows, func(a model.HistoryEntry) bool { return a.Ref == p.newest }), 0)
	if p.table.Cursor() <= p.flying {
		p.newest, p.news = "", 0
		if len(p.rows) > 0 {
			p.newest = p.rows[0].Ref
		}
	}
}

// title names the pane, and how many fetches are new.
func (p *historyPane) title() string {
	if p.news == 0 {
		return "History"
	}
	return fmt.Sprintf("History · %d new", p.news)
}

// toWanted puts the cursor on the wanted fetch, if the list has it.
func (p *historyPane) toWanted() {
	i := slices.IndexFunc(p.rows, func(a model.HistoryEntry) bool { return a.Ref == p.want })
	if p.want != "" && i >= 0 {
		p.table.SetCursor(p.flying + i)
		p.want = ""
	}
}

// remember fills an empty form with the zone and URL of the profile's newest fetch.
func (m *Model) remember() {
	d := m.form.draft()
	if d.URL != "" || m.form.emptied || m.session.Local || m.form.form.Picking() {
		return
	}
	for _, a := range m.history.rows {
		if a.Profile == m.session.ProfileName && a.URL != "" && a.Via != model.ViaAgent {
			d.Zone, d.URL, d.Via = a.Zone, a.URL, string(a.Via)
			if m.form.fill(d); m.form.form.Focused() == string(fieldURL) { // there is nothing left to type
				m.form.form.FocusOn(string(fieldZone), false)
			}
			return
		}
	}
}

func (p *historyPane) row(a model.HistoryEntry) []widget.Cell {
	th := p.deps.Theme
	glyph, ink := th.ClassMark(a.Class)
	return []widget.Cell{
		{Text: text.ShortClock(a.At, p.deps.Profile.Now()), Ink: th.Muted},
		{Text: glyph + " " + model.ClassWord(a.Class, a.Cause), Ink: ink},
		widget.C(a.Zone), widget.C(a.Via.String()), widget.C(text.Duration(a.Total)), widget.C(a.URL),
	}
}

// historyGist is the history in one line: the number of fetches, and the newest.
func (m *Model) historyGist() string {
	rows, flying := m.history.rows, ""
	if n := m.flights.running(); n > 0 {
		flying = fmt.Sprintf("● %d in flight · ", n)
	}
	if len(rows) == 0 {
		return flying + "nothing yet"
	}
	a := rows[0]
	outcome := model.ClassWord(a.Class, a.Cause)
	if a.Class != "" {
		glyph, _ := m.deps.Theme.ClassMark(a.Class)
		outcome = glyph + " " + outcome
	}
	return flying + fmt.Sprintf("%d · %s · %s · %s · %s", len(rows), text.Ago(a.At, m.deps.Profile.Now()), outcome, cmp.Or(a.Zone, a.Via.String()), a.URL)
}

// picked returns the fetch selected in the history.
func (p *historyPane) picked() (model.HistoryEntry, bool) {
	i := p.table.Cursor() - p.flying
	if i < 0 || i >= len(p.rows) {
		return model.HistoryEntry{}, false
	}
	return p.rows[i], true
}

// pickedFlight returns the flight selected in the history, or nil.
func (m *Model) pickedFlight() *flight {
	key, _ := m.history.table.CursorKey()
	i := slices.IndexFunc(m.flights.list, func(f *flight) bool { return f.key() == key })
	if i < 0 {
		return nil
	}
	return m.flights.list[i]
}
