package history_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui"
	"zonedeck/ui/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/uitest"
)

// fakeJournal pages over entries as the journal does: newest first, below an ID.
type fakeJournal struct {
	mu    sync.Mutex
	all   []model.HistoryEntry // newest first
	asked []model.HistoryFilter
	err   error
	slow  time.Duration
}

func (j *fakeJournal) Entries(ctx context.Context, f model.HistoryFilter) ([]model.HistoryEntry, error) {
	j.mu.Lock()
	j.asked = append(j.asked, f)
	slow := j.slow
	j.mu.Unlock()
	if slow > 0 { // not under the lock: several may ask at once
		timer := time.NewTimer(slow)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return nil, j.err
	}
	out := []model.HistoryEntry{}
	for _, a := range j.all {
		switch {
		case f.Before > 0 && a.ID >= f.Before,
			f.Class != "" && a.Class != f.Class,
			f.Profile != "" && a.Profile != f.Profile,
			!f.Since.IsZero() && a.At.Before(f.Since),
			slices.ContainsFunc(f.Words, func(w string) bool { return !strings.Contains(a.URL, w) }):
			continue
		}
		if len(out) == f.Limit {
			break
		}
		out = append(out, a)
	}
	return out, nil
}

func (j *fakeJournal) calls() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.asked)
}

func entries(n int) []model.HistoryEntry {
	out := make([]model.HistoryEntry, 0, n)
	for i := n; i > 0; i-- {
		a := model.HistoryEntry{
			ID: int64(i), Profile: "local", Ref: fmt.Sprintf("f_%d", i), At: time.Now().Add(time.Duration(i-n) * time.Minute), Kind: model.HistoryFetch,
			Zone: "unlocker_demo", URL: fmt.Sprintf("http://lab.test/page/%d", i), Via: model.ViaAPI, Key: "batch-user",
			Class: model.ClassOK, Status: 200, Bytes: 1200, Total: 40 * time.Millisecond,
		}
		if i%4 == 0 {
			a.Class = model.ClassCaptcha
		}
		out = append(out, a)
	}
	return out
}

// stub is a tab that shows what it was handed.
type stub struct{ got string }

func (s *stub) Init() tea.Cmd { return nil }
func (s *stub) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.OpenFetch:
		s.got = "fetch " + msg.ID
	case kit.OpenJob:
		s.got = "job " + msg.ID
	case kit.OpenKey:
		s.got = "key " + msg.Name
	case kit.OpenLogin:
		s.got = "login " + msg.Zone
	}
	return nil
}
func (s *stub) Render(w, h int) string  { return widget.Block("stub shows "+s.got, w, h) }
func (s *stub) Title() string           { return "Stub" }
func (s *stub) Bindings() []kit.Binding { return nil }

func (*fakeJournal) FilteredHAR(_ context.Context, f model.HistoryFilter) (string, int, error) {
	if f.Class == model.ClassCaptcha {
		return "", 0, nil
	}
	return "/downloads/fetches.har", 3, nil
}

func open(t *testing.T, j *fakeJournal, w, h int) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	view := history.New(history.Deps{Ctx: t.Context(), Now: time.Now, Theme: theme, Journal: j})
	other := &stub{}
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Session: kit.Session{ProfileName: "local", Local: true, Ready: true},
		Tabs: []ui.Tab{
			{ID: kit.History, View: view},
			{ID: kit.Sandbox, View: other},
			{ID: kit.Jobs, View: other},
			{ID: kit.Proxy, View: other},
			{ID: kit.Keys, View: other},
		},
	})
	return uitest.Start(t, app, w, h)
}

func TestTheTimelineIsShownNewestFirstWithItsRates(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {64, 16}} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, &fakeJournal{all: entries(40)}, size[0], size[1])
			s.Expect("1 of 40", "last 40:", "✓ ok 30 (75 %)", "✗ CAPTCHA 10 (25 %)", "/page/40")
			screen := s.Screen()
			if strings.Index(screen, "/page/40") > strings.Index(screen, "/page/39") {
				t.Errorf("the older entry is shown first:\n%s", screen)
			}
		})
	}
}

