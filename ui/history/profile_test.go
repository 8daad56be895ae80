package history_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// shared is a journal with entries of the emulator's profile and of two accounts.
func shared() *fakeJournal {
	of := func(id int64, profile string, cost float64) model.HistoryEntry {
		a := entries(1)[0]
		a.ID, a.Profile, a.URL, a.Cost, a.Priced = id, profile, "http://"+profile+".test/", cost, true
		return a
	}
	return &fakeJournal{all: []model.HistoryEntry{of(4, "local", 0.25), of(3, "acme", 0.5), of(2, "beta-2", 2), of(1, "acme", 1)}}
}

// The timeline and its sum are those of the profile in use, until one asks for all: then each line names its
// profile, and the emulator's dollars are never added to an account's.
func TestTheTimelineIsOfTheProfileInUse(t *testing.T) {
	for _, size := range [][2]int{{60, 16}, {80, 24}, {120, 40}, {200, 60}} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, shared(), size[0], size[1])
			s.Expect("1 of 1", "cost $0.2500", "local.test", "p all profiles")
			s.ExpectNot("acme", "beta-2", "PROFILE")
			s.Press("p")
			s.Expect("1 of 4", "PROFILE", "acme $1.50", "beta-2 $2.00", "local $0.2500", "p one profile", "History · all profiles")
			for line := range strings.Lines(s.Screen()) {
				if host := strings.Index(line, ".test"); host >= 0 && strings.Contains(line, "00:00") && !strings.Contains(line[:host], strings.Fields(strings.Trim(line, " │›"))[0]) {
					t.Errorf("a line does not name its profile: %q", line)
				}
			}
			s.Press("p")
			s.Expect("1 of 1", "cost $0.2500")
			s.ExpectNot("acme", "History · all")
			s.Press("/")
			s.Type("profile:allied test")
			s.Press("enter", "p")
			s.Expect("1 of 4", "PROFILE", "/ profile:allied test · all profiles")
			s.Press("p") // nothing of the filter is lost
			s.Expect("Nothing matches", "/ profile:allied test ")
			s.Press("p", "/", "ctrl+u")
			s.Type("profile:beta-2")
			s.Press("enter") // what was said last counts
			s.Expect("/ profile:beta-2  1 of 1", "beta-2.test")
			s.Press("/", "ctrl+u")
			s.Type("profile:all")
			s.Press("enter")
			s.Expect("1 of 4", "PROFILE")
			s.Press("/", "ctrl+u")
			s.Type("profile:acme")
			s.Press("enter")
			s.Expect("1 of 2", "cost $1.50")
			s.ExpectNot("local.test", "PROFILE")
			s.Press("esc")
			s.Expect("1 of 1", "local.test")
		})
	}
}

// Sums are told apart, none is cut within its number, and those that have no room are counted.
func TestTheSumsOfAllProfilesAreWhole(t *testing.T) {
	for width, want := range map[int]string{
		60:  "cost a_profile_with_a_long_n… $1234.50 · … 3 more ",
		80:  "cost a_profile_with_a_long_n… $1234.50 · acme $1.50 · … 2 more ",
		120: "cost a_profile_with_a_long_n… $1234.50 · acme $1.50 · beta-2 $2.00 · local $0.2500",
	} {
		synctest.Test(t, func(t *testing.T) {
			j := shared()
			a := j.all[0]
			a.ID, a.Profile, a.Cost = 5, "a_profile_with_a_long_name_of_its_own", 1234.5
			j.all = append([]model.HistoryEntry{a}, j.all...)
			s := open(t, j, width, 24)
			s.Press("p")
			s.Expect(want)
		})
	}
}

// Another profile's entries take the place of those of the one before.
func TestTheTimelineFollowsTheProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, shared(), 80, 24)
		s.Expect("local.test")
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", Ready: true}})
		s.Expect("1 of 2", "acme.test", "cost $1.50")
		s.ExpectNot("local.test")
	})
}

// Each line says of which key an event of a key is.
func TestAnEventNamesItsKey(t *testing.T) {
	for _, width := range []int{80, 100, 120, 200} {
		synctest.Test(t, func(t *testing.T) {
			j := &fakeJournal{all: []model.HistoryEntry{
				{ID: 3, At: time.Now(), Kind: model.HistoryKey, Profile: "local", Key: "etl-main", Ref: "etl-main", Text: "rotated: by a new key"}, entries(1)[0],
			}}
			s := open(t, j, width, 24)
			s.Expect("etl-main", "rotated")
			for l := range strings.Lines(s.Screen()) {
				if strings.Contains(l, "rotated: by") && strings.Contains(l, "00:00") && !strings.Contains(l, "etl-main") {
					t.Errorf("at %d cells the event does not name its key:\n%s", width, s.Screen())
				}
				if strings.Contains(l, "page/1") && width >= 100 && !strings.Contains(l, "200") {
					t.Errorf("at %d cells the status is gone:\n%s", width, s.Screen())
				}
			}
		})
	}
}

// A comparison is called one, in the list and below it.
func TestAComparisonIsCalledOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := entries(1)[0]
		a.Kind, a.Text = model.HistoryComparison, "4 cells compared"
		s := open(t, &fakeJournal{all: []model.HistoryEntry{a}}, 200, 24)
		s.Expect("›00:00:00   comparison ", " · comparison · ")
		s.ExpectNot("twin")
	})
}
