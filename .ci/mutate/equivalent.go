package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// equivalents are the mutants that no test can or should kill: the text of the
// mutant, and why.
type equivalents map[string]string

// readEquivalents reads equivalent.txt: paragraphs of a mutant's three lines and
// a line with the reason. Lines that begin with # are comments.
func readEquivalents(file string) (equivalents, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known := equivalents{}
	for paragraph := range strings.SplitSeq(string(raw), "\n\n") {
		var lines []string
		for line := range strings.Lines(paragraph) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		switch {
		case len(lines) == 0:
		case len(lines) == 4 && strings.HasPrefix(lines[1], "- ") && strings.HasPrefix(lines[2], "+ "):
			known[strings.Join(lines[:3], "\n")] = lines[3]
		default:
			return nil, fmt.Errorf("%s: a mutant is file and function, - line, + line, reason; found %q", file, lines)
		}
	}
	return known, nil
}

func (e equivalents) has(m mutant) bool { return e[m.String()] != "" }

// stale names the entries whose mutants are gone.
func (e equivalents) stale(all []mutant) error {
	left := map[string]bool{}
	for text := range e {
		left[text] = true
	}
	for _, m := range all {
		delete(left, m.String())
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("equivalent.txt lists mutants that the code no longer has:\n%s", strings.Join(slices.Sorted(maps.Keys(left)), "\n\n"))
}
