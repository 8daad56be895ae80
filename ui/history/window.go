package history

import "zonedeck/model"

const (
	// pageSize is how many entries one load asks for.
	pageSize = 200
	// keepPages is how many pages stay in memory: the cursor's and its neighbours.
	keepPages = 3
	// ahead is how close the cursor may come to the end of a page before the next
	// one is loaded.
	ahead = 60
)

// window is the part of the timeline in memory. A page is identified by the entry
// ID it starts below, so that new entries do not shift it. The zero value is an
// empty window.
type window struct {
	starts []int64 // starts[p]: page p holds entries with a smaller ID; 0 is "from the newest"
	pages  map[int][]model.HistoryEntry
	n      int  // entries whose position is known
	end    bool // the oldest entry is among them
}

// at returns entry i, newest first; false if its page is not in memory.
func (w *window) at(i int) (model.HistoryEntry, bool) {
	rows, ok := w.pages[i/pageSize]
	if !ok || i < 0 || i%pageSize >= len(rows) {
		return model.HistoryEntry{}, false
	}
	return rows[i%pageSize], true
}

// pageFor returns the page to load for a cursor: the one it is on, or else the
// neighbour it is close to.
func (w *window) pageFor(cursor int) (page int, before int64, ok bool) {
	if len(w.starts) == 0 {
		return 0, 0, true
	}
	current := cursor / pageSize
	near := []int{current}
	if cursor%pageSize >= pageSize-ahead {
		near = append(near, current+1)
	}
	if cursor%pageSize < ahead {
		near = append(near, current-1)
	}
	for _, p := range near {
		if p < 0 || p >= len(w.starts) {
			continue
		}
		if _, have := w.pages[p]; !have {
			return p, w.starts[p], true
		}
	}
	return 0, 0, false
}

// put stores a page and drops the pages far from it.
func (w *window) put(page int, rows []model.HistoryEntry) {
	if w.pages == nil {
		w.pages = make(map[int][]model.HistoryEntry, keepPages+1)
	}
	if len(w.starts) == 0 {
		w.starts = []int64{0}
	}
	if page >= len(w.starts) {
		return // an answer to a window that was reset
	}
	w.pages[page] = rows
	if page == 0 && len(rows) > 0 {
		w.starts[0] = rows[0].ID + 1 // later entries are above the window
	}
	if page == len(w.starts)-1 {
		w.n = page*pageSize + len(rows)
		if len(rows) < pageSize {
			w.end = true
		} else if last := rows[len(rows)-1].ID; last > 0 {
			w.starts = append(w.starts, last)
		}
	}
	for p := range w.pages {
		if p < page-1 || p > page+1 {
			delete(w.pages, p)
		}
	}
}

// tail stores the result of a walk to the oldest entry: the start of each page,
// and the entries of the last one.
func (w *window) tail(starts []int64, rows []model.HistoryEntry) {
	if len(starts) == 0 {
		return
	}
	last := len(starts) - 1
	w.starts, w.end = starts, true
	w.n = last*pageSize + len(rows)
	if w.pages == nil {
		w.pages = make(map[int][]model.HistoryEntry, keepPages+1)
	}
	w.pages[last] = rows
	for p := range w.pages {
		if p < last-1 {
			delete(w.pages, p)
		}
	}
}

// rates counts the entries in memory by class; entries without one are left out.
func (w *window) rates() (byClass map[model.Class]int, total int) {
	byClass = make(map[model.Class]int)
	for _, rows := range w.pages {
		for _, a := range rows {
			if a.Class != "" {
				byClass[a.Class]++
				total++
			}
		}
	}
	return byClass, total
}

// spend is what the fetches and the tests of logins in memory cost, by profile.
func (w *window) spend() map[string]model.Spend {
	sums := map[string]model.Spend{}
	for _, rows := range w.pages {
		for _, a := range rows {
			if a.Billed() {
				sum := sums[a.Profile]
				sum.Add(a.Cost, a.Priced)
				sums[a.Profile] = sum
			}
		}
	}
	return sums
}
