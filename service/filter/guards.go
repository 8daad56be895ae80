package filter

import (
	"fmt"
	"strings"
)

// maxChars bounds a text, in bytes, for the functions of jq that make a value of each character
// in one step: no bound of memory ends a step.
const maxChars = 1 << 20

// guarded are those functions, with their parameters.
var guarded = []struct{ name, params string }{
	{"explode", ""},
	{"split", "$s"},
	{"split", "$re; $flags"},
	{"indices", "$s"},
	{"index", "$s"},
	{"rindex", "$s"},
	{"match", "$re"},
	{"match", "$re; $flags"},
	{"capture", "$re"},
	{"capture", "$re; $flags"},
	{"scan", "$re"},
	{"scan", "$re; $flags"},
	{"splits", "$re"},
	{"splits", "$re; $flags"},
	{"sub", "$re; to"},
	{"sub", "$re; to; $flags"},
	{"gsub", "$re; to"},
	{"gsub", "$re; to; $flags"},
}

// guards are definitions that look at the text before the function that they are named as.
func guards() string {
	var b strings.Builder
	for i, g := range guarded {
		params := ""
		if g.params != "" {
			params = "(" + g.params + ")"
		}
		fmt.Fprintf(&b, "def _inner%d%s: %s%s; def %s%s: _short(%q) | _inner%d%s; ", i, params, g.name, params, g.name, params, g.name, i, params)
	}
	return b.String() + "."
}

// short is the guard: it passes on what it gets.
func short(v any, args []any) any {
	if s, ok := v.(string); ok && len(s) > maxChars {
		return fmt.Errorf("%v takes a text of at most %d MiB", args[0], maxChars>>20)
	}
	return v
}
