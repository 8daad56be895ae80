package history

import (
	"testing"

	"zonedeck/model"
)

// page is a page of entries with the IDs from newest down to oldest.
func page(newest, oldest int64) []model.HistoryEntry {
	var out []model.HistoryEntry
	for id := newest; id >= oldest; id-- {
		out = append(out, model.HistoryEntry{ID: id, Class: model.ClassOK})
	}
	return out
}

func TestOnlyTheCursorsPageAndItsNeighboursStayInMemory(t *testing.T) {
	var w window
	next := int64(100 * pageSize)
	for p := range 50 {
		w.put(p, page(next, next-pageSize+1))
		next -= pageSize
		if len(w.pages) > keepPages {
			t.Fatalf("after page %d there are %d pages in memory", p, len(w.pages))
		}
	}
	if w.n != 50*pageSize || w.end {
		t.Errorf("%d entries known, end %v", w.n, w.end)
	}
	if _, ok := w.at(0); ok {
		t.Error("the first page is still in memory")
	}
	if p, before, ok := w.pageFor(0); !ok || p != 0 || before != 100*pageSize+1 {
		t.Errorf("back at the top it wants page %d below %d (%v)", p, before, ok)
	}
}

func TestEntriesWrittenMeanwhileDoNotShiftThePages(t *testing.T) {
	var w window
	w.put(0, page(1000, 801))
	w.put(1, page(800, 601))
	w.put(2, page(600, 401))
	if p, before, ok := w.pageFor(0); !ok || p != 0 || before != 1001 {
		t.Errorf("the first page is asked for below %d (page %d, %v), want 1001: what is newer belongs above", before, p, ok)
	}
	if a, ok := w.at(pageSize * 2); !ok || a.ID != 600 {
		t.Errorf("entry %d is %+v", pageSize*2, a)
	}
}

func TestTheNextPageIsWantedBeforeTheCursorReachesIt(t *testing.T) {
	var w window
	w.put(0, page(1000, 801))
	if _, _, ok := w.pageFor(10); ok {
		t.Error("far from the edge a page is wanted")
	}
	if p, before, ok := w.pageFor(pageSize - ahead); !ok || p != 1 || before != 801 {
		t.Errorf("near the edge it wants page %d below %d (%v)", p, before, ok)
	}
}

func TestAShortPageIsTheEnd(t *testing.T) {
	var w window
	w.put(0, page(10, 1))
	if !w.end || w.n != 10 {
		t.Errorf("end %v with %d entries", w.end, w.n)
	}
	if _, _, ok := w.pageFor(9); ok {
		t.Error("beyond the end a page is wanted")
	}
	if _, ok := w.at(10); ok {
		t.Error("there is an entry beyond the end")
	}
}

func TestTheTailReplacesWhatIsFarFromIt(t *testing.T) {
	var w window
	w.put(0, page(1000, 801))
	w.tail([]int64{1001, 801, 601, 401, 201}, page(200, 150))
	if !w.end || w.n != 4*pageSize+51 || len(w.pages) > keepPages {
		t.Errorf("end %v, %d entries, %d pages", w.end, w.n, len(w.pages))
	}
	if a, ok := w.at(w.n - 1); !ok || a.ID != 150 {
		t.Errorf("the oldest is %+v", a)
	}
}

func TestAnAnswerToAWindowThatWasResetIsIgnored(t *testing.T) {
	var w window
	w.put(3, page(400, 201))
	if w.n != 0 || len(w.pages) != 0 {
		t.Errorf("%d entries, %d pages", w.n, len(w.pages))
	}
}
