package whole

import (
	"strings"
	"testing"
)

// A question that a terminal leaves unanswered would cost a command seconds and
// eat what was typed ahead.
func TestACommandAsksTheTerminalNothing(t *testing.T) {
	for line, code := range map[string]int{
		"--help":                           0,
		"jobs launch --help":               0,
		"version":                          0,
		"frob":                             2,
		"request http://lab.test/ok":       2,
		"jobs watch job-1":                 2,
		"keys check --within never":        2,
		"proxy url --zone no_such_zone":    2,
		"request http://lab.test/x --zone": 2,
	} {
		for _, term := range []string{"TERM=xterm-256color", "TERM=dumb"} {
			p := openTerminal(t, 100, 30, environment(t.TempDir(), term), strings.Fields(line)...)
			got, out := p.wait(), p.output()
			if got != code || out == "" {
				t.Errorf("%s with %s: exit %d, want %d: %q", line, term, got, code, out)
			}
			for _, question := range []string{"\x1b]", "\x1bP", "\x1b[c", "\x1b[0c", "\x1b[>", "\x1b[6n", "\x1b[?"} {
				if strings.Contains(out, question) {
					t.Errorf("%s with %s asks the terminal: %q", line, term, out)
				}
			}
		}
	}
}
