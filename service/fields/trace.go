package fields

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"github.com/tidwall/gjson"
)

// Trace is where a path stops matching.
type Trace struct {
	Path  string
	Found bool
	// Matches is the longest beginning of the path that finds anything, Fails the step after it,
	// which finds nothing; of a path that was found all of it is in Matches.
	Matches, Fails string
}

// maxSteps bounds the steps of a path that are followed.
const maxSteps = 16

// Traces follows each path in a body; see Find.
func Traces(contentType string, body []byte, paths []string) ([]Trace, error) {
	out := make([]Trace, 0, len(paths))
	if isJSON(contentType, body) {
		body = bytes.TrimPrefix(body, []byte("\ufeff"))
		valid := json.Valid(body)
		for _, path := range paths {
			if valid {
				out = append(out, traceJSON(body, path))
			} else {
				out = append(out, Trace{Path: path, Fails: path})
			}
		}
		return out, nil
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		out = append(out, traceHTML(doc, path))
	}
	return out, nil
}

func traceJSON(body []byte, path string) Trace {
	t := Trace{Path: path}
	there := func(path string) (gjson.Result, bool) {
		r := gjson.GetBytes(body, path)
		return r, r.Exists() && r.Type != gjson.Null
	}
	r, ok := there(path)
	t.Found = ok && r.String() != ""
	for at, n := 1, 0; at < len(path) && n < maxSteps; at++ {
		if path[at] != '.' || path[at-1] == '\\' {
			continue
		}
		n++
		if _, ok := there(path[:at]); !ok {
			if !t.Found {
				t.Fails = path[len(t.Matches):at]
				break
			}
			continue // a query with a dot in it
		}
		t.Matches = path[:at]
	}
	switch {
	case t.Found:
		t.Matches = path
	case t.Fails == "":
		t.Fails = path[len(t.Matches):]
	}
	t.Fails = strings.TrimPrefix(t.Fails, ".")
	if !t.Found && t.Fails == "" {
		t.Fails = path
	}
	return t
}

func traceHTML(doc *goquery.Document, path string) Trace {
	t := Trace{Path: path}
	for _, end := range steps(path) {
		selector, err := cascadia.Compile(path[:end])
		if err != nil {
			continue // a combinator is at its end
		}
		found := doc.FindMatcher(selector).First()
		if len(found.Nodes) == 0 || end == len(path) && value(found) == "" {
			t.Fails = strings.TrimSpace(path[len(t.Matches):end])
			break
		}
		t.Matches = path[:end]
	}
	t.Found = t.Fails == "" && t.Matches == path
	if !t.Found && t.Fails == "" { // what cannot be a selector finds nothing
		t.Fails = path
	}
	return t
}

// steps are where the steps of a selector end: before each combinator, and at its end. A list of
// selectors is one step.
func steps(s string) []int {
	var ends []int
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '\\':
			i++
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0 && c == ',':
			return []int{len(s)}
		case depth == 0 && strings.IndexByte(" \t\n>+~", c) >= 0:
			if i > 0 && (len(ends) == 0 || strings.Trim(s[ends[len(ends)-1]:i], " \t\n>+~") != "") {
				ends = append(ends, i)
			}
		}
	}
	return append(ends[:min(len(ends), maxSteps)], len(s))
}
