package uitest

import (
	"strings"
	"testing"
)

func TestAScreenThatIsNotDrawnWholeIsFound(t *testing.T) {
	const widest = "╭▌Jobs ─────╮\n│ running   │\n╰───────────╯\n q quit"
	for name, c := range map[string]struct{ screen, want string }{
		"a whole one":       {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n q quit", ""},
		"a word cut":        {"╭▌Jobs ──╮\n│   runni│\n╰────────╯\n q quit", `row 1: "runni" is cut without a sign of it`},
		"a word cut openly": {"╭▌Jobs ──╮\n│  runni…│\n╰────────╯\n q quit", ""},
		"a word that wraps": {"╭▌Jobs ──╮\n│   runni│\n│ng      │\n╰────────╯\n q quit", ""},
		"no border":         {"╭▌Jobs ──╮\n│ running\n╰────────╯\n q quit", "row 1 has no right border: \"│ running\"\nnothing has the focus"},
		"half a hint":       {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n q qu", `the footer is not whole: " q qu"`},
		"a status":          {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n q quit 0", ""},
		"no focus":          {"╭ Jobs ──╮\n│ running│\n╰────────╯\n q quit", "nothing has the focus"},
		"no footer":         {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n ", `the footer is not whole: " "`},
		"a footer cut":      {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n q qu…", `the footer is not whole: " q qu…"`},
		"a row too wide":    {"╭▌Jobs ──╮\n│ running│\n╰────────╯\n q quit the console", "row 3 is 19 cells wide"},
		"a row missing":     {"╭▌Jobs ──╮\n q quit", "2 rows, want 4"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(StructureFaults(c.screen, widest, 10, max(strings.Count(c.screen, "\n")+1, 4)), "\n"); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
