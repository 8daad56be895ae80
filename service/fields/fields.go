// Package fields looks for the required fields of a target in an answer: the
// first half of noticing parsing drift (service.md 7). The service calls it with
// the body of an answer, the views with what an operator writes.
//
// Everything here is a pure function and safe for concurrent use.
package fields

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"github.com/tidwall/gjson"

	"zonedeck/model"
)

// maxValue bounds the sample of a found field, in bytes.
const maxValue = 256

// errField is wrapped by every refusal of a field's path.
var errField = errors.New("required field")

// Validate checks that a path can be looked for at all: not empty, and either a
// CSS selector or a JSON path. Which of the two it is depends on the answer.
func Validate(path string) error {
	if strings.TrimSpace(path) == "" {
		return fmt.Errorf("%w: a path is empty", errField)
	}
	if _, err := cascadia.Compile(path); err != nil && !jsonPath(path) {
		return fmt.Errorf("%w %q: write a CSS selector (.price) for HTML or a path (items.0.price) for JSON", errField, path)
	}
	return nil
}

// OnlyGo reports whether only the libraries of Go can look for a path: a query into JSON, which is no CSS selector and more
// than names and numbers, or a selector that no standard has.
func OnlyGo(path string) bool {
	if _, err := cascadia.Compile(path); err != nil {
		return strings.ContainsAny(path, `#@|*?!\`)
	}
	unquoted := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`).ReplaceAllString(path, "")
	return regexp.MustCompile(`(?i):(?:contains|containsown|matches|matchesown|haschild|input)\b|[#!]=`).MatchString(unquoted)
}

// jsonPath reports whether a text can be a path into JSON: gjson takes nearly
// anything, so that only what cannot name a member is refused.
func jsonPath(path string) bool {
	return !strings.ContainsAny(path, " \t\n<>{}()[]\"'") && !strings.Contains(path, "://")
}

// Find looks for each path in a body, which is text in UTF-8. JSON is told from HTML by the
// content type, or because it is JSON whatever its type. A JSON null, a blank text, a list or an object
// with nothing in it, and an element without text or value count as missing.
func Find(contentType string, body []byte, paths []string) ([]model.Field, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if text, valid, ok := asJSON(contentType, body); ok {
		return findJSON(text, valid, paths), nil
	}
	return findHTML(body, paths)
}

// asJSON gives the JSON that a body is, without a byte order mark. valid is false where it only says that it is JSON.
//
// It is not gjson's own check: that recurses as deep as the body nests, and a body of eight million brackets would take
// the process with it.
func asJSON(contentType string, body []byte) (text []byte, valid, ok bool) {
	text = bytes.TrimLeft(body, " \t\r\n\ufeff")
	begins := len(text) > 0 && (text[0] == '{' || text[0] == '[')
	says := strings.Contains(strings.ToLower(contentType), "json")
	valid = (begins || says) && json.Valid(text)
	return text, valid, valid || says || begins && contentType == ""
}

// holds reports whether a value of JSON says anything.
func holds(r gjson.Result) bool {
	if r.IsArray() || r.IsObject() {
		text := strings.TrimSpace(r.Raw)
		return strings.TrimSpace(text[1:len(text)-1]) != ""
	}
	said, _ := model.TrimMarks(r.String())
	return r.Type != gjson.Null && said != ""
}

func findJSON(body []byte, valid bool, paths []string) []model.Field {
	out := make([]model.Field, 0, len(paths))
	for _, path := range paths {
		f := model.Field{Path: path}
		if valid {
			if r := gjson.GetBytes(body, path); r.Exists() && holds(r) {
				f.Value, f.Found = short(r.String()), true
			}
		}
		out = append(out, f)
	}
	return out
}

func findHTML(body []byte, paths []string) ([]model.Field, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	out := make([]model.Field, 0, len(paths))
	for _, path := range paths {
		f := model.Field{Path: path}
		if selector, err := cascadia.Compile(path); err == nil {
			f.Value = value(doc.FindMatcher(selector).First())
			f.Found = f.Value != ""
		}
		out = append(out, f)
	}
	return out, nil
}

// value is what an element shows: its text, or the attribute that stands for it.
func value(s *goquery.Selection) string {
	if text, _ := model.TrimMarks(s.Text()); text != "" {
		return short(text)
	}
	for _, name := range []string{"content", "value", "src", "href", "datetime", "alt"} {
		if v := strings.TrimSpace(s.AttrOr(name, "")); v != "" {
			return short(v)
		}
	}
	return ""
}

func short(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= maxValue {
		return s
	}
	return strings.ToValidUTF8(s[:maxValue], "")
}

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
	if body, valid, ok := asJSON(contentType, body); ok {
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
	t.Found = ok && holds(r)
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
