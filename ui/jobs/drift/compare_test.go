package drift

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	service "zonedeck/service/drift"
	"zonedeck/ui/kit"
)

// Each required field of a page is beside the last run in which it matched, which need not be the same one.
func TestTheComparisonNamesTheRunsThatTheSamplesBeforeAreOf(t *testing.T) {
	none, one, other := service.Pair{Key: "h1", Fails: "h1"}, service.Pair{Key: ".price", Before: "a", Run: "f_3"}, service.Pair{Key: ".name", Before: "b", Run: "f_2"}
	for _, c := range []struct {
		name  string
		good  service.Run
		pairs []service.Pair
		head  string
		runs  int
	}{
		{"nothing matched before", service.Run{}, []service.Pair{none}, " - before: no good run is stored   + after: f_4", 0},
		{"only samples of the newest run", service.Run{Seq: 1, Ref: "f_1"}, []service.Pair{none}, " - before: f_1   + after: f_4", 0},
		{"one run, which is not good", service.Run{}, []service.Pair{none, one, one}, " - before: f_3   + after: f_4", 0},
		{"two runs", service.Run{}, []service.Pair{none, one, other}, " - before: the last run in which each matched   + after: f_4", 2},
	} {
		lines := pairLines(kit.NewTheme(true, false), service.Detail{Standing: service.Standing{Run: service.Run{Ref: "f_4"}}, Good: c.good}, c.pairs, 80)
		text := ansi.Strip(strings.Join(lines, "\n"))
		if head, _, _ := strings.Cut(text, "\n"); head != c.head || strings.Count(text, "   before: f_") != c.runs {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
}
