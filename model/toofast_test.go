package model

import (
	"slices"
	"testing"
	"time"
)

func TestAnAnswerThatAsksForNoWaitIsNotSaidToAskForOne(t *testing.T) {
	for _, c := range []struct {
		after   time.Duration
		summary string
		timing  []Evidence
	}{
		{0, "The service says that requests come too fast (429).", nil},
		{7 * time.Second, "The service says that requests come too fast (429) and asks to wait 7s.", []Evidence{{Kind: "timing", Text: "the answer asks to wait 7s"}}},
	} {
		d := Diagnose(Outcome{Via: ViaAPI, ServiceStatus: 429, RetryAfter: c.after})
		timing := slices.DeleteFunc(slices.Clone(d.Evidence), func(e Evidence) bool { return e.Kind != "timing" })
		if d.Class != ClassTooFast || d.Summary != c.summary || !slices.Equal(timing, c.timing) {
			t.Errorf("after %v: %s, %q, %v", c.after, d.Class, d.Summary, timing)
		}
	}
}
