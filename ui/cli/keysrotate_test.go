package cli

import (
	"strings"
	"testing"
)

// At a terminal a rotation is asked for before anything is written; without one the command says it.
func TestARotationIsAskedForAtATerminal(t *testing.T) {
	p, _, stderr := process(t, map[string]string{"ZONEDECK_PROFILE": "local"})
	for _, c := range []struct {
		args, answer string
		code         int
		says         string
	}{
		{"", "n\n", exitChecksFailed, "deletes the old key"},
		{"--refresh", "n\n", exitChecksFailed, "stands still"},
		{"--no-input --report", "", exitUsage, "no record of a rotation"}, // the answers began nothing
		{"", "y\n", exitOK, "deletes the old key"},
	} {
		stderr.Reset()
		p.Args = append([]string{"keys", "rotate", "etl-main"}, strings.Fields(c.args)...)
		p.Stdin, p.StdinTTY = strings.NewReader(c.answer), true
		if code := Main(t.Context(), p); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s, answered %q: exit %d, want %d: %s", c.args, c.answer, code, c.code, stderr)
		}
	}
}
