package history_test

import (
	"testing"
	"testing/synctest"
)

func TestTheFilteredFetchesAreWrittenAsHAR(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, &fakeJournal{all: entries(4)}, 120, 40)
		s.Press("E")
		s.Expect("/downloads/fetches.har holds 3 requests; credentials are redacted.")
		s.Press("/")
		s.Type("class:captcha")
		s.Press("enter", "E")
		s.Expect("No fetch matches the filter.")
	})
}
