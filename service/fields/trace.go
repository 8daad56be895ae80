package fields

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"github.com/tidwall/gjson"
	"golang.org/x/net/html"

	"zonedeck/model"
)

// Trace is where a path stops matching, and what stands around it.
type Trace struct {
	Path  string
	Found bool
	// Matches is the longest beginning of the path that finds anything, Fails the step after it,
	// which finds nothing; of a path that was found all of it is in Matches.
	Matches, Fails string
	// JSON is the value that Matches names, where the body is JSON. Outline is, for a page, the
	// element around what was found, or the one that Matches finds: a line for each element, with
	// its id, classes and the beginning of its own text, and no other attribute.
	JSON    json.RawMessage
	Outline []string
}

// The bounds of an outline.
const (
	outlineLines = 14
	outlineDeep  = 4
	outlineText  = 80      // bytes
	outlineRead  = 1 << 10 // bytes of a text that are looked at
	maxSteps     = 16      // of a path that are followed
)

// Mask is a text of a page without what must not be kept. names is what its element is called: its id, classes and
// itemprop; none for these themselves. It is asked before the text is cut: half a secret cannot be told from a word.
type Mask func(names []string, text string) string

// Traces follows each path in a body; see Find. What an outline has goes through mask.
func Traces(contentType string, body []byte, paths []string, mask Mask) ([]Trace, error) {
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
		out = append(out, traceHTML(doc, path, mask))
	}
	return out, nil
}

func traceJSON(body []byte, path string) Trace {
	t := Trace{Path: path, JSON: body}
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
		r, ok := there(path[:at])
		if !ok {
			if !t.Found {
				t.Fails = path[len(t.Matches):at]
				break
			}
			continue // a query with a dot in it
		}
		t.Matches, t.JSON = path[:at], json.RawMessage(r.Raw)
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

func traceHTML(doc *goquery.Document, path string, mask Mask) Trace {
	t := Trace{Path: path}
	var around *html.Node
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
		around = found.Nodes[0]
		t.Matches = path[:end]
	}
	t.Found = t.Fails == "" && t.Matches == path
	if !t.Found && t.Fails == "" { // what cannot be a selector finds nothing
		t.Fails = path
	}
	switch {
	case t.Found && around.Parent != nil && around.Parent.Type == html.ElementNode:
		around = around.Parent
	case around == nil:
		if body := doc.Find("body").Nodes; len(body) > 0 {
			around = body[0]
		}
	}
	if around != nil {
		outline(&t.Outline, around, 0, mask)
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

// outline draws an element and those in it.
func outline(out *[]string, n *html.Node, depth int, mask Mask) {
	if len(*out) >= outlineLines {
		return
	}
	line := strings.Repeat("  ", depth) + n.Data
	var names []string
	for _, a := range n.Attr {
		called := strings.Fields(model.Beginning(a.Val, outlineRead))
		val := mask(nil, strings.Join(called, " "))
		switch a.Key {
		case "id":
			line += "#" + val
		case "class":
			line += "." + strings.ReplaceAll(val, " ", ".")
		case "itemprop":
			line += "[itemprop=" + val + "]"
		default:
			continue
		}
		names = append(names, called...)
	}
	if own := ownText(n); own != "" {
		line += "  " + mask(names, own)
	}
	line = strings.ToValidUTF8(line, "�")
	if len(line) > outlineText+2*outlineDeep {
		line = strings.ToValidUTF8(line[:outlineText+2*outlineDeep], "") + "…"
	}
	*out = append(*out, line)
	if depth >= outlineDeep {
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			outline(out, c, depth+1, mask)
		}
	}
}

// ownText is the beginning of the text of an element without that of those in it.
func ownText(n *html.Node) string {
	if n.Data == "script" || n.Data == "style" {
		return ""
	}
	var words []string
	left := outlineRead
	for c := n.FirstChild; c != nil && left > 0; c = c.NextSibling {
		if c.Type == html.TextNode {
			words = append(words, strings.Fields(model.Beginning(c.Data, left))...)
			left -= len(c.Data)
		}
	}
	return strings.Join(words, " ")
}
