package widget

import (
	"slices"
	"strings"
	"testing"

	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

func TestALineOfCodeBreaksBetweenWords(t *testing.T) {
	for code, want := range map[string][]string{
		"    it must trust the authority of the service": {"    it must trust the", "↪ authority of the", "↪ service"},
		"f(first,second,third_argument)":                 {"f(first,second,", "↪ third_argument)"},
		"unbroken_and_longer_than_a_line":                {"unbroken_and_longer_th", "↪ an_a_line"},
	} {
		got := Code(kit.NewTheme(true, false), code, 25)
		for i := range got {
			got[i] = uitest.Plain(got[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n%q\n%q", code, got, want)
		}
	}
}

// What is cut in the line of a command stands whole below the list.
func TestTheNoteOfACommandStandsWholeBelowTheList(t *testing.T) {
	long := Command{Label: "long", Note: "a note that has more words than its line has cells", Key: "n"}
	c := NewCommands(kit.NewTheme(true, false), "type", []CommandGroup{{Title: "All", Commands: []Command{long, {Label: "short", Disabled: "no"}}}}, nil)
	drawn := func(h int) string { return uitest.Plain(c.Render(40, h)) }
	for _, want := range []string{"› █ type", "›long   a note that has more words", "────", " a note that has more words than its\n", " line has cells"} {
		if got := drawn(12); !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if got := drawn(8); strings.Contains(got, "────") {
		t.Errorf("a short list has no line to spare:\n%s", got)
	}
}
