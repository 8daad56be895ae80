package keys

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit/widget"
)

func clock(model.Key) time.Time { return testNow }

var testNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func daysFromNow(n int) time.Time { return testNow.AddDate(0, 0, n) }

func TestRowsSayBothClocksAndWhichOneGoverns(t *testing.T) {
	tests := map[string]struct {
		key                    model.Key
		word, expires, rotated string
		ninety                 string
	}{
		"overdue and unlimited": {
			key:  model.Key{Expires: model.Unlimited(), Rotation: model.Rotation{Last: daysFromNow(-112)}},
			word: "overdue", expires: "Unlimited !", rotated: "2026-08-01 112d", ninety: "22 d over",
		},
		"the expiry is nearer": {
			key:  model.Key{Expires: model.ExpiresAt(daysFromNow(7)), Rotation: model.Rotation{Last: daysFromNow(-80)}},
			word: "expires", expires: "2026-11-28 7d", rotated: "2026-09-02 80d", ninety: "10 d left",
		},
		"the rotation is nearer": {
			key:  model.Key{Expires: model.ExpiresAt(daysFromNow(12)), Rotation: model.Rotation{Last: daysFromNow(-85)}},
			word: "rotate soon", expires: "2026-12-03 12d", rotated: "2026-08-28 85d", ninety: "5 d left",
		},
		"an unknown age is never fresh": {
			key:  model.Key{Expires: model.ExpiresAt(daysFromNow(41))},
			word: "unknown", expires: "2027-01-01 41d", rotated: "unknown", ninety: "unknown",
		},
		"the 90th day is due": {
			key:  model.Key{Expires: model.ExpiresAt(daysFromNow(41)), Rotation: model.Rotation{Last: daysFromNow(-90)}},
			word: "due", expires: "2027-01-01 41d", rotated: "2026-08-23 90d", ninety: "due today",
		},
		"expired": {
			key:  model.Key{Expires: model.ExpiresAt(daysFromNow(-3)), Rotation: model.Rotation{Last: daysFromNow(-1)}},
			word: "expired", expires: "2026-11-18 3d ago", rotated: "2026-11-20 1d", ninety: "89 d left",
		},
		"expired in this second": {
			key:  model.Key{Expires: model.ExpiresAt(testNow), Rotation: model.Rotation{Last: daysFromNow(-20)}},
			word: "expired", expires: "2026-11-21 now", rotated: "2026-11-01 20d", ninety: "70 d left",
		},
		"ok": {
			key:  model.Key{Expires: model.ExpiresAt(daysFromNow(60)), Rotation: model.Rotation{Last: daysFromNow(-20)}},
			word: "ok", expires: "2027-01-20 60d", rotated: "2026-11-01 20d", ninety: "70 d left",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct{ what, got, want string }{
				{"word", tt.key.StateWord(testNow, soon), tt.word},
				{"expires", expiresCell(tt.key, testNow), tt.expires},
				{"rotated", widget.RotatedCell(tt.key, testNow), tt.rotated},
				{"90-day", widget.RotationCell(tt.key, testNow), tt.ninety},
			} {
				if c.got != c.want {
					t.Errorf("%s = %q, want %q", c.what, c.got, c.want)
				}
			}
		})
	}
}

func TestCalendarMarksWhatComesDue(t *testing.T) {
	keys := []model.Key{
		{Name: "a", Expires: model.ExpiresAt(daysFromNow(7)), Rotation: model.Rotation{Last: daysFromNow(-83)}}, // both on day 7
		{Name: "b", Expires: model.ExpiresAt(daysFromNow(30))},
		{Name: "c", Rotation: model.Rotation{Last: daysFromNow(-88)}},
		{Name: "d", Rotation: model.Rotation{Last: daysFromNow(-120)}},
		{Name: "e", Expires: model.Unlimited()},
	}
	s := calendar(daysOf(keys, clock), testNow, 200)
	if s.perCell != 1 || len([]rune(s.marks)) != stripDays+1 {
		t.Fatalf("per cell %d, %d marks", s.perCell, len([]rune(s.marks)))
	}
	marks := []rune(s.marks)
	for day, want := range map[int]rune{0: '·', 2: 'R', 7: '2', 30: 'E', 90: '·'} {
		if marks[day] != want {
			t.Errorf("day %d is %q, want %q", day, marks[day], want)
		}
	}
	if want := "c due for rotation in 2 d"; s.next != want {
		t.Errorf("next = %q, want %q", s.next, want)
	}
	if !strings.HasPrefix(s.axis, "21 Nov") || strings.Index(s.axis, "Dec") != 10 {
		t.Errorf("axis = %q", s.axis)
	}
}

func TestCalendarFitsNarrowScreens(t *testing.T) {
	keys := []model.Key{{Name: "z", Expires: model.ExpiresAt(daysFromNow(90))}}
	for _, width := range []int{1, 10, 45, 46, 90, 91} {
		s := calendar(daysOf(keys, clock), testNow, width)
		if n := len([]rune(s.marks)); n > width {
			t.Errorf("%d marks in %d cells", n, width)
		}
		if !strings.HasSuffix(s.marks, "E") {
			t.Errorf("width %d: the last day is missing: %q", width, s.marks)
		}
	}
}