func TestTheSumOfTheCostsIsShownAtEverySize(t *testing.T) {
	for _, w := range []int{60, 80, 120, 160} {
		synctest.Test(t, func(t *testing.T) {
			j := &fakeJournal{all: entries(40)}
			for i := range j.all {
				j.all[i].Class = model.Classes()[i%len(model.Classes())]
				j.all[i].Cost, j.all[i].Priced = 0.0015, i > 2
				if i%2 == 0 {
					j.all[i].Kind = model.HistoryProbe // billed as well
				}
			}
			open(t, j, w, 24).Expect("cost $0.0555 + 3 unpriced", "✓ ok 6")
		})
	}
}

// A call that goes through no zone has no price, and is none that lacks a rate. By agent access the service chooses a zone.
func TestACallThroughNoZoneIsNotUnpriced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{all: entries(3)}
		for i := range j.all {
			j.all[i].Kind, j.all[i].Cost, j.all[i].Priced = model.HistoryFetch, 0.0015, true
		}
		j.all[0].Zone, j.all[0].Priced = "", false
		j.all[2].Zone, j.all[2].Via, j.all[2].Priced = "", model.ViaAgent, false
		s := open(t, j, 160, 24)
		s.Expect("cost $0.0015 + 1 unpriced", " no zone http://lab.test/page/3", " unpriced http://lab.test/page/1", "no zone: only zones are billed (contract 1)")
	})
}

func TestAnEmptyJournalSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, &fakeJournal{}, 80, 24)
		s.Expect("Nothing has happened yet", "no outcomes in view")
		s.Press("enter")
		s.Expect("no entry is selected")
	})
}

func TestOnlyPagesAroundTheCursorAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{all: entries(10_000)}
		s := open(t, j, 80, 24)
		s.Expect("1 of 200 or more")
		before := j.calls()
		if before > 2 {
			t.Errorf("%d pages were read for the first screen", before)
		}
		for range 12 {
			s.Press("pgdown")
		}
		s.Expect("of 400 or more")
		if n := j.calls(); n != before+1 {
			t.Errorf("%d pages were read while scrolling to the second", n-before)
		}
		s.Press("G")
		s.Expect("10 000 of 10 000", "/page/1")
		s.Press("g")
		s.Expect("1 of 10 000", "/page/10000")
	})
}

func TestAFilterNarrowsAndReportsItsMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{all: entries(400)}
		s := open(t, j, 120, 40)
		s.Press("/")
		s.Type("class:nonsense")
		s.Press("enter")
		s.Expect(`class "nonsense" is not one of ok`)
		for range len("nonsense") {
			s.PressFast("backspace")
		}
		s.Type("captcha since:2h q1")
		s.Press("enter")
		s.Expect("History / class:captcha since:2h q1", "Nothing matches this filter")
		s.Press("/")
		for range len(" q1") {
			s.PressFast("backspace")
		}
		s.Press("enter")
		s.Expect("1 of 30", "✗ CAPTCHA 30 (100 %)", "/page/400")
		s.ExpectNot("/page/399")
		s.Press("esc")
		s.Expect("1 of 200 or more")
	})
}

func TestAFilterActsAsItIsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, &fakeJournal{all: entries(40)}, 120, 40)
		s.Press("/")
		s.Type("page/4")
		s.Expect("History / page/4", "1 of 2", "/page/40", "/page/4 ")
		s.ExpectNot("/page/39")
		s.Press("down") // in the list, while letters still go into the filter
		s.Expect("2 of 2")
		s.Press("up", "ctrl+u")
		s.Type("class:captch") // half a word is no filter, and no mistake yet
		s.ExpectNot("is not one of")
		s.Type("a")
		s.Expect("History / class:captcha", "1 of 10", "/page/36")
		s.Press("esc")
		s.Expect("1 of 40", "/page/39")
		s.ExpectNot("History /")
		s.Press("/")
		s.Type("class:captcha")
		s.Press("enter", "/", "ctrl+u")
		s.Expect("1 of 40")
		s.Press("esc")
		s.Expect("History / class:captcha", "1 of 10")
	})
}

func TestALongDescriptionIsWrappedBelowTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := entries(9)
		all[0].Text = "job-4 gd_products: refused " + strings.Repeat("and so on ", 10) + "at its end"
		all[1].Text = strings.Repeat("without end ", 40)
		s := open(t, &fakeJournal{all: all}, 80, 24)
		s.Expect("refused and so on", "at its end ")
		s.Press("down")
		s.Expect("2 of 9", "without end without", "…")
		s.Press("down")
		s.Expect("3 of 9", " http://lab.test/page/7 ")
	})
}

func TestAnEntryOpensWhereItBelongs(t *testing.T) {
	for kind, want := range map[model.HistoryKind]string{
		model.HistoryFetch: "stub shows fetch f_9", model.HistoryJob: "stub shows job f_9",
		model.HistoryKey: "stub shows key f_9", model.HistoryProbe: "stub shows login unlocker_demo",
	} {
		synctest.Test(t, func(t *testing.T) {
			all := entries(9)
			all[0].Kind = kind
			s := open(t, &fakeJournal{all: all}, 80, 24)
			s.Press("enter")
			s.Expect(want)
		})
	}
}

func TestAnEntryThatCannotBeOpenedSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := entries(1)
		all[0].Ref, all[0].Class, all[0].Text = "", "", "ended without a result after 2 attempts"
		s := open(t, &fakeJournal{all: all}, 120, 40)
		s.Expect("ended without a result")
		s.Press("enter")
		s.Expect("the journal kept only this line")
	})
}

func TestAJournalThatCannotBeReadFillsThePageAndCanBeRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{err: errors.New("database is locked")}
		s := open(t, j, 80, 24)
		s.Expect("The journal could not be read: database is locked", "r tries again")
		j.mu.Lock()
		j.err, j.all = nil, entries(3)
		j.mu.Unlock()
		s.Press("ctrl+r")
		s.Expect("1 of 3")
	})
}

// While the newest page is read again, what stands on the screen can be opened, and the end be gone to.
func TestKeysWorkWhileTheTimelineIsReadAgain(t *testing.T) {
	for key, want := range map[string]string{"enter": "stub shows fetch f_300", "G": "300 of 300"} {
		synctest.Test(t, func(t *testing.T) {
			j := &fakeJournal{all: entries(300)}
			s := open(t, j, 120, 40)
			j.mu.Lock()
			j.slow = time.Second
			j.mu.Unlock()
			s.Press("ctrl+r", key)
			s.After(5 * time.Second)
			s.Expect(want)
		})
	}
}

func TestAnOldFiltersAnswerIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{all: entries(40)}
		s := open(t, j, 80, 24)
		j.mu.Lock()
		j.slow = time.Second
		j.mu.Unlock()
		s.Press("ctrl+r", "/")
		s.Type("class:captcha")
		s.Press("enter")
		s.After(5 * time.Second)
		s.Expect("1 of 10", "✗ CAPTCHA 10 (100 %)")
	})
}

func TestEveryOutcomeIsNamedAtEverySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJournal{all: entries(8)}
		for i, c := range []model.Class{model.ClassOutside, model.ClassAccessRestricted, model.ClassTooFast} {
			j.all[i].Class = c
		}
		j.all[0].Cause = model.CauseTargetError
		s := open(t, j, 80, 24)
		s.Expect("✗ target error", "✗ other failures 1", "cost unpriced")
		s.ExpectNot("%")
		s.Resize(160, 24)
		s.Expect("✗ other failures 1 (13 %)", "· local ·")
	})
}

func TestAClickPicksTheEntryUnderIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, &fakeJournal{all: entries(8)}, 120, 40)
		s.Send(tea.MouseClickMsg{X: 10, Y: 6, Button: tea.MouseLeft}) // title, frame, strip, header, then the third entry
		s.Expect("3 of 8")
		s.Send(tea.MouseClickMsg{X: 10, Y: 20, Button: tea.MouseLeft})
		s.Expect("3 of 8")
	})
}
