package history_test

import (
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
)

func TestNewEntriesAreCountedWhileTheCursorIsBelowTheTop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{all: entries(300)}
		s := open(t, j, 120, 40)
		s.Press("j")
		s.Expect("2 of 200 or more")
		j.mu.Lock()
		j.all = append([]model.HistoryEntry{{ID: 9002, Profile: "local", At: time.Now(), Kind: model.HistoryFetch, URL: "http://new.test/"}, {ID: 9001, Profile: "local", At: time.Now()}}, j.all...)
		j.mu.Unlock()
		s.ExpectNot("new,")
		s.After(6 * time.Second)
		s.Expect("2 of 200 or more  2 new, r lists them")
		before := j.calls()
		s.After(2 * time.Second)
		if n := j.calls(); n != before {
			t.Errorf("the journal was asked %d times within two seconds", n-before)
		}
		s.Press("ctrl+r")
		s.Expect("1 of 200 or more", "http://new.test/")
		s.ExpectNot("new,")
		before = j.calls()
		s.After(12 * time.Second)
		if n := j.calls() - before; n > 13 {
			t.Errorf("twelve seconds at the top asked the journal %d times", n)
		}
		if last := j.asked[len(j.asked)-1]; last.Limit > 50 {
			t.Errorf("to see whether there is news, %d entries are read", last.Limit)
		}
	})
}

func TestWhatAnotherProcessDoesIsShownWhileItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{all: entries(300)}
		s := open(t, j, 120, 40)
		s.Press("pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "g")
		s.Expect("1 of 300")
		change := func(with func(all []model.HistoryEntry) []model.HistoryEntry) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.all = with(j.all)
		}
		call := model.HistoryEntry{ID: 9001, Profile: "local", At: time.Now(), Kind: model.HistoryAgent, Source: model.SourceAgent, URL: "http://shop.test/", Text: "fetch: under way"}
		change(func(all []model.HistoryEntry) []model.HistoryEntry { return append([]model.HistoryEntry{call}, all...) })
		s.After(2 * time.Second)
		s.Expect("1 of 200 or more", "http://shop.test/  fetch: under way", "by an agent")
		fetch := model.HistoryEntry{ID: 9002, Profile: "local", At: time.Now(), Kind: model.HistoryFetch, Source: model.SourceAgent, Class: model.ClassOK, URL: "http://shop.test/"}
		change(func(all []model.HistoryEntry) []model.HistoryEntry {
			call.Text = "fetch: ok"
			proof := model.HistoryEntry{ID: 9003, Profile: "local", At: time.Now(), Kind: model.HistoryFetch, Source: model.SourceRotation, Cause: model.CauseWanted, Status: 401, URL: "http://lab.test/whoami", Text: "Proof for a step."}
			return append([]model.HistoryEntry{proof, fetch, call}, all[1:]...)
		})
		s.After(2 * time.Second)
		s.Expect("[agent] http://shop.test/", "fetch: ok ", "[rotation] http://lab.test/whoami  Proof for a step.", "by a rotation", "✓ refused as wanted", "fetch · refused as wanted · 401 · by a rotation")
		s.ExpectNot("under way", "wanted · refused as wanted")
		s.Press("pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
		s.Expect("/page/105") // no entry is lost between the pages
		s.Press("/")
		s.Type("by:agent")
		s.Press("enter")
		if last := j.asked[len(j.asked)-1]; last.Source != model.SourceAgent {
			t.Errorf("by:agent asks for %+v", last)
		}
	})
}

// The emulator's clock can be moved, and is back after a reset.
func TestARowThatWasWrittenAtAMovedTimeSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{all: entries(1)}
		j.all[0].Profile, j.all[0].At = "local", time.Now().Add(90*24*time.Hour)
		s := open(t, j, 80, 24)
		s.Expect("›90d ahead", "2000-03-31 00:00 (90d ahead)")
	})
}
