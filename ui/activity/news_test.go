package activity_test

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
		j.all = append([]model.Activity{{ID: 9002, At: time.Now(), Kind: model.ActivityFetch, URL: "http://new.test/"}, {ID: 9001, At: time.Now()}}, j.all...)
		j.mu.Unlock()
		s.ExpectNot("new,")
		s.After(6 * time.Second)
		s.Expect("2 of 200 or more  2 new, ctrl+r lists them")
		before := j.calls()
		s.After(2 * time.Second)
		if n := j.calls(); n != before {
			t.Errorf("the journal was asked %d times within two seconds", n-before)
		}
		s.Press("ctrl+r")
		s.Expect("1 of 200 or more", "http://new.test/")
		s.ExpectNot("new,")
		s.After(12 * time.Second)
		if n := j.calls(); n != before+1 {
			t.Errorf("ctrl+r and a while at the top asked the journal %d times", n-before)
		}
	})
}
