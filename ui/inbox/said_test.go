package inbox_test

import (
	"testing"
	"testing/synctest"
)

// A replay that was not accepted is a warning, which stays longer.
func TestAReplayThatTheReceiverDidNotTakeIsAWarning(t *testing.T) {
	for refuses, want := range map[bool]string{true: " ! replayed hook-3: the receiver answered 302", false: " i replayed hook-3: the receiver answered 200"} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, &fakeStore{list: some(), refuses: refuses}, "")
			s.Press("R", "enter")
			s.Type("http://127.0.0.1:1/x")
			s.Press("ctrl+s")
			s.Expect(want)
		})
	}
}

// The message about a wrong filter goes when the filter is corrected.
func TestTheRefusalOfAWrongFilterGoesWithTheMistake(t *testing.T) {
	for _, right := range []string{"backspace", "esc"} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, &fakeStore{list: some()}, "")
			s.Press("/")
			s.Type("job:")
			s.Press("enter")
			s.Expect("i enter keep: ")
			s.Press(right)
			s.ExpectNot("enter keep: ")
		})
	}
}
