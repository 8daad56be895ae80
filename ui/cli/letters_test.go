package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/ui/kit"
)

// meaning is what a line of docs/keys.md says of a key.
type meaning struct {
	key, help, name string
	dangerous       bool
}

var keyInCell = regexp.MustCompile("`([^`]+)`")

// meanings reads the lines of a key reference, one for each key.
func meanings(doc string) (out []meaning) {
	for line := range strings.Lines(strings.ReplaceAll(doc, `\|`, "¦")) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, k := range keyInCell.FindAllStringSubmatch(cells[0], -1) {
			key := strings.ReplaceAll(k[1], "¦", "|")
			out = append(out, meaning{key, cells[1], strings.TrimSuffix(strings.TrimSpace(cells[2]), " |"), strings.HasSuffix(cells[0], "!")})
		}
	}
	return out
}

// oneMeaning are the keys that mean one thing everywhere, as the sentences say it. y is the yes of a question, too.
var oneMeaning = map[string]string{
	"/": "^(Show only|Filter|Search|Go to the next row with a text)", "?": "^(List the keys|Close the help)", ":": "^Find a command", "@": "another profile",
	"m": "mouse", "q": "^(Leave|Close|Go back|Change nothing|Cancel what is under way, and close)", "y": "^(Copy|Do it\\.|Send them)",
	"x": "(as code|as text|as Markdown|Write the rows|Close the code)", "r": "(again|anew|newest)", "z": "whole tab",
	"j": "^(Move|Go to the next field)", "k": "^(Move|Go to the previous field)", "g": "^Go to the first", "G": "^Go to the (last|oldest)",
}

// clashes are the letters that mean two things of which one surprises: of those with one meaning, and of those that
// spend or destroy in one place and are harmless in another.
func clashes(all []meaning) (out []string) {
	spends := map[string]string{}
	for _, m := range all {
		if m.dangerous && kit.Types(m.key) {
			spends[m.key] = m.name
		}
	}
	for _, m := range all {
		if want, ok := oneMeaning[m.key]; ok && !regexp.MustCompile(want).MatchString(m.help) {
			out = append(out, fmt.Sprintf("%s means something else in %s: %s", m.key, m.name, m.help))
		}
		if by := spends[m.key]; by != "" && !m.dangerous && m.key != "y" {
			out = append(out, fmt.Sprintf("%s spends or destroys in %s, and is harmless in %s", m.key, by, m.name))
		}
	}
	return out
}

func TestALetterMeansOneThing(t *testing.T) {
	doc, err := os.ReadFile(keysFile)
	noerr.Must(t, err)
	all := meanings(string(doc))
	if len(all) < 300 {
		t.Fatalf("%d keys were read of the reference", len(all))
	}
	for _, clash := range clashes(all) {
		t.Error(clash)
	}
	for _, line := range []string{"| `r` ! | Kill the key. | a.kill |\n", "| `t` | Look at it. | a.look |\n"} {
		if len(clashes(append(all, meanings(line)...))) == 0 {
			t.Errorf("no clash is found with %q", line)
		}
	}
}
