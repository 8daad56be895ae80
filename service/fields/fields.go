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

// jsonPath reports whether a text can be a path into JSON: gjson takes nearly
// anything, so that only what cannot name a member is refused.
func jsonPath(path string) bool {
	return !strings.ContainsAny(path, " \t\n<>{}()[]\"'") && !strings.Contains(path, "://")
}

// Find looks for each path in a body. JSON is told from HTML by the content
// type, or by the first byte where there is none. A JSON null, an empty text and
// an element without text or value count as missing.
func Find(contentType string, body []byte, paths []string) ([]model.Field, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if isJSON(contentType, body) {
		return findJSON(body, paths), nil
	}
	return findHTML(body, paths)
}

// Missing lists the paths that were not found, in order.
func Missing(found []model.Field) []string {
	var missing []string
	for _, f := range found {
		if !f.Found {
			missing = append(missing, f.Path)
		}
	}
	return missing
}

func isJSON(contentType string, body []byte) bool {
	if strings.Contains(strings.ToLower(contentType), "json") {
		return true
	}
	head := bytes.TrimLeft(body, " \t\r\n\ufeff")
	return contentType == "" && len(head) > 0 && (head[0] == '{' || head[0] == '[')
}

func findJSON(body []byte, paths []string) []model.Field {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	// Not gjson's own check: it recurses as deep as the body nests, and a body of
	// eight million brackets would take the process with it.
	valid := json.Valid(body)
	out := make([]model.Field, 0, len(paths))
	for _, path := range paths {
		f := model.Field{Path: path}
		if valid {
			if r := gjson.GetBytes(body, path); r.Exists() && r.Type != gjson.Null {
				f.Value = short(r.String())
				f.Found = f.Value != ""
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
	if text := strings.TrimSpace(s.Text()); text != "" {
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
