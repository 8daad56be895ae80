package main

import (
	"fmt"
	"path"
	"strings"
)

// block is a stretch of code of which all or nothing runs.
type block struct {
	fromLine, fromCol, toLine, toCol int
	ran                              bool
}

// coverage is what a test package reaches: blocks by import path and file name.
type coverage map[string][]block

// readCoverage reads a profile of go test -coverprofile.
func readCoverage(raw []byte) (coverage, error) {
	c := coverage{}
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		file, rest, ok := strings.Cut(line, ":")
		var b block
		var statements, runs int
		if ok {
			_, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.fromLine, &b.fromCol, &b.toLine, &b.toCol, &statements, &runs)
			ok = err == nil
		}
		if !ok {
			return nil, fmt.Errorf("coverage: cannot read %q", line)
		}
		b.ran = runs > 0
		c[file] = append(c[file], b)
	}
	return c, nil
}

// at says whether the mutant is in a block at all, and whether one ran.
func (c coverage) at(m mutant) (in, ran bool) {
	for _, b := range c[m.pkg+"/"+path.Base(m.file)] {
		after := m.line > b.fromLine || m.line == b.fromLine && m.col >= b.fromCol
		before := m.line < b.toLine || m.line == b.toLine && m.col <= b.toCol
		if after && before {
			in = true
			ran = ran || b.ran
		}
	}
	return in, ran
}

// touches says whether any code of a package ran.
func (c coverage) touches(pkg string) bool {
	for file, blocks := range c {
		if path.Dir(file) != pkg {
			continue
		}
		for _, b := range blocks {
			if b.ran {
				return true
			}
		}
	}
	return false
}
