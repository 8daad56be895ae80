package history_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
)

// Each line says of which profile it is where there is room, and of which key an event of a key is.
func TestEachLineNamesItsProfileAndAnEventItsKey(t *testing.T) {
	for width, want := range map[int]bool{80: false, 100: true, 120: true, 200: true} {
		synctest.Test(t, func(t *testing.T) {
			fetch := entries(1)[0]
			fetch.Profile = "acme"
			j := &fakeJournal{all: []model.HistoryEntry{
				{ID: 3, At: time.Now(), Kind: model.HistoryKey, Profile: "beta-2", Key: "etl-main", Ref: "etl-main", Text: "rotated: by a new key"}, fetch,
			}}
			s := open(t, j, width, 24)
			s.Expect("etl-main", "rotated")
			line := ""
			for l := range strings.Lines(s.Screen()) {
				if strings.Contains(l, "rotated: by") && strings.Contains(l, "00:00") && !strings.Contains(l, "etl-main") {
					t.Errorf("at %d cells the event does not name its key:\n%s", width, s.Screen())
				}
				if strings.Contains(l, "page/1") {
					line = l
				}
			}
			if strings.Contains(line, "acme") != want || strings.Count(s.Screen(), "PROFILE") != map[bool]int{true: 1}[want] {
				t.Errorf("at %d cells:\n%s", width, s.Screen())
			}
			if width >= 100 && !strings.Contains(line, "200") {
				t.Errorf("at %d cells the status is gone:\n%s", width, s.Screen())
			}
		})
	}
}
